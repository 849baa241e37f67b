"""Logging in over Kafka's protocol: SaslHandshake, SaslAuthenticate, and sessions (KIP-368).

States, answers and messages are those of Kafka's SaslServerAuthenticator.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from enum import Enum, auto

from kgitops.cluster.embedded.options import BROKER_PRINCIPAL
from kgitops.model.results import ErrorCode
from kgitops.serve.listening.answering import ClientConnection, CloseConnectionError
from kgitops.serve.login.exchange import LoginExchange, LoginFailedError, LoginStep
from kgitops.serve.login.mechanisms import LoginMechanisms
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import RequestFrame, read_message, read_request, response_frame, with_size
from kgitops.wire.messages import Message

_VERSIONS, _HANDSHAKE, _AUTHENTICATE = "ApiVersions", "SaslHandshake", "SaslAuthenticate"
_REAUTHENTICATION_SECONDS = 1.0
"""A client may log in again no more often."""
_LONGEST_SECONDS = 5.0
_MOST_HOSTS = 1000


class FailedLogins:
    """The time until which each host has to wait for its next refusal.

    However many connections a host opens, it gets one refusal a delay.
    """

    def __init__(self, delay_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay_ms / 1000
        self._clock = clock
        self._until: dict[str, float] = {}

    def wait_seconds(self, host: str) -> float:
        """The time to wait before the host is told of one more failure."""
        now = self._clock()
        # Put last, the host that failed least recently is forgotten first.
        until = max(now, self._until.pop(host, now)) + self._delay
        until = min(until, now + _LONGEST_SECONDS)
        if len(self._until) >= _MOST_HOSTS:
            del self._until[next(iter(self._until))]
        self._until[host] = until
        return until - now


class _State(Enum):
    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    MESSAGES = auto()
    COMPLETE = auto()


class SaslLogin:
    """The login of one connection, and the time until which it lasts."""

    def __init__(
        self,
        mechanisms: LoginMechanisms,
        failures: FailedLogins,
        connection: ClientConnection,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._mechanisms = mechanisms
        self._failures = failures
        self._connection = connection
        self._clock = clock
        self._state = _State.VERSIONS_OR_HANDSHAKE
        self._mechanism = self._previous = ""
        self._bare = False
        """True if the mechanism's messages have no headers (SaslHandshake version 0)."""
        self._exchange: LoginExchange | None = None
        self._ends: float | None = None
        self._began_again = float("-inf")

    def takes(self, data: bytes) -> bool:
        """Return whether a request is part of a login, or must not be answered before one.

        Raises:
            CloseConnectionError: the session has ended.
        """
        key = int.from_bytes(data[:2], "big", signed=True)
        if self._state is _State.COMPLETE:
            if self._ends is None:
                return False
            if key == keys()[_HANDSHAKE]:
                return self._begins_again()
            if self._clock() >= self._ends:
                raise CloseConnectionError("its session has ended, and it did not log in again")
            return False
        if self._state is _State.MESSAGES or key != keys()[_VERSIONS]:
            return True
        if self._state is not _State.VERSIONS_OR_HANDSHAKE:
            raise CloseConnectionError("it asked for the versions again while logging in")
        if int.from_bytes(data[2:4], "big", signed=True) in apis()[key].readable:
            self._state = _State.HANDSHAKE
        # Else it is newer than this, and asks again in an older version (KIP-511).
        return False

    def answer(self, data: bytes) -> "bytes | asyncio.Future[bytes] | asyncio.Task[bytes]":
        """Answer a request that is taken.

        Raises:
            CloseConnectionError: the client is not let in.
            MalformedError: it is not a request.
        """
        if self._state is _State.MESSAGES:
            return asyncio.ensure_future(self._answer_message(data))
        frame = read_request(data)
        if frame.api.name != _HANDSHAKE:
            raise CloseConnectionError(
                f"unexpected Kafka request of type {frame.api.name} during SASL handshake"
            )
        request = read_message(frame)
        return self._answer_handshake(frame, request.mechanism)

    def _begins_again(self) -> bool:
        """Begin a login of a client that is logged in; False if it did so a moment ago."""
        now = self._clock()
        if now - self._began_again < _REAUTHENTICATION_SECONDS:
            return False
        self._began_again = now
        self._previous = self._mechanism
        self._state = _State.HANDSHAKE
        return True

    def _answer_handshake(self, frame: RequestFrame, mechanism: str) -> bytes:
        enabled = list(self._mechanisms.settings.mechanisms)
        response = messages.SaslHandshakeResponse
        if mechanism not in enabled:
            answer = response(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            raise CloseConnectionError(
                f"it logs in by {mechanism!r}, enabled are {', '.join(enabled)}",
                answer=_framed(frame, answer),
            )
        self._mechanism = mechanism
        self._bare = frame.version == 0
        self._exchange = self._mechanisms.begin(mechanism)
        self._state = _State.MESSAGES
        return _framed(frame, response(mechanisms=enabled))

    async def _answer_message(self, data: bytes) -> bytes:
        """Hand a message to the mechanism, with or without Kafka's header."""
        if self._bare:
            try:
                return with_size((await self._step(data)).answer)
            except LoginFailedError as error:
                raise await self._closing(error, None) from None
        frame = read_request(data)
        if frame.api.name != _AUTHENTICATE:
            refusal = messages.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
            raise CloseConnectionError(
                f"unexpected Kafka request of type {frame.api.name} during SASL authentication",
                answer=_framed(frame, refusal) if frame.api.name == _HANDSHAKE else b"",
            )
        request = read_message(frame)
        try:
            step = await self._step(request.auth_bytes)
        except LoginFailedError as error:
            raise await self._closing(error, frame) from None
        answer = messages.SaslAuthenticateResponse(auth_bytes=step.answer)
        if step.user is not None:
            answer.session_lifetime_ms = self._lifetime_ms(step)
        return _framed(frame, answer)

    async def _step(self, message: bytes) -> LoginStep:
        if self._previous and self._mechanism != self._previous:
            told = (
                f"SASL mechanism '{self._mechanism}' requested by client is not supported for "
                f"re-authentication of mechanism '{self._previous}'"
            )
            raise LoginFailedError(told, told=told)
        if self._exchange is None:
            raise MalformedError("a message of a login that has not begun")
        found = self._exchange.step(message)
        step = await found if inspect.isawaitable(found) else found
        if step.user is not None:
            self._let_in(f"User:{step.user}")
            if self._bare:
                self._lifetime_ms(step)
        return step

    def _let_in(self, principal: str) -> None:
        before = self._connection.principal
        if before is not None and before != principal:
            told = (
                "Cannot change principals during re-authentication from "
                f"{before.replace(':', '.', 1)}: {principal.replace(':', '.', 1)}"
            )
            raise LoginFailedError(told, told=told)
        if principal == BROKER_PRINCIPAL:
            raise LoginFailedError(f"{principal} is the principal of the brokers themselves")
        self._connection.principal = principal
        self._state = _State.COMPLETE
        self._exchange = None

    def _lifetime_ms(self, step: LoginStep) -> int:
        """The milliseconds that the client has until it must log in again; 0 for no end."""
        now_ms = int(self._clock() * 1000)
        limits = [
            milliseconds
            for milliseconds in (
                None if step.expires_ms is None else max(step.expires_ms - now_ms, 0),
                self._mechanisms.settings.max_reauth_ms.get(self._mechanism),
            )
            if milliseconds is not None
        ]
        self._ends = self._clock() + min(limits) / 1000 if limits else None
        return min(limits, default=0)

    async def _closing(
        self, error: LoginFailedError, frame: RequestFrame | None
    ) -> CloseConnectionError:
        """The end of a connection whose login failed, some time after that."""
        await asyncio.sleep(self._failures.wait_seconds(self._connection.host))
        again = "re-authentication" if self._connection.principal else "authentication"
        told = error.told or (
            f"Authentication failed during {again} due to invalid credentials with SASL "
            f"mechanism {self._mechanism}"
        )
        answer = messages.SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told
        )
        return CloseConnectionError(
            f"its login by {self._mechanism} failed: {error}",
            answer=b"" if frame is None else _framed(frame, answer),
        )


def _framed(frame: RequestFrame, response: Message) -> bytes:
    body = write(response, frame.version)
    return response_frame(frame.api, frame.version, frame.correlation_id, body)
