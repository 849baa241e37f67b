"""Brokers log in at controllers: PLAIN with a secret that exists in this process alone."""

import secrets

from kgitops.cluster.embedded.options import BROKER_PRINCIPAL
from kgitops.model.results import ErrorCode
from kgitops.serve.listening.answering import ClientConnection, CloseConnectionError
from kgitops.wire import messages
from kgitops.wire.messages import Message

MECHANISM = "PLAIN"
USER = BROKER_PRINCIPAL.partition(":")[2]
LOGIN_APIS = frozenset({"SaslHandshake", "SaslAuthenticate"})
_UNSUPPORTED_MECHANISM, _FAILED = 33, 58


def make_secret() -> str:
    """A password for the brokers of this process."""
    return secrets.token_urlsafe()


def plain_bytes(user: str, password: str) -> bytes:
    """The one message of the mechanism PLAIN."""
    return f"\0{user}\0{password}".encode()


def shake_hands(connection: ClientConnection, request: Message) -> Message:
    """Answer SaslHandshake at a controller."""
    known = request.mechanism == MECHANISM
    connection.shook_hands = known
    return messages.SaslHandshakeResponse(
        error_code=ErrorCode.NONE if known else _UNSUPPORTED_MECHANISM, mechanisms=[MECHANISM]
    )


def log_in(connection: ClientConnection, request: Message, secret: str) -> Message:
    """Answer SaslAuthenticate at a controller; the connection is the brokers' after that.

    Raises:
        CloseConnectionError: there was no handshake before.
    """
    if not connection.shook_hands:
        raise CloseConnectionError("it logs in without a handshake")
    connection.shook_hands = False
    if not secrets.compare_digest(bytes(request.auth_bytes), plain_bytes(USER, secret)):
        return messages.SaslAuthenticateResponse(
            error_code=_FAILED, error_message="Authentication failed: Invalid username or password"
        )
    connection.principal = BROKER_PRINCIPAL
    return messages.SaslAuthenticateResponse()
