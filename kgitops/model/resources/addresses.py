"""Stable addresses of objects, as used in targets, tombstones, waivers and reports."""

import re
from urllib.parse import unquote

from msgspec import Struct

from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.resources.virtual_clusters import EntityType, LocalName

_PART = r"(?:[^%/@,=\x00-\x1f\x7f-\x9f]|%[0-9A-F]{2})+"
_ACL = (
    rf"acl/{_PART}/(?:{'|'.join(PermissionType)})/(?:{'|'.join(Operation)})"
    rf"/(?:{'|'.join(ResourceType)})/(?:{'|'.join(PatternType)})/{_PART}@{_PART}"
)
_CLIENTS = rf"user={_PART}(?:,client-id={_PART})?|client-id={_PART}"
DECLARABLE = re.compile(
    rf"topic/(?P<topic>{_PART})"
    rf"|user/{_PART}"
    rf"|(?:group|client-metrics)/{_PART}"
    rf"|broker-config/(?:{ALL_BROKERS}|0|[1-9][0-9]{{0,9}})"
    rf"|{_ACL}"
    rf"|quota/(?:{_CLIENTS}|ip={_PART}|{VIRTUAL_CLUSTER}={_PART})"
    rf"|vc/{_PART}(?:/(?:topic|link|user|client|group|txn)/{_PART}|/{_ACL}|/quota/(?:{_CLIENTS}))?"
)
"""The address of an object that a document can declare."""
CREDENTIALS = "credentials"
"""The kind of the addresses ``user/NAME``."""
_SCOPED = "vc/"
_PREFIXED = "prefixed:"
_SEGMENTS = {
    EntityType.TOPIC: "link",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "txn",
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client",
}
_GROUP = "group"
GLOBAL_GROUP = "consumer-group"
"""The kind (:func:`kind_of`) of a group outside of virtual clusters; one inside is a ``group``."""
_BROKER = re.compile(r"broker/[0-9]{1,10}")
_RESERVED = re.compile(r"[%/@,=\x00-\x1f\x7f-\x9f]+")


def is_address(text: str) -> bool:
    """True if ``text`` is the address of an object that a plan can show."""
    return DECLARABLE.fullmatch(text) is not None or _BROKER.fullmatch(text) is not None


def encode(part: str) -> str:
    """Percent-encode the separators of parts, and control characters, as UTF-8 bytes."""
    return _RESERVED.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), part)


def topic_address(name: str) -> str:
    """``topic/orders``."""
    return f"topic/{encode(name)}"


def virtual_cluster_address(name: str) -> str:
    """``vc/emea.sales``."""
    return f"vc/{encode(name)}"


def local_topic_address(local: LocalName) -> str:
    """``vc/emea.sales/topic/Orders``: a topic created in a virtual cluster, with its link."""
    return f"{virtual_cluster_address(local.virtual_cluster)}/topic/{encode(local.name)}"


def member_address(virtual_cluster: str, entity_type: EntityType, name: str) -> str:
    """``vc/emea.sales/user/User:jane``; likewise with client, group, txn and link."""
    return f"{virtual_cluster_address(virtual_cluster)}/{_SEGMENTS[entity_type]}/{encode(name)}"


def acl_address(acl: AclBinding) -> str:
    """``acl/User:billing/Allow/Read/topic/literal/orders@*``.

    In a virtual cluster ``vc/emea.sales/acl/…``, in those of a prefix ``vc/prefixed:emea./acl/…``.
    """
    tail = (
        f"acl/{encode(acl.principal)}/{acl.permission_type}/{acl.operation}"
        f"/{acl.resource_type}/{acl.pattern_type}/{encode(acl.resource_name)}@{encode(acl.host)}"
    )
    if not acl.scoped:
        return tail
    prefixed = acl.virtual_cluster_pattern_type is PatternType.PREFIXED
    return f"vc/{_PREFIXED if prefixed else ''}{encode(acl.virtual_cluster)}/{tail}"


def quota_address(entity: ClientQuotaEntity) -> str:
    """``quota/user=billing,client-id=<default>``.

    In a virtual cluster ``vc/emea.sales/quota/user=…``; its cap is ``quota/virtual-cluster=…``.
    """
    scope = ""
    if len(entity) > 1 and entity[0][0] == VIRTUAL_CLUSTER:
        name, entity = entity[0][1], entity[1:]
        scope = f"{virtual_cluster_address('<default>' if name is None else name)}/"
    parts = (f"{kind}={'<default>' if name is None else _literal(name)}" for kind, name in entity)
    return f"{scope}quota/{','.join(parts)}"


def user_address(name: str) -> str:
    """``user/sales-app``: the credentials of a user, also where a virtual cluster has the user.

    Users are known to the whole cluster (VC-160c); that one is a member of a virtual cluster is
    another object, ``vc/emea.sales/user/User:sales-app``.
    """
    return f"user/{encode(name)}"


def group_address(name: str) -> str:
    """``group/billing``: a consumer group outside of virtual clusters."""
    return f"{_GROUP}/{encode(name)}"


def client_metrics_address(name: str) -> str:
    """``client-metrics/lag``: a subscription to the metrics of clients (KIP-714)."""
    return f"client-metrics/{encode(name)}"


def broker_config_address(name: str) -> str:
    """``broker-config/1``: the configs that documents declare of a broker, or of all brokers."""
    return f"broker-config/{encode(name)}"


def config_resource_address(kind: ConfigResourceType, name: str) -> str:
    """The address of a group, of client metrics or of the configs of brokers."""
    match kind:
        case ConfigResourceType.GROUP:
            return group_address(name)
        case ConfigResourceType.CLIENT_METRICS:
            return client_metrics_address(name)
        case ConfigResourceType.BROKER:
            return broker_config_address(name)


def broker_address(broker: int) -> str:
    """``broker/1``: the throttles that accompany moves, which no document declares."""
    return f"broker/{broker}"


def _literal(name: str) -> str:
    # A client id that is spelt "<default>" must not read as the default entity (VC-422).
    return "%3Cdefault%3E" if name == "<default>" else encode(name)


class ScopedAddress(Struct, frozen=True, kw_only=True):
    """The parts of an address inside a virtual cluster; ``tail`` is still encoded."""

    virtual_cluster: str
    prefixed: bool
    segment: str
    tail: str


def split_scoped_address(address: str) -> ScopedAddress | None:
    """The parts of ``vc/emea.sales/topic/Orders``; None for other addresses, including ``vc/x``."""
    if not address.startswith(_SCOPED):
        return None
    scope, slash, below = address.removeprefix(_SCOPED).partition("/")
    if not slash:
        return None
    segment, _, tail = below.partition("/")
    return ScopedAddress(
        virtual_cluster=unquote(scope.removeprefix(_PREFIXED)),
        prefixed=scope.startswith(_PREFIXED),
        segment=segment,
        tail=tail,
    )


def kind_of(address: str) -> str:
    """``topic``, ``acl``, ``quota``, ``broker``, ``vc``, or a segment inside a virtual cluster.

    The credentials of a user are ``credentials``: ``user`` is a member of a virtual cluster.
    A group outside of virtual clusters is a ``consumer-group``.
    """
    parts = split_scoped_address(address)
    if parts:
        return parts.segment
    kind = address.partition("/")[0]
    if kind == "user":
        return CREDENTIALS
    return GLOBAL_GROUP if kind == _GROUP else kind
