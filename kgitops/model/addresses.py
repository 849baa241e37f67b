"""Stable addresses of objects, as targets, tombstones, waivers and reports name them."""

import re

from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.quotas import ClientQuotaEntity

_PART = r"(?:[^%/@,=\x00-\x1f\x7f-\x9f]|%[0-9A-F]{2})+"
DECLARED = re.compile(
    rf"topic/(?P<topic>{_PART})"
    rf"|acl/{_PART}/(?:{'|'.join(PermissionType)})/(?:{'|'.join(Operation)})"
    rf"/(?:{'|'.join(ResourceType)})/(?:{'|'.join(PatternType)})/{_PART}@{_PART}"
    rf"|quota/(?:user={_PART}(?:,client-id={_PART})?|client-id={_PART}|ip={_PART})"
)
"""The address of an object that a document can declare."""
_BROKER = re.compile(r"broker/[0-9]{1,10}")
_RESERVED = re.compile(r"[%/@,=\x00-\x1f\x7f-\x9f]")


def is_address(text: str) -> bool:
    """Whether it is the address of an object that a plan can show, outside virtual clusters."""
    return DECLARED.fullmatch(text) is not None or _BROKER.fullmatch(text) is not None


def encode(part: str) -> str:
    """Percent-encode what separates parts, and control characters, as UTF-8 bytes."""
    return _RESERVED.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), part)


def topic_address(name: str) -> str:
    """``topic/orders``."""
    return f"topic/{encode(name)}"


def acl_address(acl: AclBinding) -> str:
    """``acl/User:billing/Allow/Read/topic/literal/orders@*``."""
    return (
        f"acl/{encode(acl.principal)}/{acl.permission_type}/{acl.operation}"
        f"/{acl.resource_type}/{acl.pattern_type}/{encode(acl.resource_name)}@{encode(acl.host)}"
    )


def quota_address(entity: ClientQuotaEntity) -> str:
    """``quota/user=billing,client-id=<default>``."""
    parts = (f"{kind}={'<default>' if name is None else _literal(name)}" for kind, name in entity)
    return f"quota/{','.join(parts)}"


def broker_address(broker: int) -> str:
    """``broker/1``; for what is planned around other changes, nobody declares a broker."""
    return f"broker/{broker}"


def _literal(name: str) -> str:
    # A client id that is spelt "<default>" must not read as the default entity (VC-422).
    return "%3Cdefault%3E" if name == "<default>" else encode(name)
