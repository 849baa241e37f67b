"""Writes the records below ``vcs/``: a full key with canonical JSON, or None to remove it.

==========================  =====================================================================
``vcs/vc/<vc>``             a virtual cluster and its ``spec.lowering``
``vcs/link/<vc>/<link>``    a link; PENDING without topic id: its topic is being created (VC-063)
``vcs/user/<principal>``    the virtual cluster of a user; ``vcs/client/<id>`` of a client id
``vcs/group/<physical>``    a group, and the global one that it took over; ``vcs/txn/<physical>``
``vcs/vcacl/<hash>``        a declared binding (VC-327)
``vcs/acl/<hash>``          a physical binding for such; no other is ever deleted (VC-175)
``vcs/vcquota/<entity>/<key>``  a declared quota
``vcs/quota/<entity>/<key>``    a physical value for such; null: the global one is only hidden
``vcs/quota-shadow/…``      the global value that it hides, to be restored (VC-220)
==========================  =====================================================================
"""

from enum import StrEnum

from msgspec import Struct

from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.objects import binding_to_json
from kgitops.model.json.records import Record, record
from kgitops.model.lowered import LoweredAcl, LoweredQuota
from kgitops.model.registry import Json
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import encode
from kgitops.model.resources.quotas import ClientQuotaEntity, quota_text
from kgitops.model.resources.virtual_clusters import (
    DEFAULT,
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    physical_id,
)

QuotaKey = tuple[ClientQuotaEntity, str]
"""One quota: the entity, and Kafka's key."""
PREFIX = "vcs/"


class RecordStatus(StrEnum):
    """The progress of a recorded object (VC-329).

    PENDING: it does not exist yet. DELETING: it still exists. Both last until the physical changes
    are done.
    """

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DELETING = "DELETING"


class VirtualClusterDocument(Struct, frozen=True):
    """A record ``vc``."""

    options: LoweringOptions


class LinkDocument(Struct, frozen=True):
    """A record ``link``."""

    topic: str
    topic_id: str | None
    status: RecordStatus


class ClientDocument(Struct, frozen=True):
    """A record ``client``."""

    virtual_cluster: str


class UserDocument(ClientDocument, frozen=True):
    """A record ``user``."""

    status: RecordStatus


class GroupDocument(LocalName, frozen=True):
    """A record ``group``; one ``txn`` is the local name alone."""

    adopts: str | None


class AclDocument(Struct, frozen=True):
    """A record ``vcacl``."""

    binding: Json
    status: RecordStatus


class LoweredAclDocument(Struct, frozen=True):
    """A record ``acl``."""

    binding: Json
    virtual_cluster: str
    sources: tuple[str, ...]
    adopted: bool


class ShadowDocument(Struct, frozen=True):
    """A record ``quota-shadow``."""

    entity: Json
    key: str
    value: Json


class QuotaDocument(ShadowDocument, frozen=True):
    """A record ``vcquota``."""

    status: RecordStatus


class LoweredQuotaDocument(Struct, frozen=True):
    """A record ``quota``."""

    entity: Json
    key: str
    virtual_cluster: str
    value: Json
    sources: tuple[str, ...]


def removal(added: Record) -> Record:
    return added[0], None


def virtual_cluster_record(name: str, options: LoweringOptions) -> Record:
    return record(f"{PREFIX}vc/{encode(name)}", VirtualClusterDocument(options))


def link_record(
    virtual_cluster: str, link: TopicLink, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a link to a physical topic."""
    document = LinkDocument(link.topic, link.topic_id, status)
    return record(f"{PREFIX}link/{encode(virtual_cluster)}/{encode(link.name)}", document)


def user_record(
    virtual_cluster: str, user: str, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a user's virtual cluster; its key allows only one (VC-080)."""
    return record(f"{PREFIX}user/{encode(user)}", UserDocument(virtual_cluster, status))


def member_record(local: LocalName, entity_type: EntityType, adopts: str | None = None) -> Record:
    """The record of a client id, group or transactional id of a virtual cluster."""
    owner, name = local.virtual_cluster, local.name
    physical = encode(physical_id(owner, name))
    match entity_type:
        case EntityType.CLIENT_ID:
            return record(f"{PREFIX}client/{encode(name)}", ClientDocument(owner))
        case EntityType.GROUP:
            return record(f"{PREFIX}group/{physical}", GroupDocument(owner, name, adopts))
        case EntityType.TRANSACTIONAL_ID:
            return record(f"{PREFIX}txn/{physical}", local)
        case EntityType.TOPIC | EntityType.USER:
            raise ValueError(f"a {entity_type} has a record of its own kind")


def acl_record(binding: AclBinding, status: RecordStatus = RecordStatus.ACTIVE) -> Record:
    """The record of a declared binding of virtual clusters."""
    document = AclDocument(binding_to_json(binding), status)
    return record(f"{PREFIX}vcacl/{acl_hash(binding)}", document)


def lowered_acl_record(acl: LoweredAcl) -> Record:
    """The record of a physical binding for bindings of a virtual cluster."""
    binding = binding_to_json(acl.binding)
    document = LoweredAclDocument(binding, acl.virtual_cluster, acl.sources, acl.adopted)
    return record(f"{PREFIX}acl/{acl_hash(acl.binding)}", document)


def quota_record(
    entity: ClientQuotaEntity, key: str, value: float, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a declared quota of a virtual cluster."""
    document = QuotaDocument(dict(entity), key, quota_text(value), status)
    return record(f"{PREFIX}vcquota/{_quota_key(entity, key)}", document)


def lowered_quota_record(quota: LoweredQuota) -> Record:
    """The record of a physical value for quotas of a virtual cluster."""
    value = None if quota.value is None else quota_text(quota.value)
    document = LoweredQuotaDocument(
        dict(quota.entity), quota.key, quota.virtual_cluster, value, quota.sources
    )
    return record(f"{PREFIX}quota/{_quota_key(quota.entity, quota.key)}", document)


def shadow_record(entity: ClientQuotaEntity, key: str, value: float) -> Record:
    """The record of the global value that a lowered one hides."""
    document = ShadowDocument(dict(entity), key, quota_text(value))
    return record(f"{PREFIX}quota-shadow/{_quota_key(entity, key)}", document)


def acl_hash(binding: AclBinding) -> str:
    """The hash of a binding, for record keys."""
    return sha256(canonical_json(binding_to_json(binding))).removeprefix("sha256:")


def _quota_key(entity: ClientQuotaEntity, key: str) -> str:
    parts = (f"{kind}={DEFAULT if name is None else _literal(name)}" for kind, name in entity)
    return f"{','.join(parts)}/{encode(key)}"


def _literal(name: str) -> str:
    return "%3Cdefault%3E" if name == DEFAULT else encode(name)
