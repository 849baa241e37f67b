"""Whether all that must stand for virtual clusters is there, and nothing that no longer should."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import lower_binding
from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quotas.changes import QuotaChanges
from kgitops.lowering.quotas.compile import QuotaTarget, lower_user_quotas
from kgitops.lowering.quotas.table import QuotaTable
from kgitops.lowering.record_reading import Records
from kgitops.lowering.records import QuotaKey, RecordStatus
from kgitops.model.lowered import Lowered
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster, user_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedObjects:
    """Physical bindings and the addresses of their sources (VC-168), and physical quota values."""

    acls: Mapping[AclBinding, tuple[str, ...]]
    quotas: Mapping[tuple[ClientQuotaEntity, str], QuotaTarget]


def expected_objects(
    virtual_cluster: VirtualCluster, bindings: Iterable[AclBinding], table: QuotaTable
) -> ExpectedObjects:
    """``bindings`` are those that act in the virtual cluster, ``table`` holds all quotas.

    No user is in two virtual clusters, so nothing physical belongs to two.
    """
    acls: dict[AclBinding, list[str]] = {}
    for binding in bindings:
        source = acl_address(binding)
        for physical in lower_binding(
            binding, virtual_cluster.name, virtual_cluster.links, virtual_cluster.users
        ):
            acls.setdefault(physical, []).append(source)
    quotas: dict[tuple[ClientQuotaEntity, str], QuotaTarget] = {}
    for user in sorted(filter(None, map(user_name, virtual_cluster.users))):
        quotas |= lower_user_quotas(table, virtual_cluster, user)
    return ExpectedObjects(
        acls={physical: tuple(sorted(sources)) for physical, sources in acls.items()},
        quotas=quotas,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Addresses of bindings, and of quotas with their keys, for which something else is there."""

    acls: set[str] = field(default_factory=set)
    quotas: set[tuple[str, str]] = field(default_factory=set)


def find_missing(
    records: Records,
    lowered: Lowered,
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState],
) -> Missing:
    """What is recorded and not so; ``quotas`` are all that are meant.

    What is being deleted is there as long as anything that stands for it may be: whoever wants it
    back after all, or still wants it to go, finds that it is not what it should be.
    """
    bindings = ScopedAcls(
        b for b, status in records.acls.items() if status is not RecordStatus.PENDING
    )
    table = QuotaTable(quotas.values())
    found = Missing()
    expected_acls: set[object] = set()
    expected_quotas: set[object] = set()
    for virtual_cluster in _settled(records):
        name = virtual_cluster.name
        compiled = expected_objects(virtual_cluster, bindings.in_virtual_cluster(name).all(), table)
        expected_acls |= compiled.acls.keys()
        expected_quotas |= compiled.quotas.keys()
        _compare(compiled, lowered, found)
    for binding, acl in lowered.acls.items():
        if acl.present and not acl.adopted and binding not in expected_acls:
            found.acls.update(acl.sources)
    for place, quota in lowered.quotas.items():
        if quota.found != quota.hidden and place not in expected_quotas:
            found.quotas.update((source, quota.key) for source in quota.sources)
    return found


def _compare(compiled: ExpectedObjects, lowered: Lowered, found: Missing) -> None:
    for binding, sources in compiled.acls.items():
        acl = lowered.acls.get(binding)
        if acl is None or not acl.present:
            found.acls.update(sources)
    for (entity, key), target in compiled.quotas.items():
        quota = lowered.quotas.get((entity, key))
        if quota is None or quota.found != target.value:
            found.quotas.update((source, key) for source in target.sources)


def _settled(records: Records) -> list[VirtualCluster]:
    """The virtual clusters, without what is not there yet."""
    links: defaultdict[str, dict[str, TopicLink]] = defaultdict(dict)
    users: defaultdict[str, set[str]] = defaultdict(set)
    for local, (link, status) in records.links.items():
        if status is not RecordStatus.PENDING:
            links[local.virtual_cluster][local.name] = link
    for principal, (name, status) in records.users.items():
        if status is not RecordStatus.PENDING:
            users[name].add(principal)
    return [
        VirtualCluster(
            name=name,
            links=links.get(name, {}),
            users=frozenset(users.get(name, ())),
            options=options,
        )
        for name, options in records.virtual_clusters.items()
    ]


def repaired_acls(
    missing: Collection[AclBinding], namespaces: Namespaces, acls: AclChanges
) -> Iterator[AclBinding]:
    """The bindings that exactly what must stand for does."""
    for binding in missing:
        wanted = {
            physical
            for virtual_cluster in namespaces.virtual_clusters_of(binding)
            for physical in lower_binding(
                binding, virtual_cluster.name, virtual_cluster.links, virtual_cluster.users
            )
        }
        standing = acls.bindings_for(acl_address(binding))
        if wanted == standing and all(acls.lowered[physical].present for physical in wanted):
            yield binding


def repaired_quotas(
    missing: Mapping[QuotaKey, float], namespaces: Namespaces, quotas: QuotaChanges
) -> Iterator[QuotaKey]:
    """The quotas that all of what must stand for does."""
    if not missing:
        return
    find_missing: set[tuple[str, str]] = set()
    for name in namespaces.names:
        virtual_cluster = namespaces.delta.get(name)
        bound = (
            set(filter(None, map(user_name, virtual_cluster.users))) if virtual_cluster else set()
        )
        for user in bound | quotas.users_in(name):
            targets = (
                lower_user_quotas(quotas.table, virtual_cluster, user)
                if virtual_cluster and user in bound
                else {}
            )
            places = quotas.lowered_of(user)
            for place in targets.keys() | places.keys():
                target, quota = targets.get(place), places.get(place)
                if target is None and quota is not None and quota.found != quota.hidden:
                    find_missing |= {(source, place[1]) for source in quota.sources}
                elif target and (quota is None or quota.found != target.value):
                    find_missing |= {(source, place[1]) for source in target.sources}
    for entity, key in missing:
        if (quota_address(entity), key) not in find_missing:
            yield entity, key
