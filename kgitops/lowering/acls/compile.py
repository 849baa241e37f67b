"""Lowers ACLs of virtual clusters to physical ones for members (VC-161 to VC-174), one to many."""

from collections.abc import Collection, Iterator, Mapping

from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import TopicLink, physical_id

WILDCARD = "*"

# The operations that are lowered (VC-167). Create and Delete of a topic never are: a tenant can't
# know the uuid, and would delete a topic that others share (VC-171, VC-172).
OPERATIONS: dict[ResourceType, frozenset[Operation]] = {
    ResourceType.TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset({Operation.READ, Operation.DESCRIBE, Operation.DELETE}),
    ResourceType.TRANSACTIONAL_ID: frozenset({Operation.WRITE, Operation.DESCRIBE}),
}
INEXPRESSIBLE = frozenset({ResourceType.DELEGATION_TOKEN, ResourceType.USER})


def is_logical(binding: AclBinding) -> bool:
    """True if the binding is kept in the registry, because brokers can't express it (VC-140)."""
    if binding.resource_type is ResourceType.CLUSTER:
        return (
            binding.resource_name != CLUSTER_NAME or binding.operation in VIRTUAL_CLUSTER_OPERATIONS
        )
    return binding.scoped


def lowered_operations(binding: AclBinding) -> frozenset[Operation]:
    """The operations that the binding is lowered to; All is expanded (VC-167)."""
    lowered = OPERATIONS.get(binding.resource_type, frozenset())
    return lowered if binding.operation is Operation.ALL else lowered & {binding.operation}


def lower_binding(
    binding: AclBinding,
    virtual_cluster: str,
    links: Mapping[str, TopicLink],
    users: Collection[str],
) -> Iterator[AclBinding]:
    """The physical bindings that implement a scoped one for these links and users.

    ``virtual_cluster`` is one that the binding's scope covers; ``users`` are some of its members.
    """
    if binding.principal == EVERYONE:
        principals: Collection[str] = users
    else:
        principals = (binding.principal,) if binding.principal in users else ()
    if not principals:
        return
    resources = tuple(_resources(binding, virtual_cluster, links))
    allowed = lowered_operations(binding)
    for principal in principals:
        for name, pattern_type in resources:
            for operation in allowed:
                yield AclBinding(
                    resource_type=binding.resource_type,
                    resource_name=name,
                    pattern_type=pattern_type,
                    principal=principal,
                    host=binding.host,
                    operation=operation,
                    permission_type=binding.permission_type,
                )


def matches_link(binding: AclBinding, link: str) -> bool:
    """True if a binding on topics applies to a link of this name."""
    if binding.pattern_type is PatternType.PREFIXED:
        return link.startswith(binding.resource_name)
    return binding.resource_name in (link, WILDCARD)


def _resources(
    binding: AclBinding, virtual_cluster: str, links: Mapping[str, TopicLink]
) -> Iterator[tuple[str, PatternType]]:
    name = binding.resource_name
    literal = binding.pattern_type is PatternType.LITERAL
    if binding.resource_type is ResourceType.TOPIC:
        # A prefix of link names can't be lowered to one of physical names, which begin with a uuid.
        if literal and name != WILDCARD:
            matching = [links[name]] if name in links else []
        else:
            matching = [link for link in links.values() if matches_link(binding, link.name)]
        yield from dict.fromkeys((link.topic, PatternType.LITERAL) for link in matching)
    elif literal and name == WILDCARD:
        yield physical_id(virtual_cluster, ""), PatternType.PREFIXED
    else:
        yield physical_id(virtual_cluster, name), binding.pattern_type
