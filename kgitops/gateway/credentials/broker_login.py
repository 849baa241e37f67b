"""The gateway's login by SASL at a broker on behalf of a client: frames out, frames in."""

import hashlib

from kafka.net.sasl.scram import ScramClient

from kgitops.gateway.credentials.credential import SaslUser
from kgitops.wire import messages
from kgitops.wire.apis import apis
from kgitops.wire.codec import read_part
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import SIZE_BYTES, request_frame, response_tags
from kgitops.wire.messages import Message

_HANDSHAKE, _AUTHENTICATE = 17, 36
_VERSION = 1
"""Of both; SaslAuthenticate 1 tells how long the login lasts."""
_CORRELATION_BYTES = 4
_CLIENT_ID = "kgitops-gateway"
_PLAIN = "PLAIN"


class BrokerLoginError(Exception):
    """The broker does not let the user in; the text is the end of a sentence."""


class BrokerLogin:
    """One login, of which each frame waits for the answer to the one before."""

    def __init__(self, user: SaslUser) -> None:
        self._user = user
        self._scram = None if user.mechanism == _PLAIN else _Scram(user)
        self._sent = 0
        self._key = _HANDSHAKE
        self._waiting: list[bytes] = []
        self.lifetime_s = 0.0
        """The time after which the broker wants another login; 0: any."""

    def first(self) -> bytes:
        """The first frame, without its length."""
        return self._frame(messages.SaslHandshakeRequest(mechanism=self._user.mechanism))

    def next(self, answer: bytes) -> bytes | None:
        """The frame after a broker's answer; None once the user is in.

        Raises:
            BrokerLoginError: the user is refused, or the answer can't be understood.
        """
        response = self._read(answer)
        if response.error_code:
            raise BrokerLoginError(self._refusal(response))
        if self._key == _HANDSHAKE:
            self._key = _AUTHENTICATE
            return self._authenticate(self._first_token())
        token = bytes(response.auth_bytes)
        try:
            more = None if self._scram is None else self._scram.answer(token)
        except (ValueError, KeyError) as error:
            raise BrokerLoginError(f"the broker's part of SCRAM is wrong ({error})") from None
        if more is not None:
            return self._authenticate(more)
        self.lifetime_s = response.session_lifetime_ms / 1000
        return None

    def _first_token(self) -> bytes:
        user = self._user
        if self._scram is not None:
            return bytes(self._scram.first_message())
        return f"\0{user.name}\0{user.password}".encode()

    def _authenticate(self, token: bytes) -> bytes:
        return self._frame(messages.SaslAuthenticateRequest(auth_bytes=token))

    def _frame(self, message: Message) -> bytes:
        self._sent += 1
        frame = request_frame(apis()[self._key], _VERSION, self._sent, _CLIENT_ID, message)
        return frame[SIZE_BYTES:]

    def _read(self, answer: bytes) -> Message:
        api = apis()[self._key]
        if int.from_bytes(answer[:_CORRELATION_BYTES], "big") != self._sent:
            raise BrokerLoginError("the broker sent a response that matches no request")
        body = _CORRELATION_BYTES + response_tags(api, _VERSION)
        try:
            return read_part(messages.message_class(api.response), _VERSION, answer, body)[0]
        except MalformedError as error:
            raise BrokerLoginError(f"the broker's answer is malformed: {error}") from None

    def _refusal(self, response: Message) -> str:
        if self._key == _HANDSHAKE:
            known = ", ".join(response.mechanisms)
            return f"the broker does not take {self._user.mechanism}, but {known}"
        reason = response.error_message or f"error {response.error_code}"
        return f"the broker refuses it: {reason}"


class _Scram(ScramClient):  # type: ignore[misc]  # kafka-python has no types
    """SCRAM that derives a password once for each salt, since every connection logs in."""

    def __init__(self, user: SaslUser) -> None:
        super().__init__(user.name, user.password, user.mechanism)
        self._salted = user.salted
        self._challenged = False

    def answer(self, token: bytes) -> bytes | None:
        """The message after the broker's; None at the end.

        Raises:
            ValueError: the broker does not know the password.
            KeyError: its message lacks something.
        """
        if self._challenged:
            self.process_server_final_message(token)
            return None
        self._challenged = True
        self.process_server_first_message(token)
        return bytes(self.final_message())

    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        """Derive the password, or take what was derived before."""
        found = self._salted.get((salt, iterations))
        if found is None:
            found = hashlib.pbkdf2_hmac(self.hashname, self.password, salt, iterations)
            self._salted.clear()
            self._salted[salt, iterations] = found
        self.salted_password = found
