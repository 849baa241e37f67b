"""Follows a client's login, which only the broker decides, to know whose connection it is."""

from kgitops.gateway.connections.login_names import (
    MECHANISMS,
    OAUTHBEARER,
    PLAIN,
    UnreadableLoginError,
    user_name,
)
from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.wire import messages
from kgitops.wire.apis import apis
from kgitops.wire.codec import read_part, write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import read_message, read_request, response_tags

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
BEFORE_LOGIN = frozenset({SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE})
ANONYMOUS = "User:ANONYMOUS"
_UNSUPPORTED_MECHANISM = 33


class LoginFollower:
    """The login of one connection; ``principal`` is None until the broker has let the user in.

    Logging in again (KIP-368) has to be as the same user.
    """

    __slots__ = ("_awaiting", "_claim", "_mechanism", "_user", "principal")

    def __init__(self, *, sasl: bool, claim: str = "sub") -> None:
        self.principal: str | None = None if sasl else ANONYMOUS
        self._claim = claim
        self._mechanism: str | None = None
        self._user: str | None = None
        self._awaiting = False

    def check(self) -> None:
        """The broker decides whom it lets in."""

    def request(self, frame: bytearray, key: int) -> bytes | None:
        """Take a request on its way to the broker; an answer of the gateway's own, if it has one.

        Raises:
            RefusedError: it is not one that may come now, or it does not tell who logs in.
        """
        if self.principal is None and key not in BEFORE_LOGIN:
            raise RefusedError(RefusalReason.LOGIN, "it did not log in before its first request")
        if key not in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
            return None
        if self._awaiting:
            raise RefusedError(RefusalReason.LOGIN, "it did not wait for the answer to its login")
        try:
            request = read_request(bytes(frame))
            message = read_message(request)
        except MalformedError as error:
            raise RefusedError(RefusalReason.MALFORMED, str(error)) from None
        if key == SASL_HANDSHAKE:
            answer = self._handshake(request.version, request.correlation_id, message.mechanism)
            self._awaiting = answer is None
            return answer
        self._authenticate(message.auth_bytes)
        self._awaiting = True
        return None

    def response(self, frame: bytearray, key: int, version: int) -> None:
        """Take the broker's response to a request of the login.

        Raises:
            RefusedError: the broker's response can't be read, or the user is another one now.
        """
        if key not in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
            return
        self._awaiting = False
        api = apis()[key]
        try:
            kind = messages.message_class(api.response)
            message, _ = read_part(kind, version, bytes(frame), 4 + response_tags(api, version))
        except MalformedError as error:
            raise RefusedError(RefusalReason.MALFORMED, str(error)) from None
        if message.error_code:
            self._mechanism = self._user = None
            return
        if key == SASL_AUTHENTICATE and self._is_last(message.auth_bytes):
            self._let_in()

    def _handshake(self, version: int, correlation_id: int, mechanism: str) -> bytes | None:
        if version == 0:
            raise RefusedError(
                RefusalReason.LOGIN,
                "it logs in by SaslHandshake 0, whose messages have no header; use a newer client",
            )
        if mechanism not in MECHANISMS:
            answer = messages.SaslHandshakeResponse(
                error_code=_UNSUPPORTED_MECHANISM, mechanisms=list(MECHANISMS)
            )
            return bytes(correlation_id.to_bytes(4, "big", signed=True) + write(answer, version))
        self._mechanism, self._user = mechanism, None
        return None

    def _authenticate(self, message: bytes) -> None:
        if self._mechanism is None:
            raise RefusedError(RefusalReason.LOGIN, "it sent SaslAuthenticate without a mechanism")
        if self._user is not None:
            return  # the second message of SCRAM, or what acknowledges a refused token
        try:
            self._user = user_name(self._mechanism, message, claim=self._claim)
        except UnreadableLoginError as error:
            raise RefusedError(RefusalReason.LOGIN, f"its login can't be read: {error}") from None

    def _is_last(self, message: bytes) -> bool:
        """True if the broker has let the user in, and not only asked for more."""
        if self._mechanism == PLAIN:
            return True
        if self._mechanism == OAUTHBEARER:
            return not message  # a refused token is answered by a reason, without an error
        return message.startswith(b"v=")

    def _let_in(self) -> None:
        principal = f"User:{self._user}"
        if self.principal is not None and principal != self.principal:
            raise RefusedError(RefusalReason.LOGIN, "it logged in again as another user")
        self.principal = principal
        self._mechanism = self._user = None
