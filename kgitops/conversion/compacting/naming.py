"""Names for profiles, made of what sets them apart: ``compacted``, ``deleted-for-7d``."""

from collections.abc import Iterable

from kgitops.conversion.compacting.items import NAMING, SIZE, Item

_CLEANUP = {
    "compact": "compacted",
    "delete": "deleted",
    "compact,delete": "compacted-and-deleted",
    "delete,compact": "compacted-and-deleted",
}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_BYTES = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def profile_names(profiles: Iterable[Iterable[Item]]) -> list[str]:
    """A name for each profile, none twice."""
    names: list[str] = []
    for items in profiles:
        values = dict(items)
        name = "-".join(_parts(values)) or "standard"
        for part in _further_parts(values):
            if name not in names:
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
    if SIZE in items and len(items) == 1:
        yield f"{items[SIZE]}-replicas"
    cleanup = items.get("configs.cleanup.policy")
    if cleanup is not None:
        yield _CLEANUP.get(cleanup, "cleanup")
    if items.get("configs.remote.storage.enable") == "true":
        yield "tiered"
    retention = items.get("configs.retention.ms")
    if retention is not None:
        yield f"for-{_quantity(retention, _UNITS)}" if retention != "-1" else "for-ever"
    size = items.get("configs.retention.bytes")
    if size is not None and size != "-1":
        yield f"up-to-{_quantity(size, _BYTES)}"
    if not NAMING.intersection(items) and "configs.compression.type" in items:
        yield items["configs.compression.type"]


def _further_parts(items: dict[str, str]) -> Iterable[str]:
    """Words that tell profiles apart which are alike in the most telling ones."""
    local = items.get("configs.local.retention.ms")
    if local is not None and int(local) > 0:
        yield f"local-{_quantity(local, _UNITS)}"
    largest = items.get("configs.max.message.bytes")
    if largest is not None:
        yield f"messages-{_quantity(largest, _BYTES)}"
    if "configs.compression.type" in items:
        yield items["configs.compression.type"]


def _quantity(text: str, units: tuple[tuple[int, str], ...]) -> str:
    """``604800000`` as ``7d``."""
    number = int(text)
    for size, unit in units:
        if number and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)
