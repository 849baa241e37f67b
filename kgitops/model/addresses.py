"""Stable addresses of objects, as targets, tombstones, waivers and reports name them."""

import re

from kgitops.model.acls import AclBinding
from kgitops.model.quotas import ClientQuotaEntity

_RESERVED = re.compile(r"[%/@,=\x00-\x1f\x7f-\x9f]")


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
