"""Reads the records below ``vcs/``; a record of an unexpected shape stops the run."""

from collections.abc import Mapping
from urllib.parse import unquote

from msgspec import Struct, field

from kgitops.lowering.records import (
    PREFIX,
    AclDocument,
    ClientDocument,
    GroupDocument,
    LinkDocument,
    LoweredAclDocument,
    LoweredQuotaDocument,
    QuotaDocument,
    QuotaKey,
    RecordStatus,
    ShadowDocument,
    UserDocument,
    VirtualClusterDocument,
)
from kgitops.model.errors import SafetyError
from kgitops.model.json.objects import read_binding, read_entity, read_quota
from kgitops.model.json.records import check_version, read_record
from kgitops.model.json.strict import ShapeError
from kgitops.model.lowered import LoweredAcl, LoweredQuota
from kgitops.model.registry import Json
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.virtual_clusters import LocalName, LoweringOptions, TopicLink


class Records(Struct, kw_only=True):
    """All records of virtual clusters; ``users`` and ``client_ids`` map to virtual clusters."""

    virtual_clusters: dict[str, LoweringOptions] = field(default_factory=dict)
    links: dict[LocalName, tuple[TopicLink, RecordStatus]] = field(default_factory=dict)
    users: dict[str, tuple[str, RecordStatus]] = field(default_factory=dict)
    client_ids: dict[str, str] = field(default_factory=dict)
    groups: dict[LocalName, str | None] = field(default_factory=dict)
    transactional_ids: set[LocalName] = field(default_factory=set)
    acls: dict[AclBinding, RecordStatus] = field(default_factory=dict)
    lowered_acls: dict[AclBinding, LoweredAcl] = field(default_factory=dict)
    quotas: dict[QuotaKey, tuple[float, RecordStatus]] = field(default_factory=dict)
    lowered_quotas: dict[QuotaKey, LoweredQuota] = field(default_factory=dict)
    hidden: dict[QuotaKey, float] = field(default_factory=dict)


def read_records(raw: Mapping[str, Mapping[str, Json]]) -> Records:
    """Read records, fields by their key without ``vcs/``; ``present`` and ``found`` stay unset.

    Raises:
        SafetyError: a record is damaged, of a version that this kgitops does not know, or belongs
            to a virtual cluster without a record.
    """
    records = Records()
    for key in raw:
        try:
            _read(records, key, raw[key])
        except ShapeError as error:
            raise _damaged(key, str(error).removeprefix(f"{key}.")) from error
    for key, virtual_cluster in _owners(records):
        if virtual_cluster not in records.virtual_clusters:
            raise _damaged(key, f"there is no record of the virtual cluster {virtual_cluster}")
    return records


def check_record(key: str, value: Mapping[str, Json]) -> None:
    """Check one record by its shape alone.

    Raises:
        ShapeError, SafetyError: ``read_records`` would refuse it.
    """
    _read(Records(), key, value)


def orphans(raw: Mapping[str, Mapping[str, Json]]) -> Mapping[str, str]:
    """Return the problem of each sound record whose virtual cluster has no record, by its key."""
    owners: dict[str, str] = {}
    known: set[str] = set()
    for key, value in raw.items():
        alone = Records()
        _read(alone, key, value)
        known |= alone.virtual_clusters.keys()
        for _, owner in _owners(alone):
            owners[key] = owner
    return {
        key: f"belongs to the virtual cluster {owner}, which has no record"
        for key, owner in owners.items()
        if owner not in known
    }


def _read(records: Records, key: str, value: Mapping[str, Json]) -> None:
    kind, _, name = key.partition("/")
    check_version(f"{PREFIX}{key}", value)
    match kind if name else None:
        case "vc":
            options = read_record(VirtualClusterDocument, key, value).options
            records.virtual_clusters[unquote(name)] = options
        case "link":
            virtual_cluster, slash, link_name = name.partition("/")
            link = read_record(LinkDocument, key, value)
            if not slash or not link_name:
                raise ShapeError("its key names no link")
            local = LocalName(unquote(virtual_cluster), unquote(link_name))
            found = TopicLink(name=local.name, topic=link.topic, topic_id=link.topic_id)
            records.links[local] = found, link.status
        case "user":
            user = read_record(UserDocument, key, value)
            records.users[unquote(name)] = user.virtual_cluster, user.status
        case "client":
            client = read_record(ClientDocument, key, value)
            records.client_ids[unquote(name)] = client.virtual_cluster
        case "group":
            group = read_record(GroupDocument, key, value)
            records.groups[LocalName(group.virtual_cluster, group.name)] = group.adopts
        case "txn":
            records.transactional_ids.add(read_record(LocalName, key, value))
        case "vcacl":
            acl = read_record(AclDocument, key, value)
            records.acls[read_binding(acl.binding, "binding")] = acl.status
        case "acl":
            lowered = read_record(LoweredAclDocument, key, value)
            binding = read_binding(lowered.binding, "binding")
            records.lowered_acls[binding] = LoweredAcl(
                binding=binding,
                virtual_cluster=lowered.virtual_cluster,
                sources=lowered.sources,
                adopted=lowered.adopted,
                present=False,
            )
        case "vcquota":
            quota = read_record(QuotaDocument, key, value)
            records.quotas[_quota_key(quota)] = read_quota(quota.value, "value"), quota.status
        case "quota":
            physical = read_record(LoweredQuotaDocument, key, value)
            entity, quota_key = _quota_key(physical)
            number = None if physical.value is None else read_quota(physical.value, "value")
            records.lowered_quotas[entity, quota_key] = LoweredQuota(
                entity=entity,
                key=quota_key,
                virtual_cluster=physical.virtual_cluster,
                value=number,
                sources=physical.sources,
            )
        case "quota-shadow":
            shadow = read_record(ShadowDocument, key, value)
            records.hidden[_quota_key(shadow)] = read_quota(shadow.value, "value")
        case _:
            raise SafetyError(
                f"the registry record {PREFIX}{key} is of a kind that this kgitops does not know; "
                "use a newer kgitops"
            )


def _owners(records: Records) -> list[tuple[str, str]]:
    """The key of each record that belongs to a virtual cluster, with that virtual cluster."""
    return [
        *((f"link/{local}", local.virtual_cluster) for local in records.links),
        *((f"user/{user}", owner) for user, (owner, _) in records.users.items()),
        *((f"client/{client_id}", owner) for client_id, owner in records.client_ids.items()),
        *((f"group/{local}", local.virtual_cluster) for local in records.groups),
        *((f"txn/{local}", local.virtual_cluster) for local in records.transactional_ids),
    ]


def _quota_key(document: ShadowDocument | LoweredQuotaDocument) -> QuotaKey:
    return read_entity(document.entity, "entity"), document.key


def _damaged(key: str, problem: str) -> SafetyError:
    return SafetyError(
        f"the registry record {PREFIX}{key} is damaged: {problem}; the virtual "
        "clusters can't be determined without it, so restore the registry before planning"
    )
