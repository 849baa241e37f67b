"""Principals as the bytes that an Envelope carries (KIP-590's KafkaPrincipalSerde)."""

from typing import Protocol

from kgitops.wire import messages
from kgitops.wire.codec import read, write
from kgitops.wire.errors import MalformedError

_VERSION_BYTES = 2
_VERSION = 0


class PrincipalSerde(Protocol):
    """Writes principals as bytes and reads them again; the same on all nodes."""

    def serialize(self, principal: str) -> bytes:
        """The bytes of a principal, ``User:alice`` say."""
        ...

    def deserialize(self, data: bytes) -> str:
        """The principal that was written.

        Raises:
            MalformedError: the bytes are something else.
        """
        ...


class DefaultPrincipalSerde:
    """Kafka's own: the version in two bytes, then type, name, and how the client has logged in."""

    def serialize(self, principal: str) -> bytes:
        """A version, and DefaultPrincipalData."""
        kind, _, name = principal.partition(":")
        data = messages.DefaultPrincipalData(type=kind, name=name)
        return _VERSION.to_bytes(_VERSION_BYTES, "big", signed=True) + write(data, _VERSION)

    def deserialize(self, data: bytes) -> str:
        """Type and name; delegation tokens, which the rest would be about, do not exist here.

        Raises:
            MalformedError: the bytes are something else.
        """
        if len(data) < _VERSION_BYTES:
            raise MalformedError(f"a principal of {len(data)} bytes has no version")
        version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
        found = read(messages.DefaultPrincipalData, version, data, _VERSION_BYTES)
        return f"{found.type}:{found.name}"
