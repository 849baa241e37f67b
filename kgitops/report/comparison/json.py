"""A comparison as JSON."""

from kgitops.comparison.comparing import Comparison, ObjectDifference, Presence, ValueDifference
from kgitops.model.registry import Json

KIND, FORMAT_VERSION = "kgitops.diff", "1.0"


def comparison_json(comparison: Comparison) -> Json:
    """Every object that differs; a value that one side lacks has no ``old`` or no ``new``."""
    counts = {presence.value: comparison.count(presence) for presence in Presence}
    return {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "compares": comparison.kind.value,
        "old": comparison.old,
        "new": comparison.new,
        "objects": list(map(_object, comparison.objects)),
        "summary": {**counts, "same": comparison.same},
    }


def _object(item: ObjectDifference) -> Json:
    return {
        "address": item.address,
        "presence": item.presence.value,
        "values": list(map(_value, item.values)),
    }


def _value(value: ValueDifference) -> Json:
    sides = {"old": value.old, "new": value.new}
    return {"path": value.path, **{key: side for key, side in sides.items() if side != ()}}
