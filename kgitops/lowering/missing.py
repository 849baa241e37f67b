"""Finds recorded ACLs and quotas of virtual clusters that are not fully in place (VC-327)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import lower_binding
from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quota_changes import QuotaChanges
from kgitops.lowering.quota_compile import QuotaTable, QuotaTarget, lower_user_quotas
from kgitops.lowering.record_reading import Records
from kgitops.lowering.records import QuotaKey, RecordStatus
from kgitops.model.lowered import Lowered
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster, user_name


class ExpectedObjects(Struct, frozen=True, kw_only=True):
    """The physical bindings, with the addresses of their sources (VC-168), and physical quotas."""

    acls: Mapping[AclBinding, tuple[str, ...]]
    quotas: Mapping[QuotaKey, QuotaTarget]


def expected_objects(
    virtual_cluster: VirtualCluster, bindings: Iterable[AclBinding], table: QuotaTable
) -> ExpectedObjects:
    """The physical objects that one virtual cluster needs.

    ``bindings`` are those that act in it, ``table`` has all quotas. No user is in two virtual
    clusters, so no physical object belongs to two.
    """
    acls: dict[AclBinding, list[str]] = {}
    for binding in bindings:
        source = acl_address(binding)
        for physical in lower_binding(
            binding, virtual_cluster.name, virtual_cluster.links, virtual_cluster.users
        ):
            acls.setdefault(physical, []).append(source)
    quotas: dict[QuotaKey, QuotaTarget] = {}
    for user in sorted(filter(None, map(user_name, virtual_cluster.users))):
        quotas |= lower_user_quotas(table, virtual_cluster, user)
    return ExpectedObjects(
        acls={physical: tuple(sorted(sources)) for physical, sources in acls.items()},
        quotas=quotas,
    )


class Missing(Struct, frozen=True, kw_only=True):
    """Addresses of bindings, and of quotas with their keys, that are not exactly in place."""

    acls: set[str] = field(default_factory=set)
    quotas: set[tuple[str, str]] = field(default_factory=set)


def find_missing(
    records: Records,
    lowered: Lowered,
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState],
) -> Missing:
    """The recorded ACLs and quotas that are not in place; ``quotas`` are all declared ones.

    One that is being deleted counts as recorded until its physical objects are gone. So it is found
    to be missing both by a plan that wants it back and by one that still deletes it.
    """
    bindings = ScopedAcls(
        b for b, status in records.acls.items() if status is not RecordStatus.PENDING
    )
    table = QuotaTable(quotas.values())
    missing = Missing()
    expected_acls: set[object] = set()
    expected_quotas: set[object] = set()
    for virtual_cluster in _without_pending(records):
        name = virtual_cluster.name
        expected = expected_objects(virtual_cluster, bindings.in_virtual_cluster(name).all(), table)
        expected_acls |= expected.acls.keys()
        expected_quotas |= expected.quotas.keys()
        _compare(expected, lowered, missing)
    for binding, acl in lowered.acls.items():
        if acl.present and not acl.adopted and binding not in expected_acls:
            missing.acls.update(acl.sources)
    for quota_key, quota in lowered.quotas.items():
        if quota.found != quota.hidden and quota_key not in expected_quotas:
            missing.quotas.update((source, quota.key) for source in quota.sources)
    return missing


def _compare(expected: ExpectedObjects, lowered: Lowered, missing: Missing) -> None:
    for binding, sources in expected.acls.items():
        acl = lowered.acls.get(binding)
        if acl is None or not acl.present:
            missing.acls.update(sources)
    for (entity, key), target in expected.quotas.items():
        quota = lowered.quotas.get((entity, key))
        if quota is None or quota.found != target.value:
            missing.quotas.update((source, key) for source in target.sources)


def _without_pending(records: Records) -> list[VirtualCluster]:
    """The virtual clusters with their links and users, except pending ones."""
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
    """The missing bindings whose physical bindings are now exactly the expected ones."""
    for binding in missing:
        expected = {
            physical
            for virtual_cluster in namespaces.virtual_clusters_of(binding)
            for physical in lower_binding(
                binding, virtual_cluster.name, virtual_cluster.links, virtual_cluster.users
            )
        }
        actual = acls.bindings_for(acl_address(binding))
        if expected == actual and all(acls.lowered[physical].present for physical in expected):
            yield binding


def repaired_quotas(
    missing: Mapping[QuotaKey, float], namespaces: Namespaces, quotas: QuotaChanges
) -> Iterator[QuotaKey]:
    """The missing quotas whose physical values are now all in place."""
    if not missing:
        return
    still_missing: set[tuple[str, str]] = set()
    for name in namespaces.names:
        virtual_cluster = namespaces.delta.get(name)
        members = (
            set(filter(None, map(user_name, virtual_cluster.users))) if virtual_cluster else set()
        )
        for user in members | quotas.users_in(name):
            targets = (
                lower_user_quotas(quotas.table, virtual_cluster, user)
                if virtual_cluster and user in members
                else {}
            )
            lowered = quotas.lowered_of(user)
            for entity, key in targets.keys() | lowered.keys():
                target, quota = targets.get((entity, key)), lowered.get((entity, key))
                if target is None and quota is not None and quota.found != quota.hidden:
                    still_missing |= {(source, key) for source in quota.sources}
                elif target and (quota is None or quota.found != target.value):
                    still_missing |= {(source, key) for source in target.sources}
    for entity, key in missing:
        if (quota_address(entity), key) not in still_missing:
            yield entity, key
