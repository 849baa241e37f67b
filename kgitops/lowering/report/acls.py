"""Report lines on ACLs: deviations of virtual clusters' own, and global ones that bypass them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from kgitops.lowering.acls.compile import INEXPRESSIBLE, OPERATIONS, WILDCARD, is_logical
from kgitops.lowering.acls.conflicts import find_conflicts
from kgitops.lowering.acls.scoped_acls import ScopedAcls, spans_virtual_clusters
from kgitops.lowering.report.lines import report_line
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.acls import OPERATIONS as KAFKA_OPERATIONS
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import SEPARATOR, VirtualCluster, physical_id


def acl_lines(
    bindings: Iterable[AclBinding], virtual_clusters: Iterable[VirtualCluster]
) -> Iterator[LoweringLine]:
    """Lines for the bindings of virtual clusters and for conflicts; a binding may have several."""
    scoped = ScopedAcls(bindings)
    for binding in bindings:
        if is_logical(binding):
            cluster = binding.resource_type is ResourceType.CLUSTER
            where = binding.resource_name if cluster else binding.virtual_cluster
            for code in dict.fromkeys(_codes(binding)):
                yield report_line(code, virtual_cluster=where, subject=acl_address(binding))
    for virtual_cluster in virtual_clusters:
        index = scoped.in_virtual_cluster(virtual_cluster.name)
        if index.denies:
            for conflict in sorted(set(find_conflicts(virtual_cluster, index.all()))):
                yield report_line(
                    "L-ACL-CONFLICT",
                    virtual_cluster=virtual_cluster.name,
                    subject=acl_address(conflict.deny),
                    reason=str(conflict),
                    grade=Grade.APPROX if virtual_cluster.options.deny_wins else Grade.REFUSE,
                )


def _codes(binding: AclBinding) -> Iterator[str]:
    kind, operation = binding.resource_type, binding.operation
    everything = operation is Operation.ALL
    if kind is ResourceType.CLUSTER:
        yield "L-ACL-CLUSTER"
        if everything or operation is Operation.CREATE:
            yield "L-ACL-CREATE"
        return
    if kind in INEXPRESSIBLE:
        yield "L-ACL-TOKEN"
        return
    for lost in KAFKA_OPERATIONS[kind] - OPERATIONS[kind]:
        if everything or operation is lost:
            yield _lost(kind, lost)
    if binding.principal == EVERYONE or spans_virtual_clusters(binding) or _expanded(binding):
        yield "L-ACL-SNAPSHOT"


def _lost(kind: ResourceType, operation: Operation) -> str:
    if kind is ResourceType.TOPIC and operation is Operation.CREATE:
        return "L-ACL-CREATE"
    if kind is ResourceType.TOPIC and operation is Operation.DELETE:
        return "L-ACL-DELETE"
    return "L-ACL-OPERATION"


def _expanded(binding: AclBinding) -> bool:
    """True for patterns on topics: unlike those on ids, they have no equivalent on brokers."""
    prefixed = binding.pattern_type is PatternType.PREFIXED
    pattern = prefixed or binding.resource_name == WILDCARD
    return binding.resource_type is ResourceType.TOPIC and pattern


_MANY = 3
_SCOPED = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


def isolation_lines(
    bindings: Iterable[AclBinding],
    virtual_clusters: Mapping[str, VirtualCluster],
    lowered: Collection[AclBinding] = (),
) -> Iterator[LoweringLine]:
    """A line for each principal that reaches a virtual cluster through global ACLs (VC-176).

    ``lowered`` bindings also implement ACLs of virtual clusters, so members bypass nothing by them.
    """
    reaching: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    prefixes = _OwnedNames({physical_id(name, ""): {name} for name in virtual_clusters})
    linked: defaultdict[str, set[str]] = defaultdict(set)
    for virtual_cluster in virtual_clusters.values():
        for link in virtual_cluster.links.values():
            linked[link.topic].add(virtual_cluster.name)
    topics = _OwnedNames(linked)
    for binding in sorted(bindings):
        if (
            is_logical(binding)
            or binding.permission_type is PermissionType.DENY
            or binding.resource_type not in _SCOPED
        ):
            continue
        of_topics = binding.resource_type is ResourceType.TOPIC
        reached = topics.of(binding) if of_topics else _by_id(binding, prefixes)
        for name in reached:
            if binding.principal not in virtual_clusters[name].users or binding not in lowered:
                reaching[name, binding.principal].append(acl_address(binding))
    for (name, principal), addresses in sorted(reaching.items()):
        more = f" and {len(addresses) - _MANY} more" if len(addresses) > _MANY else ""
        ways = f"{', '.join(addresses[:_MANY])}{more}"
        if principal in virtual_clusters[name].users:
            reason = f"its member gets around the virtual cluster's own ACLs by {ways}"
            yield report_line("L-BYPASS", virtual_cluster=name, subject=principal, reason=reason)
        else:
            reason = f"it is not a member and reaches into the virtual cluster by {ways}"
            yield report_line("L-ISOLATION", virtual_cluster=name, subject=principal, reason=reason)


class _OwnedNames:
    """Names with their owning virtual clusters, sorted so that those with a prefix are adjacent."""

    def __init__(self, owners: Mapping[str, set[str]]) -> None:
        self._owners = owners
        self._sorted = sorted(owners)
        self._all = set().union(*owners.values())

    def of(self, binding: AclBinding) -> set[str]:
        """The virtual clusters that own a name that the binding covers."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.PREFIXED:
            return self.beginning(name)
        return self._all if name == WILDCARD else self._owners.get(name, set())

    def beginning(self, prefix: str) -> set[str]:
        """The owners of the names with this prefix."""
        if not prefix:
            return self._all
        owners: set[str] = set()
        index = bisect_left(self._sorted, prefix)
        while index < len(self._sorted) and self._sorted[index].startswith(prefix):
            owners |= self._owners[self._sorted[index]]
            index += 1
        return owners

    def owner(self, name: str) -> set[str]:
        """The owners of exactly this name."""
        return self._owners.get(name, set())


def _by_id(binding: AclBinding, prefixes: _OwnedNames) -> set[str]:
    """The virtual clusters whose ids a binding on groups or transactional ids covers.

    Their ids begin with the virtual cluster's name and a colon, which no such name contains.
    """
    name = binding.resource_name
    scope, colon, _ = name.partition(SEPARATOR)
    if colon:
        return prefixes.owner(physical_id(scope, ""))
    return prefixes.of(binding)
