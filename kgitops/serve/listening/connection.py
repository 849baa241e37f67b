"""A connection of a client, as the listener knows it."""

from collections.abc import Awaitable
from typing import Protocol

from msgspec import Struct

from kgitops.serve.nodes import Node

ANONYMOUS = "User:ANONYMOUS"


class LoginHandler(Protocol):
    """The login of one connection; implemented by ``kgitops.serve.login.handshake``."""

    def takes(self, data: bytes) -> bool:
        """Tell if a request is part of a login, or must not be answered before one.

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
