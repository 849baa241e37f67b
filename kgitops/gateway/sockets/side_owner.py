"""The connection that sockets belong to: what they tell it, and for which reasons it stops one."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kgitops.gateway.sockets.sides import Side


class Stop:
    """The reasons for which a side is not read, as bits of a number."""

    DIALING = 1
    """Its other side is not there yet."""
    FULL = 2
    """Its other side does not fetch what it was sent."""
    PENDING = 4
    """Enough requests wait for their responses."""
    ENDING = 8
    """The connection ends with the responses under way."""
    UNREAD = 32
    """The client does not fetch its responses, the gateway's own among them."""
    REWRITING = 64
    """A thread changes a long frame."""


class SideOwner(Protocol):
    """The connection that a side is of."""

    def began(self, side: "Side") -> None:
        """The socket is there."""
        ...

    def secured(self, side: "Side") -> None:
        """TLS is there."""
        ...

    def take(self, side: "Side", frame: bytearray) -> None:
        """Take a whole frame."""
        ...

    def full(self, side: "Side") -> None:
        """It takes no more for now."""
        ...

    def free(self, side: "Side") -> None:
        """It takes more again."""
        ...

    def failed(self, side: "Side", error: Exception) -> None:
        """Its bytes are not those of the protocol."""
        ...

    def lost(self, side: "Side") -> None:
        """The socket is gone."""
        ...
