"""The result of each item of an answer, of any API: for the audit log, and to see a 41 in it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from kgitops.model.results import ErrorCode
from kgitops.wire.messages import Message

_NAMES = ("name", "topic", "topic_name", "resource_name", "user", "feature")
_NUMBERS = ("partition_index", "partition_id")


def item_results(response: Message) -> Iterator[tuple[str, int]]:
    """The name of each item in an answer with its error code, in order.

    An error of the whole answer has no name. Items without names have their number, ACLs do.
    """
    yield from _of_struct(response, "")


def has_code(response: Message, code: ErrorCode) -> bool:
    """Tell if the answer has the error, for itself or for an item."""
    return any(found == code for _, found in item_results(response))


def _of_struct(value: Any, label: str) -> Iterator[tuple[str, int]]:  # noqa: ANN401 (of any class)
    fields = value.__struct_fields__
    if "error_code" in fields and (label or value.error_code):
        yield label, value.error_code
    for field in fields:
        rows = getattr(value, field)
        if isinstance(rows, list) and rows and isinstance(rows[0], msgspec.Struct):
            for index, row in enumerate(rows):
                yield from _of_struct(row, _label(row, label, index))


def _label(row: Any, outer: str, index: int) -> str:  # noqa: ANN401 (of any class)
    name = next((text for key in _NAMES if (text := getattr(row, key, None)) is not None), None)
    if name is None:
        name = next((str(getattr(row, key)) for key in _NUMBERS if hasattr(row, key)), None)
    if name is None and hasattr(row, "entity"):
        name = ",".join(f"{part.entity_type}={part.entity_name}" for part in row.entity)
    if name is None:
        name = str(index)
    return f"{outer}-{name}" if outer else str(name)
