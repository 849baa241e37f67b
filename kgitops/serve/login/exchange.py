"""The exchange of messages by which a SASL mechanism finds out who a client is."""

from collections.abc import Awaitable
from typing import Protocol

from msgspec import Struct


class LoginFailedError(Exception):
    """The client is not let in; the text is the reason for the log, and has no secret.

    ``told`` is what the client may know; None for no more than that it failed.
    """

    def __init__(self, reason: str, *, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class LoginStep(Struct, frozen=True, kw_only=True):
    """The answer to one message of a client; with a ``user`` the exchange has ended."""

    answer: bytes = b""
    user: str | None = None
    expires_ms: int | None = None
    """The end of what the client has shown, in milliseconds since 1970."""


class LoginExchange(Protocol):
    """One client's exchange, in one mechanism."""

    def step(self, message: bytes) -> LoginStep | Awaitable[LoginStep]:
        """Answer the client's next message, now or when something else has been asked.

        Raises:
            LoginFailedError: the client is not let in.
        """
        ...


def saslname(text: str) -> str:
    """A user's name as GS2 headers and SCRAM write it (RFC 5802 §5.1).

    Raises:
        LoginFailedError: it has an escape that there is not.
    """
    plain = text.replace("=2C", ",").replace("=3D", "\0")
    if "=" in plain:
        raise LoginFailedError("a name in it is not valid")
    return plain.replace("\0", "=")
