"""The options of kafka-acls, the bindings that they spell out, and those that they match."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from msgspec import Struct

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.names import is_principal
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.virtual_clusters.rights import VirtualClusterScope
from kgitops.workflow.commands.imperative import CommandLine
from kgitops.workflow.commands.member_options import find_virtual_cluster

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


def bindings_to_add(options: AclOptions) -> tuple[AclBinding, ...]:
    """The bindings that the options spell out, without duplicates.

    Raises:
        UsageError: they spell out none, or one that Kafka does not know.
    """
    if options.pattern in MATCH:
        raise UsageError(
            f"--resource-pattern-type {options.pattern} finds ACLs, and --add needs a name; write "
            "literal or prefixed"
        )
    if not options.names_principals:
        raise UsageError("--add needs --allow-principal or --deny-principal; say whose ACL it is")
    if not resources_of(options):
        raise UsageError(
            "--add needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    return bindings_of(options)


def check_scope(options: AclOptions, state: ClusterState) -> None:
    """Refuse the scope unless its virtual cluster exists, or it is a prefix or ``*``.

    Raises:
        UsageError: it is not a name of a virtual cluster.
        KgitopsError: there is no such virtual cluster.
    """
    scope, prefixed = options.scope, options.virtual_cluster_pattern is PatternType.PREFIXED
    if scope == CLUSTER_NAME:
        if prefixed:
            raise UsageError(
                f"{CLUSTER_NAME} is not a prefix: it is the physical cluster itself; drop "
                "--virtual-cluster-pattern-type"
            )
        return
    if scope == ANY and not prefixed:
        return
    # A prefix may end anywhere in a name.
    problem = virtual_cluster_name_problem(f"{scope[:248]}x" if prefixed else scope)
    if prefixed and problem:
        raise UsageError(
            f"--virtual-cluster {scope} is not a prefix of a name; write letters, digits, dot, _ "
            "and -, or * without --virtual-cluster-pattern-type for every one"
        )
    # A right on a virtual cluster as a whole may exist before it, such as the right to create it.
    if not prefixed and any(kind is not ResourceType.CLUSTER for kind, _ in resources_of(options)):
        find_virtual_cluster(scope, state)
    elif problem:
        raise UsageError(f"{problem}; correct --virtual-cluster")


def as_desired(binding: AclBinding) -> DesiredAcl:
    """The binding as a declaration."""
    return DesiredAcl(address=acl_address(binding), binding=binding, located=CommandLine())


def bindings_of(options: AclOptions) -> tuple[AclBinding, ...]:
    """The bindings on the named resources, without duplicates; none if none is named.

    Raises:
        UsageError: one that Kafka does not know.
    """
    named = tuple(operation_of(text) for text in options.operations)
    if (options.producer or options.consumer) and named:
        raise UsageError("--operation and --producer or --consumer say the same; drop one of them")
    if (options.producer or options.consumer) and not options.topics:
        raise UsageError("--producer and --consumer need --topic; say which topic")
    if options.consumer and not options.groups:
        raise UsageError("--consumer needs --group; say which consumer group")
    if options.idempotent and not options.producer:
        raise UsageError("--idempotent belongs to --producer; give both")
    if options.idempotent and not options.where.physical:
        raise UsageError(
            "--idempotent is a right on the physical cluster; drop it, Write on a topic is enough"
        )
    made: dict[AclBinding, None] = {}
    for (resource_type, name), role in resources_of(options).items():
        operations = role or named or (Operation.ALL,)
        for principal, host, permission in principals_of(options):
            for operation in operations:
                who = (principal, host, operation, permission)
                made[_binding(options, resource_type, name, *who)] = None
    return tuple(made)


def _binding(
    options: AclOptions,
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
        if not options.where.physical:
            # Idempotent writes are the physical cluster's alone (VC-160b).
            legal = (legal | {Operation.DELETE}) - {Operation.IDEMPOTENT_WRITE}
    if operation not in legal:
        raise UsageError(
            f"{operation} is not an operation on a {resource_type}; these are: "
            f"{', '.join(sorted(legal))}"
        )
    scoped = {
        "virtual_cluster": options.scope,
        "virtual_cluster_pattern_type": options.virtual_cluster_pattern,
    }
    pattern = options.virtual_cluster_pattern if on_cluster else PatternType(options.pattern)
    return AclBinding(
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
        **({} if on_cluster or options.scope == CLUSTER_NAME else scoped),  # type: ignore[arg-type]
    )


def matching_bindings(
    options: AclOptions, bindings: Iterable[AclBinding]
) -> tuple[AclBinding, ...]:
    """The cluster's bindings that the options match, by address.

    Without a principal all bindings of the resource match.

    Raises:
        UsageError: the options are contradictory.
    """
    resources = resources_of(options)
    if not resources:
        raise UsageError(
            "--remove needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    only_some = options.operations or options.allow_hosts or options.deny_hosts
    if only_some and not options.names_principals:
        # kafka-acls would remove all there is on the resource, whatever else is said.
        raise UsageError(
            "--remove needs --allow-principal or --deny-principal together with "
            "--operation, --allow-host and --deny-host; say whose ACLs, or drop these to remove "
            "all of the resource"
        )
    exact = (
        set(bindings_of(options))
        if options.names_principals and options.pattern not in MATCH
        else None
    )
    matching = [
        binding
        for binding in bindings
        if (binding in exact if exact is not None else _matches(binding, options, resources))
    ]
    return tuple(sorted(matching, key=acl_address))


def listed_bindings(
    options: AclOptions, principals: Sequence[str], bindings: Iterable[AclBinding]
) -> tuple[AclBinding, ...]:
    """The bindings that a list shows: of a virtual cluster all that count in it."""
    resources = resources_of(options)
    shown = [
        binding
        for binding in bindings
        if (options.virtual_cluster is None or _counts_in(binding, options))
        and (not resources or _is_resource(binding, options, resources))
        and (not principals or binding.principal in principals)
    ]
    return tuple(sorted(shown, key=acl_address))


def _matches(
    binding: AclBinding, options: AclOptions, resources: dict[Resource, tuple[Operation, ...]]
) -> bool:
    """True if the resource, and the principals if there are any, match this binding."""
    in_scope = VirtualClusterScope.of(binding) == options.where
    if not in_scope or not _is_resource(binding, options, resources):
        return False
    if not options.names_principals:
        return True
    operations = tuple(operation_of(text) for text in options.operations) or (Operation.ALL,)
    return binding.operation in operations and any(
        (binding.principal, binding.host, binding.permission_type) == whose
        for whose in principals_of(options)
    )


def _is_resource(
    binding: AclBinding, options: AclOptions, resources: dict[Resource, tuple[Operation, ...]]
) -> bool:
    if binding.resource_type is ResourceType.CLUSTER:
        return (ResourceType.CLUSTER, options.scope) in resources and _counts_in(binding, options)
    return any(
        binding.resource_type is resource_type and _is_named(binding, name, options.pattern)
        for resource_type, name in resources
    )


def _is_named(binding: AclBinding, name: str, pattern: str) -> bool:
    resource_name, prefixed = binding.resource_name, binding.pattern_type is PatternType.PREFIXED
    match pattern:
        case "any":
            return resource_name == name
        case "match":
            return resource_name in (name, ANY) or (prefixed and name.startswith(resource_name))
        case _:
            return resource_name == name and binding.pattern_type == pattern


def _counts_in(binding: AclBinding, options: AclOptions) -> bool:
    """True if it counts in every virtual cluster of the options' scope."""
    return VirtualClusterScope.of(binding).covers(options.where)
