"""Lifts the physical state and the registry's records of virtual clusters to the logical state."""

from collections import defaultdict
from collections.abc import Mapping
from operator import itemgetter

from msgspec.structs import replace

from kgitops.lowering.missing import find_missing
from kgitops.lowering.record_reading import Records, read_records
from kgitops.lowering.records import QuotaKey, RecordStatus
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered, LoweredAcl
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster

_RECORDED = ("vc/", f"quota/{VIRTUAL_CLUSTER}=")
"""Prefixes of addresses of virtual clusters' quotas; a global quota has no record of its own."""


def lift(physical: ClusterState) -> ClusterState:
    """The logical state: virtual clusters with their ACLs and quotas, without physical stand-ins.

    Without records of virtual clusters the same object is returned. Objects that are being deleted
    are still in it, pending ones not yet. A binding or quota of virtual clusters is in it only if
    its physical counterparts are exactly in key (VC-327); else it is in ``lowered.missing_…``.

    Raises:
        SafetyError: a record is damaged or unknown.
    """
    registry = physical.registry
    if registry is None or not registry.virtual_clusters:
        return physical
    records = read_records(registry.virtual_clusters)
    declared_acls = {b for b, status in records.acls.items() if status is not RecordStatus.PENDING}
    declared_quotas = {
        (quota_address(entity), key)
        for (entity, key), (_, status) in records.quotas.items()
        if status is not RecordStatus.PENDING
    }
    sources = {acl_address(binding) for binding in declared_acls}
    lowered = _lowered(physical, records, sources, declared_quotas)
    declared = _declared_quotas(physical, records, lowered)
    missing = find_missing(records, lowered, _states(declared))
    missing_acls = frozenset(
        binding
        for binding, status in records.acls.items()
        if status is not RecordStatus.PENDING and acl_address(binding) in missing.acls
    )
    missing_quotas = {
        (entity, key): value
        for (entity, key), (value, status) in records.quotas.items()
        if status is not RecordStatus.PENDING and (quota_address(entity), key) in missing.quotas
    }
    for entity, key in missing_quotas:
        del declared[entity][key]
    lowered_only = {binding for binding, acl in lowered.acls.items() if not acl.adopted}
    return replace(
        physical,
        virtual_clusters=recorded_virtual_clusters(records),
        acls=(physical.acls - lowered_only) | (declared_acls - missing_acls),
        quotas=_states(declared),
        lowered=replace(lowered, missing_acls=missing_acls, missing_quotas=missing_quotas),
    )


def _lowered(
    physical: ClusterState, records: Records, sources: set[str], quotas: set[tuple[str, str]]
) -> Lowered:
    """The physical objects of virtual clusters, and the state that brokers have of them.

    A source that is not declared was never completed: it does not keep a physical object.
    """

    def actual(entity: ClientQuotaEntity, key: str) -> float | None:
        state = physical.quotas.get(entity)
        return state.quotas.get(key) if state else None

    return Lowered(
        acls={
            binding: LoweredAcl(
                binding=binding,
                virtual_cluster=acl.virtual_cluster,
                sources=tuple(source for source in acl.sources if source in sources),
                adopted=acl.adopted,
                present=binding in physical.acls,
            )
            for binding, acl in records.lowered_acls.items()
        },
        quotas={
            key: replace(
                quota,
                hidden=records.hidden.get(key),
                found=actual(*key),
                sources=tuple(
                    source
                    for source in quota.sources
                    if (source, quota.key) in quotas or not source.startswith(_RECORDED)
                ),
            )
            for key, quota in records.lowered_quotas.items()
        },
        begun_acls=frozenset(
            binding for binding, status in records.acls.items() if status is RecordStatus.PENDING
        ),
        begun_quotas=frozenset(
            key for key, (_, status) in records.quotas.items() if status is RecordStatus.PENDING
        ),
        pending={
            local: link.topic
            for local, (link, status) in records.links.items()
            if status is RecordStatus.PENDING and link.topic_id is None
        },
    )


def _declared_quotas(
    physical: ClusterState, records: Records, lowered: Lowered
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """All declared quotas: global ones, hidden ones restored, and those of virtual clusters."""
    values: dict[QuotaKey, float | None] = {
        quota_key: quota.hidden for quota_key, quota in lowered.quotas.items()
    }
    for quota_key, (quota, status) in records.quotas.items():
        if status is not RecordStatus.PENDING:
            values[quota_key] = quota
    declared = defaultdict(dict, {e: dict(state.quotas) for e, state in physical.quotas.items()})
    for (entity, key), value in values.items():
        if value is None:
            declared[entity].pop(key, None)
        else:
            declared[entity][key] = value
    return declared


def _states(
    declared: Mapping[ClientQuotaEntity, Mapping[str, float]],
) -> dict[ClientQuotaEntity, ClientQuotaState]:
    return {
        entity: ClientQuotaState(entity=entity, quotas=dict(values))
        for entity, values in declared.items()
        if values
    }


def recorded_virtual_clusters(records: Records) -> dict[str, VirtualCluster]:
    """The virtual clusters with all that is not pending; objects being deleted are still there."""
    links: defaultdict[str, dict[str, TopicLink]] = defaultdict(dict)
    users: defaultdict[str, set[str]] = defaultdict(set)
    client_ids: defaultdict[str, set[str]] = defaultdict(set)
    groups: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    transactional_ids: defaultdict[str, set[str]] = defaultdict(set)
    for local, (link, status) in sorted(records.links.items(), key=itemgetter(0)):
        if status is not RecordStatus.PENDING:
            links[local.virtual_cluster][local.name] = link
    for principal, (name, status) in records.users.items():
        if status is not RecordStatus.PENDING:
            users[name].add(principal)
    for client_id, name in records.client_ids.items():
        client_ids[name].add(client_id)
    for local, adopts in sorted(records.groups.items(), key=itemgetter(0)):
        groups[local.virtual_cluster][local.name] = adopts
    for local in records.transactional_ids:
        transactional_ids[local.virtual_cluster].add(local.name)
    return {
        name: VirtualCluster(
            name=name,
            links=links.get(name, {}),
            users=frozenset(users.get(name, ())),
            client_ids=frozenset(client_ids.get(name, ())),
            groups=groups.get(name, {}),
            transactional_ids=frozenset(transactional_ids.get(name, ())),
            options=records.virtual_clusters[name],
        )
        for name in sorted(records.virtual_clusters)
    }
