"""Names for profiles, made of what sets them apart: ``compacted``, ``delete-7d``."""

from collections.abc import Iterable

from kgitops.conversion.compacting.items import SIZE, Item

_CLEANUP = {
    "compact": "compacted",
    "delete": "delete",
    "compact,delete": "compacted-and-deleted",
    "delete,compact": "compacted-and-deleted",
}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_BYTES = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def profile_names(profiles: Iterable[Iterable[Item]]) -> list[str]:
    """A name for each profile, none twice."""
    names: list[str] = []
    for items in profiles:
        parts = list(_parts(dict(items)))
        name = parts[0] if parts else "standard"
        for part in parts[1:]:
            if name not in names and len(name) > len("delete"):
                break
            name = f"{name}-{part}"
        number, free = 1, name
        while free in names:
            number += 1
            free = f"{name}-{number}"
        names.append(free)
    return names


def _parts(items: dict[str, str]) -> Iterable[str]:
    """Words for the profile, the most telling first."""
    cleanup = items.get("configs.cleanup.policy")
    if cleanup is not None:
        yield _CLEANUP.get(cleanup, "cleanup")
    if items.get("configs.remote.storage.enable") == "true":
        yield "tiered"
    retention = items.get("configs.retention.ms")
    if retention is not None:
        yield _quantity(retention, _UNITS)
    size = items.get("configs.retention.bytes")
    if size is not None:
        yield _quantity(size, _BYTES)
    compression = items.get("configs.compression.type")
    if compression is not None:
        yield compression
    largest = items.get("configs.max.message.bytes")
    if largest is not None:
        yield f"messages-{_quantity(largest, _BYTES)}"
    if SIZE in items:
        yield f"rf{items[SIZE]}"


def _quantity(text: str, units: tuple[tuple[int, str], ...]) -> str:
    """``604800000`` as ``7d``, ``-1`` as ``unlimited``."""
    number = int(text)
    if number < 0:
        return "unlimited"
    for size, unit in units:
        if number and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)
