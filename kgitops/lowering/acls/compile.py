"""ACLs of virtual clusters as physical ones (VC-161 to VC-174): one to many, and members only."""

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

# What is lowered (VC-167). Create and Delete of a topic never are: a tenant can't know the uuid,
# and would delete what others share (VC-171, VC-172).
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
    """Whether brokers can't keep the binding as it is, so that the registry does (VC-140)."""
    if binding.resource_type is ResourceType.CLUSTER:
        return (
            binding.resource_name != CLUSTER_NAME or binding.operation in VIRTUAL_CLUSTER_OPERATIONS
        )
    return binding.scoped


def lowered_operations(binding: AclBinding) -> frozenset[Operation]:
    """What of the binding's operation is lowered; All is never lowered as such (VC-167)."""
    lowered = OPERATIONS.get(binding.resource_type, frozenset())
    return lowered if binding.operation is Operation.ALL else lowered & {binding.operation}


def lower_binding(
    binding: AclBinding,
    virtual_cluster: str,
    links: Mapping[str, TopicLink],
    users: Collection[str],
) -> Iterator[AclBinding]:
    """The physical bindings that stand for a scoped one, as far as these links and users go.

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
    """Whether a binding on topics is about the link by its name."""
    if binding.pattern_type is PatternType.PREFIXED:
        return link.startswith(binding.resource_name)
    return binding.resource_name in (link, WILDCARD)


def _resources(
    binding: AclBinding, virtual_cluster: str, links: Mapping[str, TopicLink]
) -> Iterator[tuple[str, PatternType]]:
    name = binding.resource_name
    literal = binding.pattern_type is PatternType.LITERAL
    if binding.resource_type is ResourceType.TOPIC:
        # The uuid comes first, so no prefix of physical names says what one of link names says.
        if literal and name != WILDCARD:
            found = [links[name]] if name in links else []
        else:
            found = [link for link in links.values() if matches_link(binding, link.name)]
        yield from dict.fromkeys((link.topic, PatternType.LITERAL) for link in found)
    elif literal and name == WILDCARD:
        yield physical_id(virtual_cluster, ""), PatternType.PREFIXED
    else:
        yield physical_id(virtual_cluster, name), binding.pattern_type
