"""SaslHandshake and SaslAuthenticate of a client that has no reason to log in.

Logins themselves are answered before requests come here (``kgitops.serve.login``).
"""

from kgitops.model.results import ErrorCode
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message


def sasl_handshake(call: ApiCall, request: Message) -> Message:  # noqa: ARG001 (as its siblings)
    """Refused: the client is logged in, or the listener has no SASL."""
    return messages.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def sasl_authenticate(call: ApiCall, request: Message) -> Message:  # noqa: ARG001 (as its siblings)
    """Refused, too."""
    return messages.SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
