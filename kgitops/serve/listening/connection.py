"""A connection of a client, as the listener knows it."""

from msgspec import Struct

from kgitops.serve.nodes import Node

ANONYMOUS = "User:ANONYMOUS"


class ClientConnection(Struct, kw_only=True, eq=False):
    """A client's connection; logging in changes who the client is."""

    node: Node
    host: str
    principal: str | None = ANONYMOUS
    """None until the client has logged in, at a listener that asks for that."""
    software: tuple[str, str] | None = None
    """Name and version of the client's library, if it told them (KIP-511)."""
    shook_hands: bool = False
    """A broker has chosen how to log in at a controller."""
