"""The audit log: one line of JSON a decided request, at the node that decides (KIP-590).

It has what was asked and by whom, and what became of each item. What requests would change is not
in it: passwords may be among that.
"""

import logging

import msgspec
from msgspec import Struct

from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.forwarding.items import item_results
from kgitops.serve.printable import printable_json
from kgitops.wire.frames import RequestFrame
from kgitops.wire.messages import Message

LOGGER = logging.getLogger("kgitops.serve.audit")
"""The lines go there, at level INFO."""


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
