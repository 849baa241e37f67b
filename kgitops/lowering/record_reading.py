"""Reads the records below ``vcs/``; a record of an unexpected shape stops the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from kgitops.lowering.records import PREFIX, QuotaKey, RecordStatus
from kgitops.model.errors import SafetyError
from kgitops.model.json.objects import read_binding, read_entity, read_quota
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    choice,
    members,
    text,
    text_or_none,
)
from kgitops.model.json.virtual_clusters import read_options
from kgitops.model.lowered import LoweredAcl, LoweredQuota
from kgitops.model.registry import SCHEMA_VERSION, Json
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.virtual_clusters import LocalName, LoweringOptions, TopicLink

_KEYS = {
    kind: ("schema_version", *names)
    for kind, names in {
        "vc": ("options",),
        "link": ("topic", "topic_id", "status"),
        "user": ("virtual_cluster", "status"),
        "client": ("virtual_cluster",),
        "group": ("virtual_cluster", "name", "adopts"),
        "txn": ("virtual_cluster", "name"),
        "vcacl": ("binding", "status"),
        "acl": ("binding", "virtual_cluster", "sources", "adopted"),
        "vcquota": ("entity", "key", "value", "status"),
        "quota": ("entity", "key", "virtual_cluster", "value", "sources"),
        "quota-shadow": ("entity", "key", "value"),
    }.items()
}


@dataclass(slots=True, kw_only=True)
class Records:
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
            raise _damaged(key, str(error)) from error
    for key, virtual_cluster in _owners(records):
        if virtual_cluster not in records.virtual_clusters:
            raise _damaged(key, f"there is no record of the virtual cluster {virtual_cluster}")
    return records


def _read(records: Records, key: str, value: Json) -> None:
    kind, _, name = key.partition("/")
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        version = value.get("schema_version") if isinstance(value, dict) else None
        raise SafetyError(
            f"the registry record {PREFIX}{key} has schema version {version}, this kgitops knows "
            f"{SCHEMA_VERSION}; use a newer kgitops"
        )
    if kind not in _KEYS or not name:
        raise SafetyError(
            f"the registry record {PREFIX}{key} is of a kind that this kgitops does not know; "
            "use a newer kgitops"
        )
    fields = members(value, key, _KEYS[kind])
    match kind:
        case "vc":
            records.virtual_clusters[unquote(name)] = read_options(fields["options"], "options")
        case "link":
            virtual_cluster, slash, link = name.partition("/")
            if not slash or not link:
                raise ShapeError("its key names no link")
            local = LocalName(unquote(virtual_cluster), unquote(link))
            records.links[local] = (
                TopicLink(
                    name=local.name,
                    topic=text(fields["topic"], "topic"),
                    topic_id=text_or_none(fields["topic_id"], "topic_id"),
                ),
                choice(RecordStatus, fields["status"], "status"),
            )
        case "user":
            records.users[unquote(name)] = (
                text(fields["virtual_cluster"], "virtual_cluster"),
                choice(RecordStatus, fields["status"], "status"),
            )
        case "client":
            records.client_ids[unquote(name)] = text(fields["virtual_cluster"], "virtual_cluster")
        case "group":
            records.groups[_local(fields)] = text_or_none(fields["adopts"], "adopts")
        case "txn":
            records.transactional_ids.add(_local(fields))
        case "vcacl":
            binding = read_binding(fields["binding"], "binding")
            records.acls[binding] = choice(RecordStatus, fields["status"], "status")
        case "acl":
            binding = read_binding(fields["binding"], "binding")
            records.lowered_acls[binding] = LoweredAcl(
                binding=binding,
                virtual_cluster=text(fields["virtual_cluster"], "virtual_cluster"),
                sources=array(fields["sources"], "sources", text),
                adopted=boolean(fields["adopted"], "adopted"),
                present=False,
            )
        case "vcquota":
            records.quotas[_quota_key(fields)] = (
                read_quota(fields["value"], "value"),
                choice(RecordStatus, fields["status"], "status"),
            )
        case "quota":
            entity, quota = _quota_key(fields)
            records.lowered_quotas[entity, quota] = LoweredQuota(
                entity=entity,
                key=quota,
                virtual_cluster=text(fields["virtual_cluster"], "virtual_cluster"),
                value=None if fields["value"] is None else read_quota(fields["value"], "value"),
                sources=array(fields["sources"], "sources", text),
            )
        case _:
            records.hidden[_quota_key(fields)] = read_quota(fields["value"], "value")


def _owners(records: Records) -> list[tuple[str, str]]:
    """The key of each record that belongs to a virtual cluster, with that virtual cluster."""
    return [
        *((f"link/{local}", local.virtual_cluster) for local in records.links),
        *((f"user/{user}", owner) for user, (owner, _) in records.users.items()),
        *((f"client/{client_id}", owner) for client_id, owner in records.client_ids.items()),
        *((f"group/{local}", local.virtual_cluster) for local in records.groups),
        *((f"txn/{local}", local.virtual_cluster) for local in records.transactional_ids),
    ]


def _local(fields: Mapping[str, Json]) -> LocalName:
    return LocalName(
        text(fields["virtual_cluster"], "virtual_cluster"), text(fields["name"], "name")
    )


def _quota_key(fields: Mapping[str, Json]) -> QuotaKey:
    return read_entity(fields["entity"], "entity"), text(fields["key"], "key")


def _damaged(key: str, problem: str) -> SafetyError:
    return SafetyError(
        f"the registry record {PREFIX}{key} is damaged: {problem}; the virtual "
        "clusters can't be determined without it, so restore the registry before planning"
    )
