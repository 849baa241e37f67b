"""Answers to whole frames: who gives them, and the forms that they have."""

from collections.abc import Awaitable
from typing import Protocol

from msgspec import Struct

from kgitops.serve.listening.connection import ClientConnection

Answer = bytes | None
"""A whole frame; None where the client expects no answer (Produce with ``acks=0``)."""


class OutOfOrder(Struct, frozen=True):
    """An answer that later requests of the connection don't wait for.

    It is for a client that knows its answers by their correlation ids, as brokers do.
    """

    answer: Awaitable[Answer]


class CloseConnectionError(Exception):
    """The connection is to be closed, after an ``answer``; the text is the reason for the log."""

    def __init__(self, reason: str, *, answer: bytes = b"") -> None:
        super().__init__(reason)
        self.answer = answer


class Answering(Protocol):
    """Answers whole frames."""

    def __call__(
        self, data: bytes, connection: ClientConnection
    ) -> Answer | Awaitable[Answer] | OutOfOrder:
        """Answer a request at once, or later; unless out of order, the next one waits for it.

        Raises:
            CloseConnectionError: it is not to be answered.
            MalformedError: it is not a request.
        """
        ...
