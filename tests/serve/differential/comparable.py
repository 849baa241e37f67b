"""Answers as plain values that two clusters can agree on, and the fields in which they don't."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kgitops.wire.messages import NIL_UUID, Message

Plain = Any
"""A message as mappings, lists and scalars."""
MASKED = frozenset(
    {"throttle_time_ms", "leader_epoch", "cluster_id", "controller_id", "port", "log_dir"}
    | {"total_bytes", "usable_bytes"}
)
"""What a cluster chooses, or its machine, or time."""
IDENTITIES = (
    "name", "topic", "topic_name", "resource_type", "resource_name", "group_id", "user",
    "feature", "principal", "host", "operation", "key", "entity_type", "entity_name", "entity",
    "partition_index", "partition_id", "broker_id", "node_id", "transactional_id",
)  # fmt: skip
"""The fields by which rows are put in an order; those that are alike in them stay as they are."""


class Difference(Struct, frozen=True, order=True):
    """A field that two clusters answer otherwise; values are shown as Python writes them."""

    api: str
    field: str
    served: str
    real: str


def plain(message: Message, topics: Mapping[bytes, str]) -> Plain:
    """A message as plain values: rows in an order, topics' ids as the names that had them."""
    match message:
        case list():
            rows = [plain(item, topics) for item in message]
            return sorted(rows, key=_identity) if rows and isinstance(rows[0], dict) else rows
        case bytes() if len(message) == len(NIL_UUID):
            return "no id" if message == NIL_UUID else f"id of {topics.get(message, 'no topic')}"
        case _ if hasattr(message, "__struct_fields__"):
            return {
                name: plain(getattr(message, name), topics)
                for name in message.__struct_fields__
                if name not in MASKED
            }
        case str():
            return _plain_text(message)
        case _:
            return message


def _plain_text(text: str) -> str:
    """A message without what the Java class of a request prints, and the controller's number."""
    text = re.sub(r"^Request Request\(.*\) needs", "The request needs", text)
    return re.sub(r"Local controller \d+", "Local controller", text)


def differences(api: str, served: Plain, real: Plain, prefix: str) -> Sequence[Difference]:
    """The fields that differ; a program's own prefix is taken out of the values."""
    found = (
        Difference(api, field, _shown(ours, prefix), _shown(theirs, prefix))
        for field, ours, theirs in _pairs("", served, real)
    )
    return sorted(set(found))


def _pairs(field: str, served: Plain, real: Plain) -> Iterator[tuple[str, Plain, Plain]]:
    if isinstance(served, dict) and isinstance(real, dict):
        for name in served:
            inner = f"{field}.{name}" if field else name
            yield from _pairs(inner, served[name], real[name])
    elif _are_rows(served) and _are_rows(real):
        ours, theirs = _by_identity(served), _by_identity(real)
        for identity in {**ours, **theirs}:
            yield from _pairs(field, ours.get(identity, "no row"), theirs.get(identity, "no row"))
    elif served != real:
        yield field, served, real


def _are_rows(value: Plain) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _by_identity(rows: Plain) -> Mapping[tuple[str, int], Plain]:
    """Rows by what they are about, and by which of those about the same they are."""
    found: dict[tuple[str, int], Plain] = {}
    seen: Counter[str] = Counter()
    for row in rows:
        identity = _identity(row)
        found[identity, seen[identity]] = row
        seen[identity] += 1
    return found


def _identity(row: Mapping[str, Plain]) -> str:
    found = [row[name] for name in IDENTITIES if name in row]
    # A topic that has no name in a row is known by its id.
    return repr(found if any(found) else [row.get("topic_id")])


def _shown(value: Plain, prefix: str) -> str:
    return re.sub(r"(x)\1{9,}", "xxx…", repr(value)).replace(prefix, "")
