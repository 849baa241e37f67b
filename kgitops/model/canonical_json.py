"""Canonical JSON (RFC 8785) and its digest: the same value gives the same bytes everywhere."""

import hashlib
import json
import re
from collections.abc import Mapping

import rfc8785

from kgitops.model.registry import Json

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_MAX_SAFE = 2**53 - 1
_AS_IT_IS = frozenset({str, bool, type(None)})


def canonical_json(value: Json) -> bytes:
    """The one spelling of ``value``, which holds text, integers, booleans, None and no fractions.

    Raises:
        ValueError: the value holds a lone surrogate.
    """
    text = _ENCODER.encode(value)
    # RFC 8785 orders keys by UTF-16 units, which differs from code points only beyond the first
    # plane. Everything else comes out the same, ten times faster (a test compares the two).
    astral = not text.isascii() and _ASTRAL.search(text)
    return rfc8785.dumps(value) if astral else text.encode()


def sha256(data: bytes) -> str:
    """``sha256:`` and the digest in hexadecimal."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def plain_json(value: Json) -> Json:
    """A copy of ``value`` in JSON's own types: a mapping becomes a dict, a tuple a list.

    Raises:
        ValueError: it holds what canonical JSON can't carry exactly: a fraction, an integer
            beyond 2^53, or an object of another type.
    """
    if type(value) in _AS_IT_IS or isinstance(value, str):
        return value
    if isinstance(value, int):
        if abs(value) > _MAX_SAFE:
            raise ValueError(f"{value} does not fit a JSON number; write it as text")
        return value
    if isinstance(value, dict | Mapping):
        return {_key(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    raise ValueError(f"{value!r} is a {type(value).__name__}, which JSON can't carry exactly")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not text")  # noqa: TRY004 (one error for any shape)
    return key
