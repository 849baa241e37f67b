"""Kafka's spelling of a UUID: URL-safe base64 without padding."""

import base64
import uuid


def to_text(value: uuid.UUID) -> str:
    """``oNvK2JsTRFa…``, as kafka-topics prints it."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def from_text(text: str) -> uuid.UUID:
    """The UUID that Kafka spells so."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
