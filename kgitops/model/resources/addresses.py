"""Addresses of objects, as in targets, tombstones, waivers and reports, and as people read them."""

import re
from functools import lru_cache
from urllib.parse import unquote

from msgspec import Struct

from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import FORMS, RESOURCES, UNSCOPED, AddressForm, is_declarable
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.resources.virtual_clusters import EntityType, LocalName

_SCOPED = "vc/"
_PREFIXED = "prefixed:"
_SEGMENTS = {
    EntityType.TOPIC: "link",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "txn",
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client",
}
_BROKER = re.compile(r"broker/[0-9]{1,10}")
_RESERVED = re.compile(r"[%/@,=\x00-\x1f\x7f-\x9f]+")
_ACL_PARTS = 6
_PLAIN = re.compile(r'[^\s"\\(){}]+')
_NOUNS = {(form.scoped, form.segment): form.noun for form in FORMS}


def is_address(text: str) -> bool:
    """True if ``text`` is the address of an object that a plan can show."""
    return is_declarable(text) or _BROKER.fullmatch(text) is not None


def encode(part: str) -> str:
    """Percent-encode the separators of parts, and control characters, as UTF-8 bytes."""
    return _RESERVED.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), part)


def named_address(form: AddressForm, name: str, virtual_cluster: str | None = None) -> str:
    """The address of this form; one that is scoped has a virtual cluster."""
    scope = "" if virtual_cluster is None else f"{virtual_cluster_address(virtual_cluster)}/"
    return f"{scope}{form.segment}/{encode(name)}"


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


def config_resource_address(kind: ConfigResourceType, name: str) -> str:
    """``group/billing``, ``client-metrics/lag``, ``broker-config/1``."""
    return named_address(RESOURCES[kind], name)


def group_address(name: str) -> str:
    """``group/billing``: a consumer group outside of virtual clusters."""
    return config_resource_address(ConfigResourceType.GROUP, name)


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
    return UNSCOPED.get(kind, kind)


class ObjectName(Struct, frozen=True):
    """``kind`` is a word, ``name`` what tells objects of the kind apart."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@lru_cache(maxsize=65_536)
def object_name(address: str) -> ObjectName:
    """The name behind an address, in full; the address itself where it is of no known form."""
    found = split_scoped_address(address)
    scope = ""
    if found is not None:
        scope = "*" if found.virtual_cluster == "*" else _shown(found.virtual_cluster)
        scope = f"{scope}*/" if found.prefixed else f"{scope}/"
    segment, _, rest = address.partition("/")
    if found is not None:
        segment, rest = found.segment, found.tail
    noun = _NOUNS.get((found is not None, segment))
    if noun is None or not rest:
        return ObjectName("object", _shown(address))
    match segment:
        case "acl":
            return _acl(address, rest, scope)
        case "quota":
            of = f"virtual-cluster={scope[:-1]}, " if scope else ""
            return ObjectName(noun, f"{of}{_entities(rest)}")
        case _:
            return ObjectName(noun, f"{scope}{_shown(unquote(rest))}")


def _acl(address: str, rest: str, scope: str) -> ObjectName:
    parts = rest.split("/")
    if len(parts) != _ACL_PARTS:
        return ObjectName("object", _shown(address))
    principal, permission, operation, resource_type, pattern, last = parts
    name, _, host = last.partition("@")
    where = "" if host == "*" else f" from {_shown(unquote(host))}"
    resource = f"{resource_type} {scope}{_shown(unquote(name))} ({pattern})"
    return ObjectName(
        "acl", f"{_shown(unquote(principal))} {permission} {operation} {resource}{where}"
    )


def _entities(rest: str) -> str:
    parts = (part.partition("=") for part in rest.split(","))
    return ", ".join(f"{entity}={_entity(name)}" for entity, _, name in parts)


def _entity(name: str) -> str:
    return name if name == "<default>" else _shown(unquote(name))


def _shown(name: str) -> str:
    """Quoted where blanks or brackets could be read as part of the sentence around it."""
    if _PLAIN.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
