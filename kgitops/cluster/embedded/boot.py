"""Boots an embedded cluster: its store, its brokers, and their policies (P201-86).

The store is created if there is none.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.controls.brokers import broker_list, register_brokers
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.checks import check_broker_configs
from kgitops.cluster.embedded.image.records import RegisterBrokerRecord
from kgitops.cluster.embedded.options import SYSTEM_CLOCK_AND_IDS, ClockAndIds, Options
from kgitops.cluster.embedded.policy_hook import BrokerPolicies, static_configs
from kgitops.cluster.embedded.policy_keys import check_policy_keys, key_policies
from kgitops.cluster.embedded.refusal import attempt
from kgitops.cluster.embedded.store.file import (
    create_store,
    memory_store,
    open_store,
    store_exists,
    warn_of_wide_mode,
)
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import DeniedError, FindingsError, KgitopsError, SafetyError
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, ResourceType
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.pinned_cluster import PinnedId
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.policy.evaluate.bundle import Bundle, PythonPolicy
from kgitops.policy.evaluate.protocol import PolicyEvaluator

OpenEvaluator = Callable[[Bundle], PolicyEvaluator]
"""Opens the evaluator of a bundle; tests may give another one than the product's."""

_NUMBERS = frozenset({"num.partitions", "default.replication.factor"})
_MIGRATION_POLICY = "group.consumer.migration.policy"
_MIGRATION_POLICIES = "bidirectional", "upgrade", "downgrade", "disabled"
_log = logging.getLogger(__name__)


def boot(
    path: Path | None,
    *,
    brokers: int | Sequence[Broker] | None = None,
    options: Options | None = None,
    clock_and_ids: ClockAndIds = SYSTEM_CLOCK_AND_IDS,
    policies: Bundle | None = None,
    policy_folder: Path | None = None,
    open_evaluator: OpenEvaluator | None = None,
    pin: PinnedId | None = None,
) -> EmbeddedCluster:
    """Open the cluster whose store is ``path``; None for one in memory.

    Its brokers judge by ``policies`` and by those that their configs name, whose modules are
    found in ``policy_folder``. ``open_evaluator`` replaces the product's evaluator. A store with
    another id than ``pin`` is left unchanged, and none is created for a pinned cluster.

    Raises:
        KgitopsError: brokers can't have the configs, or they name policies that don't go together.
        FindingsError: a policy can't be loaded.
        DeniedError: policies let no broker start.
        UsageError: the declaration of brokers is not valid.
        UnreachableError: the store can't be read or created.
        LockedError: another process holds it.
        OtherClusterError: it is not the pinned cluster.
        SafetyError: a newer kgitops wrote it, it has virtual clusters and they are turned off, or
            the pinned cluster's does not exist.
    """
    options = options or Options()
    check_static_configs(options)
    check_policy_keys(options)
    first = [RegisterBrokerRecord(id=item.id, rack=item.rack) for item in broker_list(brokers)]
    cluster_id, now_ms = clock_and_ids.new_id(), clock_and_ids.now_ms()
    if path is None:
        store = memory_store(first, cluster_id=cluster_id, now_ms=now_ms)
    else:
        if not store_exists(path):
            if pin is not None:
                raise pin.missing_store()
            create_store(path, first, cluster_id=cluster_id, now_ms=now_ms)
        warn_of_wide_mode(path)
        store = open_store(path, busy_timeout_ms=options.busy_timeout_ms)
    try:
        if pin is not None:
            pin.check(store.meta("cluster_id") or "")
        controller = Controller(store, options, clock_and_ids)
        _register(controller, brokers, store.name)
        check_feature_level(controller, store.name)
    except BaseException:
        store.close()
        raise
    try:
        start_policies(controller, policies or Bundle(), policy_folder, open_evaluator)
    except BaseException:
        controller.close()
        raise
    return EmbeddedCluster(controller)


def _register(controller: Controller, declared: int | Sequence[Broker] | None, name: str) -> None:
    # Usually there is nothing to write, and a store that is read-only or busy can still be read.
    def is_pending(draft: Draft) -> bool:
        register_brokers(draft, declared, name)
        return bool(draft.records)

    if controller.decide(is_pending, validate_only=True):
        controller.decide(lambda draft: register_brokers(draft, declared, name))


def check_static_configs(options: Options) -> None:
    """Refuse configs that no broker starts with.

    Raises:
        KgitopsError: there are such configs.
    """
    for configs in (options.static_configs, *options.broker_configs.values()):
        result = attempt(check_broker_configs, configs)
        wrong = result.message or ""
        for key in _NUMBERS & configs.keys():
            if not re.fullmatch("[1-9][0-9]{0,8}", configs[key].strip()):
                value = configs[key]
                wrong = f"Invalid value {value} for configuration {key}: it must be above 0"
        policy = configs.get(_MIGRATION_POLICY, _MIGRATION_POLICIES[0]).strip()
        if policy.lower() not in _MIGRATION_POLICIES:
            known = ", ".join(_MIGRATION_POLICIES)
            wrong = f"Invalid value {policy} for configuration {_MIGRATION_POLICY}: write {known}"
        if wrong:
            raise KgitopsError(
                f"the embedded cluster's brokers can't start with these configs: {wrong}; correct "
                "it among the cluster's configs"
            )


def check_feature_level(controller: Controller, name: str) -> None:
    """Refuse to turn virtual clusters off if there are any, or ACLs or quotas of any (VC-351).

    Raises:
        SafetyError: they are turned off, and there are some.
    """
    if controller.options.virtual_clusters:
        return
    image = controller.image()
    remaining = (
        *(f"the virtual cluster {name}" for name in sorted(image.virtual_clusters.by_name)),
        *(acl_address(acl) for acl in sorted(image.acls.bindings) if _in_virtual_clusters(acl)),
        *(
            quota_address(entity)
            for entity in image.quotas.quotas
            if VIRTUAL_CLUSTER in dict(entity)
        ),
    )
    if remaining:
        more = f" and {len(remaining) - 1} more" if len(remaining) > 1 else ""
        raise SafetyError(
            f"the store {name} has {remaining[0]}{more}, so virtual.clusters can't be at level 0; "
            "delete what belongs to virtual clusters first, or leave virtual.clusters=0 out"
        )


def _in_virtual_clusters(acl: AclBinding) -> bool:
    other = acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME
    return acl.scoped or other


def start_policies(
    controller: Controller,
    declared: Bundle,
    folder: Path | None,
    open_evaluator: OpenEvaluator | None,
) -> None:
    """Give the brokers their policies: those that their configs name, then the ``declared`` ones.

    They are loaded now if brokers have configs to be judged, otherwise when they are needed.

    Raises:
        FindingsError: a policy can't be loaded.
        DeniedError: no broker may start with its configs.
    """
    first, *_ = controller.image().brokers.brokers.values()
    options = controller.options
    taken = [policy.name for policy in declared.policies]
    keyed = key_policies(options, static_configs(options, first), folder, taken)
    bundle = replace(declared, policies=(*keyed.values(), *declared.policies))
    if not bundle:
        return
    controller.policies = BrokerPolicies(
        lambda: (open_evaluator or _open_worker)(bundle), controller.show
    )
    if options.static_configs or options.broker_configs:
        try:
            _start_brokers(controller, controller.policies)
        except FindingsError as error:
            raise _by_key(error, keyed) from error


def _open_worker(bundle: Bundle) -> PolicyEvaluator:
    from kgitops.policy.evaluator import open_evaluator  # noqa: PLC0415 (most never judge)

    return open_evaluator(bundle)


def _by_key(error: FindingsError, keyed: Mapping[str, PythonPolicy]) -> FindingsError:
    """The findings, with the key that names the policy: brokers' configs have no line to show."""
    findings = error.findings
    for key, policy in keyed.items():
        plain = f"the policy {policy.name!r} "
        keyed_name = f"the policy {policy.name!r} of {key} "
        findings = tuple(
            replace(finding, problem=finding.problem.replace(plain, keyed_name, 1))
            for finding in findings
        )
    return FindingsError(findings)


def _start_brokers(controller: Controller, policies: BrokerPolicies) -> None:
    def judge(draft: Draft) -> dict[int, str]:
        refusals = {
            broker.id: attempt(policies.judge_start, draft, broker)
            for broker in draft.delta.brokers.all()
        }
        return {broker: str(result) for broker, result in refusals.items() if not result.ok}

    denied = controller.decide(judge, validate_only=True)
    for broker, reason in denied.items():
        _log.error("broker %d does not start: %s", broker, reason)
    if denied and len(denied) == len(controller.image().brokers.brokers):
        reasons = "; ".join(f"broker {broker}: {reason}" for broker, reason in denied.items())
        raise DeniedError(
            f"no broker of the embedded cluster starts, because policies deny their configs "
            f"({reasons}); correct the brokers' configs or the policies"
        )
    controller.unstarted_brokers = frozenset(denied)
