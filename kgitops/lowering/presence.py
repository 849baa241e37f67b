"""Whether all that must stand for virtual clusters is there, and nothing that no longer should."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.compiling import Compiled, compile_virtual_cluster
from kgitops.lowering.quotas.table import QuotaTable
from kgitops.lowering.records.reading import Records
from kgitops.lowering.records.writing import Status
from kgitops.model.lowered import Lowered
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster


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

    What is being deleted is there as long as anything that stands for it may be: whoever wants it
    back after all, or still wants it to go, finds that it is not what it should be.
    """
    bindings = ScopedAcls(b for b, status in records.acls.items() if status is not Status.PENDING)
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
        _compare(compiled, lowered, found)
    for binding, acl in lowered.acls.items():
        if acl.present and not acl.adopted and binding not in expected_acls:
            found.acls.update(acl.sources)
    for place, quota in lowered.quotas.items():
        if quota.found != quota.hidden and place not in expected_quotas:
            found.quotas.update((source, quota.key) for source in quota.sources)
    return found


def _compare(compiled: Compiled, lowered: Lowered, found: Amiss) -> None:
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
        if status is not Status.PENDING:
            links[local.virtual_cluster][local.name] = link
    for principal, (name, status) in records.users.items():
        if status is not Status.PENDING:
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
