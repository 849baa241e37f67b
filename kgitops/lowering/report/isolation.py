"""Who reaches into a virtual cluster by global ACLs: others (VC-176), and members past its own."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from kgitops.lowering.acls.compile import WILDCARD, is_logical
from kgitops.lowering.report.lines import line
from kgitops.model.lowered import LoweringLine
from kgitops.model.resources.acls import AclBinding, PatternType, PermissionType, ResourceType
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import SEPARATOR, VirtualCluster, physical_id

_MANY = 3
_SCOPED = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


def isolation_lines(
    bindings: Iterable[AclBinding],
    virtual_clusters: Mapping[str, VirtualCluster],
    standing: Collection[AclBinding] = (),
) -> Iterator[LoweringLine]:
    """A line for each principal and virtual cluster that it reaches by ACLs of no virtual cluster.

    ``standing`` stand for ACLs of virtual clusters as well: no member goes past these by them.
    """
    reaching: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    prefixes = _Names({physical_id(name, ""): {name} for name in virtual_clusters})
    linked: defaultdict[str, set[str]] = defaultdict(set)
    for found in virtual_clusters.values():
        for link in found.links.values():
            linked[link.topic].add(found.name)
    topics = _Names(linked)
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
            if binding.principal not in virtual_clusters[name].users or binding not in standing:
                reaching[name, binding.principal].append(acl_address(binding))
    for (name, principal), addresses in sorted(reaching.items()):
        more = f" and {len(addresses) - _MANY} more" if len(addresses) > _MANY else ""
        ways = f"{', '.join(addresses[:_MANY])}{more}"
        if principal in virtual_clusters[name].users:
            reason = f"whatever the virtual cluster's own ACLs say, its member is let in by {ways}"
            yield line("L-BYPASS", virtual_cluster=name, subject=principal, reason=reason)
        else:
            reason = f"it is no member and reaches into the virtual cluster by {ways}"
            yield line("L-ISOLATION", virtual_cluster=name, subject=principal, reason=reason)


class _Names:
    """Names in their order, so that those with a prefix stand together."""

    def __init__(self, owners: Mapping[str, set[str]]) -> None:
        self._owners = owners
        self._sorted = sorted(owners)
        self._all = set().union(*owners.values())

    def of(self, binding: AclBinding) -> set[str]:
        """The virtual clusters that own a name which the binding covers."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.PREFIXED:
            return self.beginning(name)
        return self._all if name == WILDCARD else self._owners.get(name, set())

    def beginning(self, prefix: str) -> set[str]:
        """The owners of the names that begin so."""
        if not prefix:
            return self._all
        found: set[str] = set()
        at = bisect_left(self._sorted, prefix)
        while at < len(self._sorted) and self._sorted[at].startswith(prefix):
            found |= self._owners[self._sorted[at]]
            at += 1
        return found

    def owner(self, name: str) -> set[str]:
        """Who owns exactly this name."""
        return self._owners.get(name, set())


def _by_id(binding: AclBinding, prefixes: _Names) -> set[str]:
    """Ids in a virtual cluster begin with its name and a colon, which stands in no such name."""
    name = binding.resource_name
    scope, colon, _ = name.partition(SEPARATOR)
    if colon:
        return prefixes.owner(physical_id(scope, ""))
    return prefixes.of(binding)
