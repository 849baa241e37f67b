"""The options of kafka-acls: the resources, principals and operations that they name."""

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec import Struct

from kgitops.model.errors import UsageError
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.names import is_principal
from kgitops.virtual_clusters.rights import VirtualClusterScope

_PRODUCER = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_CONSUMER = (Operation.READ, Operation.DESCRIBE)
_TRANSACTIONAL = (Operation.WRITE, Operation.DESCRIBE)
ANY = "*"
MATCH = ("match", "any")
"""Patterns that only a filter can have: all resources that match the name, or have this name."""


class AclOptions(Struct, frozen=True, kw_only=True):
    """The flags of kafka-acls, and those that KIP-1134 adds.

    ``virtual_cluster`` is None, or ``kafka-cluster``, where the ACLs are global. ``pattern`` is
    literal or prefixed, and for a filter also one of :data:`MATCH`.
    """

    allow_principals: Sequence[str] = ()
    deny_principals: Sequence[str] = ()
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()
    operations: Sequence[str] = ()
    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    delegation_tokens: Sequence[str] = ()
    user_principals: Sequence[str] = ()
    cluster: bool = False
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False
    pattern: str = PatternType.LITERAL
    virtual_cluster: str | None = None
    virtual_cluster_pattern: PatternType = PatternType.LITERAL

    @property
    def scope(self) -> str:
        """The virtual cluster of the bindings, or ``kafka-cluster``."""
        return self.virtual_cluster or CLUSTER_NAME

    @property
    def where(self) -> VirtualClusterScope:
        """The same as a pattern, as a CLUSTER resource has it, too."""
        return VirtualClusterScope(self.scope, self.virtual_cluster_pattern)

    @property
    def names_principals(self) -> bool:
        """True if it names principals."""
        return bool(self.allow_principals or self.deny_principals)


Resource = tuple[ResourceType, str]


def resources_of(options: AclOptions) -> dict[Resource, tuple[Operation, ...]]:
    """Each resource and the operations on it, where a role such as --producer says which."""
    role: dict[Resource, tuple[Operation, ...]] = {}
    on_topic = (*(_PRODUCER * options.producer), *(_CONSUMER * options.consumer))
    for name in options.topics:
        role[ResourceType.TOPIC, name] = on_topic
    for name in options.groups:
        role[ResourceType.GROUP, name] = (Operation.READ,) * options.consumer
    for name in options.transactional_ids:
        role[ResourceType.TRANSACTIONAL_ID, name] = _TRANSACTIONAL * options.producer
    for name in options.delegation_tokens:
        role[ResourceType.DELEGATION_TOKEN, name] = ()
    for name in options.user_principals:
        role[ResourceType.USER, name] = ()
    if options.cluster or options.idempotent:
        # Of a virtual cluster it is the resource CLUSTER of that name (VC-140).
        idempotent = (Operation.IDEMPOTENT_WRITE,) * options.idempotent
        role[ResourceType.CLUSTER, options.scope] = idempotent
    return role


def principals_of(options: AclOptions) -> Iterator[tuple[str, str, PermissionType]]:
    """Each principal with its host and whether it is allowed or denied.

    Raises:
        UsageError: it is not a principal, or a host has none.
    """
    for principals, hosts, permission in (
        (options.allow_principals, options.allow_hosts, PermissionType.ALLOW),
        (options.deny_principals, options.deny_hosts, PermissionType.DENY),
    ):
        if hosts and not principals:
            flag = permission.lower()
            raise UsageError(f"--{flag}-host needs --{flag}-principal; say whose host it is")
        for principal, host in product(principals, hosts or (ANY,)):
            if not is_principal(principal):
                raise UsageError(
                    f"{principal!r} is not a principal; write Type:name, as in User:alice"
                )
            yield principal, host, permission


def operation_of(text: str) -> Operation:
    """As kafka-acls reads it: ``DescribeConfigs``, ``describe_configs``, ``DESCRIBECONFIGS``."""
    plain = text.replace("_", "").lower()
    operation = next((it for it in Operation if it.lower() == plain), None)
    if operation is None:
        raise UsageError(
            f"--operation {text} is not an operation of an ACL; these are: {', '.join(Operation)}"
        )
    return operation
