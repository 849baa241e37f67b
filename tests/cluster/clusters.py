"""Embedded clusters for tests: in memory unless a path is given, with ids and time that repeat."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import AuthorizerKind, ClockAndIds, Compat, Options
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.results import ErrorCode

ROOT = "User:root"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
BOTH = (Compat.SEED, Compat.KRAFT)


def a_cluster(
    path: Path | None = None,
    *,
    brokers: int | Sequence[Broker] | None = None,
    compat: Compat = Compat.SEED,
    authorizer: AuthorizerKind = AuthorizerKind.NONE,
    static_configs: Mapping[str, str] | None = None,
    vendor_configs: bool = False,
) -> EmbeddedCluster:
    """A cluster whose topic ids are ``id-0001``…; ``User:root`` may do everything."""
    numbers = count()
    return boot(
        path,
        brokers=brokers,
        options=Options(
            compat=compat,
            authorizer=authorizer,
            super_users=frozenset({ROOT}),
            static_configs=static_configs or {},
            vendor_configs=vendor_configs,
        ),
        clock_and_ids=ClockAndIds(now=lambda: NOON, new_id=lambda: f"id-{next(numbers):04}"),
    )


def a_guarded_cluster(compat: Compat, *bindings: AclBinding) -> EmbeddedCluster:
    """A cluster that enforces these ACLs, and has a topic ``orders``."""
    cluster = a_cluster(compat=compat, authorizer=AuthorizerKind.ACLS)
    root = admin(cluster, ROOT)
    assert all(result.ok for result in root.create_acls(bindings))
    assert root.create_topics([a_new_topic("orders")])["orders"].ok
    return cluster


def admin(cluster: EmbeddedCluster, principal: str = "User:ANONYMOUS") -> EmbeddedAdmin:
    """A connection of ``principal``."""
    return EmbeddedAdmin(cluster.controller, principal=principal)


def a_new_topic(name: str = "orders", **configs: str | None) -> NewTopic:
    """A topic of two partitions with two replicas; ``retention_ms="1"`` gives a config."""
    return NewTopic(
        name=name,
        num_partitions=2,
        replication_factor=2,
        configs={key.replace("_", "."): value for key, value in configs.items()},
    )


def a_cluster_with(*names: str, compat: Compat = Compat.SEED) -> EmbeddedCluster:
    """A cluster that has these topics."""
    cluster = a_cluster(compat=compat)
    for name in names:
        assert admin(cluster).create_topics([a_new_topic(name)])[name].ok
    return cluster


def topic_grant(
    operation: Operation, name: str = "orders", principal: str = "User:a"
) -> AclBinding:
    """An Allow on a topic."""
    return a_grant(operation, ResourceType.TOPIC, name, principal)


def cluster_grant(operation: Operation, principal: str = "User:a") -> AclBinding:
    """An Allow on the cluster."""
    return a_grant(operation, ResourceType.CLUSTER, CLUSTER_NAME, principal)


def a_grant(
    operation: Operation,
    resource_type: ResourceType = ResourceType.TOPIC,
    name: str = "orders",
    principal: str = "User:a",
    *,
    pattern_type: PatternType = PatternType.LITERAL,
    host: str = "*",
    permission_type: PermissionType = PermissionType.ALLOW,
) -> AclBinding:
    """An ACL binding."""
    return AclBinding(
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )


def codes(results: Mapping[object, object]) -> dict[object, ErrorCode]:
    """Each item's error code."""
    return {key: getattr(item, "result", item).code for key, item in results.items()}  # type: ignore[attr-defined]
