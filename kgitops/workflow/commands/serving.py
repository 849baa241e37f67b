"""The embedded cluster that ``kgitops serve`` puts behind sockets, with the project's policies."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from kgitops.cluster.connect import is_lowered, store_path
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.serve.store_lock import served_alone
from kgitops.workflow.project.clusters import ChosenCluster


@contextmanager
def open_served(chosen: ChosenCluster, policies: Bundle) -> Iterator[EmbeddedCluster]:
    """Open the cluster to be served by this process only, within a ``with`` block.

    It answers as today's Kafka unless its URL names a ``compat``.
    Its policies are loaded: what is wrong with them is told before any client connects.

    Raises:
        UsageError: it is not an embedded cluster, or one whose virtual clusters are emulated.
        LockedError: another process serves its store, or writes to it for too long.
        UnreachableError: its store can't be used.
        FindingsError: a policy can't be loaded.
        DeniedError: policies let no broker start.
    """
    _check(chosen)
    answering = dataclasses.replace(chosen, as_kafka=True)
    with (
        served_alone(store_path(chosen.url, chosen.base)),
        answering.connected(policies) as cluster,
    ):
        if not isinstance(cluster, EmbeddedCluster):
            raise KgitopsError(
                f"{chosen.url} is not an embedded cluster; choose one with --cluster"
            )
        controller = cluster.controller
        if controller.policies is not None:
            controller.policies.load(controller.image())
        yield cluster


def with_brokers(chosen: ChosenCluster, brokers: int | None) -> ChosenCluster:
    """The cluster with so many brokers; None changes nothing.

    Raises:
        UsageError: the project declares them one by one, and another number of them.
    """
    declared = chosen.brokers
    if brokers is None or (not isinstance(declared, int) and declared and len(declared) == brokers):
        return chosen
    if declared is not None and not isinstance(declared, int):
        raise UsageError(
            f"--brokers {brokers}, but the project declares {len(declared)} for {chosen.name}, "
            "one by one; leave --brokers out, or declare the others too"
        )
    return dataclasses.replace(chosen, brokers=brokers)


def _check(chosen: ChosenCluster) -> None:
    if not chosen.url.startswith("embedded:"):
        raise UsageError(
            f"the cluster {chosen.name} is {chosen.url.partition(':')[0]}:, and only an embedded "
            "one can be served; choose one with --cluster, such as embedded:FILE"
        )
    if is_lowered(chosen.url):
        raise UsageError(
            f"the cluster {chosen.name} has virtual.clusters=lowered, in which kgitops itself "
            "stands for brokers that know none; serve it with virtual.clusters=0 and let kgitops "
            "-c kafka://… emulate them, or leave it out"
        )
