"""Sixteen bytes for an object as it is declared: equal ones need no second look."""

import hashlib
from collections.abc import Mapping

from kgitops.fleet.tables.schemas import FINGERPRINT_BYTES
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json

_SCHEME = b"kgitops-1"


def fingerprint(identity: str, address: str, declared: Mapping[str, Json]) -> bytes:
    """The fingerprint of what the project ``identity`` declares, or last applied, at ``address``.

    ``declared`` is the registry's normal form (``plan.normal_form.last_applied``).
    """
    return fingerprint_of_text(identity, address, canonical_json(declared))


def fingerprint_of_text(identity: str, address: str, declared: bytes) -> bytes:
    """The same, of canonical JSON."""
    head = f"{identity}\0{address}\0".encode()
    return hashlib.blake2b(head + declared, digest_size=FINGERPRINT_BYTES, person=_SCHEME).digest()


def bucket_of(address: str) -> int:
    """Which of 256 parts of its cluster an address belongs to, on either side."""
    return hashlib.blake2b(address.encode(), digest_size=1).digest()[0]
