"""The bindings that kafka-acls' flags spell out; ``acl_matching`` finds those that they match."""

from kgitops.desired.state import DesiredAcl
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
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
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.workflow.commands.acl_options import (
    ANY,
    MATCH,
    AclWords,
    operation_of,
    principals_of,
    resources_of,
)
from kgitops.workflow.commands.imperative import OnCommandLine
from kgitops.workflow.commands.member_options import known


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
    if not resources_of(words):
        raise UsageError(
            "--add needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    return bindings_of(words)


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
    if scope == ANY and not prefixed:
        return
    # A prefix may end anywhere in a name.
    problem = virtual_cluster_name_problem(f"{scope[:248]}x" if prefixed else scope)
    if prefixed and problem:
        raise UsageError(
            f"--virtual-cluster {scope} is no prefix of a name; write letters, digits, dot, _ and "
            "-, or * without --virtual-cluster-pattern-type for every one"
        )
    # A right on a virtual cluster as a whole may be there before it, such as the one to make it.
    if not prefixed and any(kind is not ResourceType.CLUSTER for kind, _ in resources_of(words)):
        known(scope, state)
    elif problem:
        raise UsageError(f"{problem}; correct --virtual-cluster")


def as_desired(binding: AclBinding) -> DesiredAcl:
    """The binding as a declaration."""
    return DesiredAcl(address=acl_address(binding), binding=binding, located=OnCommandLine())


def bindings_of(words: AclWords) -> tuple[AclBinding, ...]:
    """The bindings on the named resources, without those said twice; none where none is named.

    Raises:
        UsageError: one that Kafka does not know.
    """
    said = tuple(operation_of(text) for text in words.operations)
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
    for (resource_type, name), role in resources_of(words).items():
        operations = role or said or (Operation.ALL,)
        for principal, host, permission in principals_of(words):
            for operation in operations:
                who = (principal, host, operation, permission)
                made[_binding(words, resource_type, name, *who)] = None
    return tuple(made)


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
