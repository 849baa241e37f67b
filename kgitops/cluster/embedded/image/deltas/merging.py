"""How what changed is laid over what was."""

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def with_value(mapping: Mapping[str, T], key: str, value: T | None) -> dict[str, T]:
    """A copy with the value under the key; None removes the key."""
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def merged(old: Mapping[K, T], changed: Mapping[K, T | None]) -> Mapping[K, T]:
    """The old ones overlaid by what changed; None removes a key."""
    result = dict(old)
    for key, value in changed.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result
