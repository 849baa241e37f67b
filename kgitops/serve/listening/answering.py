"""A connection of a client, as the listener knows it, and the answers to its frames."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct, field

from kgitops.serve.nodes import Node

Answer = bytes | None
"""A whole frame; None where the client expects no answer (Produce with ``acks=0``)."""
ANONYMOUS = "User:ANONYMOUS"


class LoginHandler(Protocol):
    """The login of one connection; implemented by ``kgitops.serve.login.handshake``."""

    def takes(self, data: bytes) -> bool:
        """Return whether a request is part of a login, or must not be answered before one.

        Raises:
            CloseConnectionError: the session has ended, or no login is possible any more.
        """
        ...

    def answer(self, data: bytes) -> bytes | Awaitable[bytes | None] | None:
        """Answer a request that is taken.

        Raises:
            CloseConnectionError: the client is not let in.
            MalformedError: it is not a request.
        """
        ...


class ClientConnection(Struct, kw_only=True, eq=False):
    """A client's connection; logging in changes who the client is."""

    node: Node
    host: str
    principal: str | None = ANONYMOUS
    """None until the client has logged in, at a listener that asks for that."""
    login: LoginHandler | None = None
    """At a listener with SASL."""
    software: tuple[str, str] | None = None
    """Name and version of the client's library, if it told them (KIP-511)."""
    shook_hands: bool = False
    """A broker has chosen how to log in at a controller."""
    on_close: dict[object, Callable[[], None]] = field(default_factory=dict)
    """Called in the event loop once the connection is closed, each by a key of its owner."""


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
