"""The audit log: one line of JSON a decided request, at the node that decides (KIP-590).

It has what was asked and by whom, and what became of each item. What requests would change is not
in it: passwords may be among that.
"""

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.printable import printable_json
from kgitops.wire.frames import RequestFrame
from kgitops.wire.messages import Message

LOGGER = logging.getLogger("kgitops.serve.audit")
"""The lines go there, at level INFO."""
_NAMES = ("name", "topic", "topic_name", "resource_name", "user", "feature")
_NUMBERS = ("partition_index", "partition_id")


class AuditLine(Struct, frozen=True, kw_only=True):
    """One decided request; ``results`` are error codes by item, 0 for success."""

    at_ms: int
    principal: str
    host: str
    listener: str
    via: int | None
    """The broker that forwarded the request; null if it came to the controller itself."""
    api: str
    version: int
    client_id: str | None
    software: str | None
    results: list[tuple[str, int]]


def log_decision(
    frame: RequestFrame, client: ForwardedClient, response: Message, *, now_ms: int
) -> None:
    """Write the line of a request."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    line = AuditLine(
        at_ms=now_ms,
        principal=client.principal,
        host=client.host,
        listener=client.listener,
        via=client.via,
        api=frame.api.name,
        version=frame.version,
        client_id=frame.client_id,
        software=" ".join(client.software) if client.software else None,
        results=list(item_results(response)),
    )
    LOGGER.info("%s", printable_json(msgspec.json.encode(line).decode()))


def item_results(response: Message) -> Iterator[tuple[str, int]]:
    """The name of each item in an answer with its error code, in order.

    An error of the whole answer has no name. Items without names have their number, ACLs do.
    """
    yield from _of_struct(response, "")


def has_code(response: Message, code: ErrorCode) -> bool:
    """Return whether the answer has the error, for itself or for an item."""
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
