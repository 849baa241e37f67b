"""What kafka-acls' flags ask for: bindings to make, and those of the cluster that they match."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from kgitops.desired.state import DesiredAcl
from kgitops.model.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.addresses import acl_address
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
from kgitops.model.names import is_principal
from kgitops.model.virtual_clusters import virtual_cluster_name_problem
from kgitops.virtual_clusters.scopes import Scope
from kgitops.workflow.commands import OnCommandLine
from kgitops.workflow.virtual_cluster_words import known

_PRODUCER = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_CONSUMER = (Operation.READ, Operation.DESCRIBE)
_TRANSACTIONAL = (Operation.WRITE, Operation.DESCRIBE)
_ANY = "*"
MATCH = ("match", "any")
"""Patterns that only a filter can have: everything that matches the name, or is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AclWords:
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
    def where(self) -> Scope:
        """The same as a pattern, as a CLUSTER resource has it, too."""
        return Scope(self.scope, self.virtual_cluster_pattern)

    @property
    def names_principals(self) -> bool:
        """Whether it says whose bindings are meant."""
        return bool(self.allow_principals or self.deny_principals)


def asked_bindings(words: AclWords) -> tuple[AclBinding, ...]:
    """The bindings that the words spell out, without those said twice.

    Raises:
        UsageError: they spell out none, or one that Kafka does not know.
    """
    if words.pattern in MATCH:
        raise UsageError(
            f"--resource-pattern-type {words.pattern} finds ACLs, and --add needs a name; write "
            "literal or prefixed"
        )
    if not words.names_principals:
        raise UsageError("--add needs --allow-principal or --deny-principal; say whose ACL it is")
    if not _resources(words):
        raise UsageError(
            "--add needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    return _bindings(words)


def check_scope(words: AclWords, state: ClusterState) -> None:
    """ACLs are made in a virtual cluster that there is, or for a prefix or ``*``.

    Raises:
        UsageError: no virtual cluster can be called so.
        KgitopsError: there is no such virtual cluster.
    """
    scope, prefixed = words.scope, words.virtual_cluster_pattern is PatternType.PREFIXED
    if scope == CLUSTER_NAME:
        if prefixed:
            raise UsageError(
                f"{CLUSTER_NAME} is no prefix: it is the physical cluster itself; drop "
                "--virtual-cluster-pattern-type"
            )
        return
    if scope == _ANY and not prefixed:
        return
    # A prefix may end anywhere in a name.
    problem = virtual_cluster_name_problem(f"{scope[:248]}x" if prefixed else scope)
    if prefixed and problem:
        raise UsageError(
            f"--virtual-cluster {scope} is no prefix of a name; write letters, digits, dot, _ and "
            "-, or * without --virtual-cluster-pattern-type for every one"
        )
    # A right on a virtual cluster as a whole may be there before it, such as the one to make it.
    if not prefixed and any(kind is not ResourceType.CLUSTER for kind, _ in _resources(words)):
        known(scope, state)
    elif problem:
        raise UsageError(f"{problem}; correct --virtual-cluster")


def matching_bindings(words: AclWords, found: Iterable[AclBinding]) -> tuple[AclBinding, ...]:
    """Those of the cluster's bindings that the words mean, in the order of their addresses.

    Where no principal is named, all of the resource are meant.

    Raises:
        UsageError: the words can't be meant.
    """
    resources = _resources(words)
    if not resources:
        raise UsageError(
            "--remove needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    only_some = words.operations or words.allow_hosts or words.deny_hosts
    if only_some and not words.names_principals:
        # kafka-acls would remove all there is on the resource, whatever else is said.
        raise UsageError(
            "--remove needs --allow-principal or --deny-principal beside --operation, --allow-host "
            "and --deny-host; say whose ACLs, or drop these to remove all of the resource"
        )
    wanted = (
        set(_bindings(words)) if words.names_principals and words.pattern not in MATCH else None
    )
    meant = [
        binding
        for binding in found
        if (binding in wanted if wanted is not None else _is_meant(binding, words, resources))
    ]
    return tuple(sorted(meant, key=acl_address))


def listed_bindings(
    words: AclWords, principals: Sequence[str], found: Iterable[AclBinding]
) -> tuple[AclBinding, ...]:
    """The bindings that a list shows: of a virtual cluster all that count in it."""
    resources = _resources(words)
    shown = [
        binding
        for binding in found
        if (words.virtual_cluster is None or _counts_in(binding, words))
        and (not resources or _is_resource(binding, words, resources))
        and (not principals or binding.principal in principals)
    ]
    return tuple(sorted(shown, key=acl_address))


def as_desired(binding: AclBinding) -> DesiredAcl:
    """The binding as a declaration."""
    return DesiredAcl(address=acl_address(binding), binding=binding, located=OnCommandLine())


_Resource = tuple[ResourceType, str]


def _resources(words: AclWords) -> dict[_Resource, tuple[Operation, ...]]:
    """Each resource and the operations on it, where a role such as --producer says which."""
    role: dict[_Resource, tuple[Operation, ...]] = {}
    on_topic = (*(_PRODUCER * words.producer), *(_CONSUMER * words.consumer))
    for name in words.topics:
        role[ResourceType.TOPIC, name] = on_topic
    for name in words.groups:
        role[ResourceType.GROUP, name] = (Operation.READ,) * words.consumer
    for name in words.transactional_ids:
        role[ResourceType.TRANSACTIONAL_ID, name] = _TRANSACTIONAL * words.producer
    for name in words.delegation_tokens:
        role[ResourceType.DELEGATION_TOKEN, name] = ()
    for name in words.user_principals:
        role[ResourceType.USER, name] = ()
    if words.cluster or words.idempotent:
        # Of a virtual cluster it is the resource CLUSTER of that name (VC-140).
        idempotent = (Operation.IDEMPOTENT_WRITE,) * words.idempotent
        role[ResourceType.CLUSTER, words.scope] = idempotent
    return role


def _bindings(words: AclWords) -> tuple[AclBinding, ...]:
    said = tuple(_operation(text) for text in words.operations)
    if (words.producer or words.consumer) and said:
        raise UsageError("--operation and --producer or --consumer say the same; drop one of them")
    if (words.producer or words.consumer) and not words.topics:
        raise UsageError("--producer and --consumer need --topic; say which topic")
    if words.consumer and not words.groups:
        raise UsageError("--consumer needs --group; say which consumer group")
    if words.idempotent and not words.producer:
        raise UsageError("--idempotent belongs to --producer; give both")
    if words.idempotent and not words.where.physical:
        raise UsageError(
            "--idempotent is a right on the physical cluster; drop it, Write on a topic is enough"
        )
    made: dict[AclBinding, None] = {}
    for (resource_type, name), role in _resources(words).items():
        operations = role or said or (Operation.ALL,)
        for principal, host, permission in _whose(words):
            for operation in operations:
                who = (principal, host, operation, permission)
                made[_binding(words, resource_type, name, *who)] = None
    return tuple(made)


def _whose(words: AclWords) -> Iterator[tuple[str, str, PermissionType]]:
    for principals, hosts, permission in (
        (words.allow_principals, words.allow_hosts, PermissionType.ALLOW),
        (words.deny_principals, words.deny_hosts, PermissionType.DENY),
    ):
        if hosts and not principals:
            flag = permission.lower()
            raise UsageError(f"--{flag}-host needs --{flag}-principal; say whose host it is")
        for principal, host in product(principals, hosts or (_ANY,)):
            if not is_principal(principal):
                raise UsageError(
                    f"{principal!r} is no principal; write Type:name, as in User:alice"
                )
            yield principal, host, permission


def _binding(
    words: AclWords,
    resource_type: ResourceType,
    name: str,
    principal: str,
    host: str,
    operation: Operation,
    permission: PermissionType,
) -> AclBinding:
    on_cluster = resource_type is ResourceType.CLUSTER
    legal = OPERATIONS[resource_type] | {Operation.ALL}
    if on_cluster:
        legal |= VIRTUAL_CLUSTER_OPERATIONS
        if not words.where.physical:
            # Idempotent writes are the physical cluster's alone (VC-160b).
            legal = (legal | {Operation.DELETE}) - {Operation.IDEMPOTENT_WRITE}
    if operation not in legal:
        raise UsageError(
            f"{operation} is no operation on a {resource_type}; these are: "
            f"{', '.join(sorted(legal))}"
        )
    scoped = {
        "virtual_cluster": words.scope,
        "virtual_cluster_pattern_type": words.virtual_cluster_pattern,
    }
    pattern = words.virtual_cluster_pattern if on_cluster else PatternType(words.pattern)
    return AclBinding(
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
        **({} if on_cluster or words.scope == CLUSTER_NAME else scoped),  # type: ignore[arg-type]
    )


def _operation(text: str) -> Operation:
    """As kafka-acls reads it: ``DescribeConfigs``, ``describe_configs``, ``DESCRIBECONFIGS``."""
    plain = text.replace("_", "").lower()
    found = next((it for it in Operation if it.lower() == plain), None)
    if found is None:
        raise UsageError(
            f"--operation {text} is no operation of an ACL; these are: {', '.join(Operation)}"
        )
    return found


def _is_meant(
    binding: AclBinding, words: AclWords, resources: dict[_Resource, tuple[Operation, ...]]
) -> bool:
    """Whether a filter of a resource, and perhaps of principals, names this binding."""
    if not _is_in_scope(binding, words) or not _is_resource(binding, words, resources):
        return False
    if not words.names_principals:
        return True
    said = tuple(_operation(text) for text in words.operations) or (Operation.ALL,)
    return binding.operation in said and any(
        (binding.principal, binding.host, binding.permission_type) == whose
        for whose in _whose(words)
    )


def _is_in_scope(binding: AclBinding, words: AclWords) -> bool:
    return Scope.of(binding) == words.where


def _is_resource(
    binding: AclBinding, words: AclWords, resources: dict[_Resource, tuple[Operation, ...]]
) -> bool:
    if binding.resource_type is ResourceType.CLUSTER:
        return (ResourceType.CLUSTER, words.scope) in resources and _counts_in(binding, words)
    return any(
        binding.resource_type is resource_type and _is_named(binding, name, words.pattern)
        for resource_type, name in resources
    )


def _is_named(binding: AclBinding, name: str, pattern: str) -> bool:
    found, prefixed = binding.resource_name, binding.pattern_type is PatternType.PREFIXED
    match pattern:
        case "any":
            return found == name
        case "match":
            return found in (name, _ANY) or (prefixed and name.startswith(found))
        case _:
            return found == name and binding.pattern_type == pattern


def _counts_in(binding: AclBinding, words: AclWords) -> bool:
    """Whether it has a say in every virtual cluster that is meant."""
    return Scope.of(binding).covers(words.where)
