"""Boots an embedded cluster: creates its store when there is none, and registers its brokers."""

from collections.abc import Sequence
from pathlib import Path

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.controls.brokers import broker_list, register_brokers
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import RegisterBrokerRecord
from kgitops.cluster.embedded.options import REAL, Options, Surroundings
from kgitops.cluster.embedded.policies.keys import check_policy_keys
from kgitops.cluster.embedded.policy_startup import (
    Opening,
    check_feature_level,
    check_static_configs,
    start_policies,
)
from kgitops.cluster.embedded.store.file import create_store, is_there, memory_store, open_store
from kgitops.model.cluster_state import Broker
from kgitops.policy.evaluate.rules import Bundle


def boot(
    path: Path | None,
    *,
    brokers: int | Sequence[Broker] | None = None,
    options: Options | None = None,
    surroundings: Surroundings = REAL,
    policies: Bundle | None = None,
    policy_folder: Path | None = None,
    opening: Opening | None = None,
) -> EmbeddedCluster:
    """The cluster whose store is ``path``; None for one that lives in memory.

    Its brokers judge by ``policies`` and by those that their configs name, whose modules are
    found in ``policy_folder``. ``opening`` replaces what the product judges with.

    Raises:
        KgitopsError: brokers can't have the configs, or they name policies that don't go together.
        FindingsError: a policy can't be loaded.
        DeniedError: policies let no broker start.
        UsageError: the brokers can't be meant.
        UnreachableError: the store can't be read or created.
        LockedError: another process holds it.
        SafetyError: a newer kgitops wrote it, or it has virtual clusters and they are turned off.
    """
    options = options or Options()
    check_static_configs(options)
    check_policy_keys(options)
    first = [RegisterBrokerRecord(id=item.id, rack=item.rack) for item in broker_list(brokers)]
    cluster_id, now_ms = surroundings.new_id(), surroundings.now_ms()
    if path is None:
        store = memory_store(first, cluster_id=cluster_id, now_ms=now_ms)
    else:
        if not is_there(path):
            create_store(path, first, cluster_id=cluster_id, now_ms=now_ms)
        store = open_store(path, busy_timeout_ms=options.busy_timeout_ms)
    try:
        controller = Controller(store, options, surroundings)
        _register(controller, brokers, store.name)
        check_feature_level(controller, store.name)
    except BaseException:
        store.close()
        raise
    try:
        start_policies(controller, policies or Bundle(), policy_folder, opening)
    except BaseException:
        controller.close()
        raise
    return EmbeddedCluster(controller)


def _register(controller: Controller, declared: int | Sequence[Broker] | None, name: str) -> None:
    # Usually there is nothing to write: a store that is read-only, or busy, can still be read.
    def is_pending(draft: Draft) -> bool:
        register_brokers(draft, declared, name)
        return bool(draft.records)

    if controller.decide(is_pending, validate_only=True):
        controller.decide(lambda draft: register_brokers(draft, declared, name))
