"""Which recorded bindings and quotas, that were amiss, are as they should be by now (VC-327)."""

from collections.abc import Collection, Iterator, Mapping

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import lower
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quotas.changes import Place, QuotaChanges
from kgitops.lowering.quotas.compile import lower_user
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.virtual_clusters import user_name


def repaired_acls(
    missing: Collection[AclBinding], namespaces: Namespaces, acls: AclChanges
) -> Iterator[AclBinding]:
    """The bindings that exactly what must stand for does."""
    for binding in missing:
        wanted = {
            physical
            for found in namespaces.acting_in(binding)
            for physical in lower(binding, found.name, found.links, found.users)
        }
        standing = acls.of_source(acl_address(binding))
        if wanted == standing and all(acls.lowered[physical].present for physical in wanted):
            yield binding


def repaired_quotas(
    missing: Mapping[Place, float], namespaces: Namespaces, quotas: QuotaChanges
) -> Iterator[Place]:
    """The quotas that all of what must stand for does."""
    if not missing:
        return
    amiss: set[tuple[str, str]] = set()
    for name in namespaces.names:
        found = namespaces.delta.get(name)
        bound = set(filter(None, map(user_name, found.users))) if found else set()
        for user in bound | quotas.users_in(name):
            targets = lower_user(quotas.table, found, user) if found and user in bound else {}
            places = quotas.places(user)
            for place in targets.keys() | places.keys():
                target, quota = targets.get(place), places.get(place)
                if target is None and quota is not None and quota.found != quota.hidden:
                    amiss |= {(source, place[1]) for source in quota.sources}
                elif target and (quota is None or quota.found != target.value):
                    amiss |= {(source, place[1]) for source in target.sources}
    for entity, key in missing:
        if (quota_address(entity), key) not in amiss:
            yield entity, key
