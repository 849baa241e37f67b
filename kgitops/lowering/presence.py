"""Whether all that must stand for virtual clusters is there, and nothing that no longer should."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.lowering.compiling import Compiled, compile_virtual_cluster
from kgitops.lowering.quota_table import QuotaTable, user_of
from kgitops.lowering.record_writing import Status
from kgitops.lowering.records import Records
from kgitops.lowering.scoped_acls import ScopedAcls
from kgitops.model.addresses import acl_address, quota_address
from kgitops.model.lowered import Lowered, LoweredAcl
from kgitops.model.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.virtual_clusters import TopicLink, VirtualCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Amiss:
    """Addresses of bindings, and of quotas with their keys, for which something else is there."""

    acls: set[str] = field(default_factory=set)
    quotas: set[tuple[str, str]] = field(default_factory=set)


def amiss(
    records: Records,
    lowered: Lowered,
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState],
) -> Amiss:
    """What is recorded and not so; ``quotas`` are all that are meant.

    Of what is being deleted nobody can tell what is left, so it is not looked at: it is deleted
    again in any case.
    """
    going = _Going(records)
    bindings = ScopedAcls(b for b, status in records.acls.items() if status is Status.ACTIVE)
    table = QuotaTable(quotas.values())
    found = Amiss()
    expected_acls: set[object] = set()
    expected_quotas: set[object] = set()
    for virtual_cluster in _settled(records):
        name = virtual_cluster.name
        compiled = compile_virtual_cluster(
            virtual_cluster, bindings.in_virtual_cluster(name).all(), table
        )
        expected_acls |= compiled.acls.keys()
        expected_quotas |= compiled.quotas.keys()
        _compare(compiled, lowered, going, found)
    for binding, acl in lowered.acls.items():
        surplus = acl.present and not acl.adopted and binding not in expected_acls
        if surplus and not going.acl(acl):
            found.acls.update(acl.sources)
    for place, quota in lowered.quotas.items():
        changed = quota.found != quota.hidden
        if changed and place not in expected_quotas and not going.quota(*place, quota.sources):
            found.quotas.update((source, quota.key) for source in quota.sources)
    return found


def _compare(compiled: Compiled, lowered: Lowered, going: "_Going", found: Amiss) -> None:
    for binding, sources in compiled.acls.items():
        acl = lowered.acls.get(binding)
        if acl is None or not acl.present:
            found.acls.update(sources)
    for (entity, key), target in compiled.quotas.items():
        quota = lowered.quotas.get((entity, key))
        there = quota is not None and quota.found == target.value
        if not there and not going.quota(entity, key, target.sources):
            found.quotas.update((source, key) for source in target.sources)


class _Going:
    """What was being deleted, or changed, when the registry was last written."""

    def __init__(self, records: Records) -> None:
        deleting = Status.DELETING
        self._users = {user for user, (_, status) in records.users.items() if status is deleting}
        self._topics = {link.topic for link, status in records.links.values() if status is deleting}
        self._acls = {acl_address(b) for b, status in records.acls.items() if status is deleting}
        self._quotas = {
            (quota_address(entity), key)
            for (entity, key), (_, status) in records.quotas.items()
            if status is deleting
        }

    def acl(self, acl: LoweredAcl) -> bool:
        """Whether the physical binding may be about to go."""
        return (
            acl.binding.principal in self._users
            or acl.binding.resource_name in self._topics
            or not self._acls.isdisjoint(acl.sources)
        )

    def quota(self, entity: ClientQuotaEntity, key: str, sources: tuple[str, ...]) -> bool:
        """Whether the physical value may be about to change."""
        user = user_of(entity)
        return (user is not None and f"User:{user}" in self._users) or any(
            (source, key) in self._quotas for source in sources
        )


def _settled(records: Records) -> list[VirtualCluster]:
    """The virtual clusters, without what is not there yet or about to go."""
    links: defaultdict[str, dict[str, TopicLink]] = defaultdict(dict)
    users: defaultdict[str, set[str]] = defaultdict(set)
    for local, (link, status) in records.links.items():
        if status is Status.ACTIVE:
            links[local.virtual_cluster][local.name] = link
    for principal, (name, status) in records.users.items():
        if status is Status.ACTIVE:
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
