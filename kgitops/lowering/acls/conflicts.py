"""Finds rules for two links to one topic that contradict each other on brokers (VC-169)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from kgitops.lowering.acls.compile import WILDCARD, lowered_operations, matches_link
from kgitops.model.resources.acls import (
    EVERYONE,
    IMPLIED,
    AclBinding,
    Operation,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import VirtualCluster


class Conflict(Struct, frozen=True, kw_only=True, order=True):
    """``allow`` grants through the link ``allowed`` what ``deny`` forbids through ``denied``."""

    topic: str
    allowed: str
    denied: str
    allow: AclBinding
    deny: AclBinding

    def __str__(self) -> str:
        return (
            f"the links {self.allowed} and {self.denied} lead to the same topic {self.topic}: "
            f"{self.deny.principal} may not {self.deny.operation} by {self.denied}, but "
            f"{self.allow.principal} may {self.allow.operation} by {self.allowed}"
        )


def find_conflicts(
    virtual_cluster: VirtualCluster, bindings: Iterable[AclBinding]
) -> Iterator[Conflict]:
    """Each pair of bindings on topics of the virtual cluster that contradict each other."""
    allows: list[AclBinding] = []
    denies: list[AclBinding] = []
    for binding in bindings:
        if binding.resource_type is ResourceType.TOPIC and _applies(virtual_cluster, binding):
            deny = binding.permission_type is PermissionType.DENY
            (denies if deny else allows).append(binding)
    if not denies or not allows:
        return
    links = defaultdict(list)
    for link in virtual_cluster.links.values():
        links[link.topic].append(link.name)
    for topic, names in links.items():
        if len(names) > 1:
            yield from _topic_conflicts(topic, sorted(names), allows, denies)


def _topic_conflicts(
    topic: str, names: list[str], allows: list[AclBinding], denies: list[AclBinding]
) -> Iterator[Conflict]:
    for allowed in names:
        permitting = [allow for allow in allows if matches_link(allow, allowed)]
        denies_here = [deny for deny in denies if matches_link(deny, allowed)]
        for denied in names:
            for deny in denies:
                if not matches_link(deny, denied) or deny in denies_here:
                    continue
                for allow in permitting:
                    if _is_overridden(allow, deny, denies_here):
                        yield Conflict(
                            topic=topic, allowed=allowed, denied=denied, allow=allow, deny=deny
                        )


def _is_overridden(allow: AclBinding, deny: AclBinding, denies_here: list[AclBinding]) -> bool:
    """True if the Deny takes away an operation that no Deny forbids on the allowing link itself."""
    if not (_meet(allow.principal, deny.principal, EVERYONE) and _meet(allow.host, deny.host)):
        return False
    forbidden = _allowed(allow) & lowered_operations(deny)
    for other in denies_here:
        if _covers(other.principal, (allow.principal, deny.principal), EVERYONE) and _covers(
            other.host, (allow.host, deny.host)
        ):
            forbidden -= lowered_operations(other)
    return bool(forbidden)


def _allowed(allow: AclBinding) -> frozenset[Operation]:
    named = lowered_operations(allow)
    return named.union(*(IMPLIED.get(operation, frozenset()) for operation in named))


def _applies(virtual_cluster: VirtualCluster, binding: AclBinding) -> bool:
    return binding.principal in virtual_cluster.users or (
        binding.principal == EVERYONE and bool(virtual_cluster.users)
    )


def _meet(one: str, other: str, everything: str = WILDCARD) -> bool:
    return one == other or everything in (one, other)


def _covers(outer: str, inner: tuple[str, str], everything: str = WILDCARD) -> bool:
    return outer == everything or outer in inner
