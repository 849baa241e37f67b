"""One connection to one server, made from kafka-python's parts."""

import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from kafka.errors import IncompatibleBrokerVersion, KafkaError
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.metadata import MetadataRequest

import kgitops
from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.configs.oauth import TokenError
from kgitops.cluster.kafka.transport.dialing import dial
from kgitops.cluster.kafka.transport.lease import GuardedSocket, is_over
from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, Stage

Message = Any
"""A message of kafka-python, whose classes are made from Kafka's own schemas as it is imported."""

_LARGEST_ANSWER = 0x1300_0000
"""Bytes. More is taken for what it is: 0x1503…, a TLS alert, or 0x48545450, which spells HTTP."""
_IDLE_S = 240.0
"""Brokers close what is idle for ten minutes, some networks earlier: then it is opened anew."""


class NotSentError(Exception):
    """No byte of the request has left, so it may be sent elsewhere or later."""


class Link:
    """A connection that is ready for requests, and the server it leads to."""

    def __init__(
        self,
        net: NetworkSelector,
        server: Server,
        connection: KafkaConnection,
        sock: GuardedSocket,
    ) -> None:
        self.server = server
        self._net = net
        self._connection = connection
        self._sock = sock

    @property
    def is_good(self) -> bool:
        """Whether a request may go out on it."""
        transport = self._connection.transport
        if not self._connection.connected or transport is None:
            return False
        is_used = bool(self._connection.in_flight_requests)
        return is_used or time.monotonic() - transport.last_activity < _IDLE_S

    def version(self, request: type[Any] | Message) -> int | None:
        """The newest version of the request that both sides know; None where there is none."""
        try:
            return int(self._connection.broker_version_data.api_version(request))
        except IncompatibleBrokerVersion:
            return None

    def post(
        self,
        request: Message,
        deadline: float,
        leaving: Callable[[Message], None],
        until: float | None = None,
    ) -> "Future[Message]":
        """Send a request; ``leaving`` is called just before a byte of it may be on its way.

        The future fails with :class:`NotSentError` where none is: the connection is closed, the
        broker wants no request for a while, or the deadline is past, when whoever asked may have
        given up. No byte leaves after ``until``, in seconds of ``lease.ticks``: what had left by
        then of a longer request is dropped with the connection.
        """
        answer: Future[Message] = Future()
        connection = self._connection

        def begin() -> None:
            left_s = deadline - time.monotonic()
            if not connection.connected or connection.paused or left_s <= 0 or is_over(until):
                answer.set_exception(NotSentError())
                return
            leaving(request)
            if until is not None:
                self._sock.guard(until, answer)
            _bridge(connection.send_request(request, left_s * 1000), answer)

        _on(self._net, begin, answer)
        return answer

    def close(self) -> None:
        """Close it; what is on its way fails."""
        done: Future[object] = Future()
        _on(self._net, self._connection.close, done)
        if done.done() and isinstance(done.exception(), NotSentError):
            self._sock.close()  # kafka-python's thread has ended and can't do it any more


class _LastWords:
    """kafka-python drops what arrives together with the end of a connection.

    A broker that refuses credentials answers and hangs up, so that is where the reason stands.
    """

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        data, error = super()._sock_recv()  # type: ignore[misc]
        return data, None if data else error  # the end is read again, after the data


class _Tcp(_LastWords, KafkaTCPTransport):  # type: ignore[misc]
    pass


class _Tls(_LastWords, KafkaSSLTransport):  # type: ignore[misc]
    """On a socket whose handshake is done."""

    def __init__(self, net: NetworkSelector, sock: object, host: str) -> None:
        KafkaTCPTransport.__init__(self, net, sock, host=host)


def open_link(
    net: NetworkSelector,
    server: Server,
    options: WireOptions,
    deadline: float,
    dialled: Callable[[Link], None],
) -> Link:
    """Connect, agree on versions and authenticate; blocks until ``deadline`` and a bit more.

    ``dialled`` is told of the link as soon as there is one to close.

    Raises:
        ConnectionFailedError: one of the three fails.
    """
    sock = GuardedSocket(dial(server, options, deadline))
    try:
        if tokens := options.get("sasl_oauth_token_provider"):
            tokens.token()  # kept by the provider: nothing may block kafka-python's own thread
    except TokenError as error:
        sock.close()
        raise ConnectionFailedError(server, Stage.HELLO, error) from error
    sock.setblocking(False)
    kind = _Tls if "tls" in options else _Tcp
    transport = kind(net, sock, server.host)
    connection = KafkaConnection(net, node_id=str(server), **_settings(options))
    link = Link(net, server, connection, sock)
    dialled(link)
    ready: Future[object] = Future()

    def begin() -> None:
        connection.connection_made(transport)
        _bridge(connection.init_future, ready)
        net.call_soon(lambda: connection.initialize(timeout_at=deadline))

    _on(net, begin, ready)
    try:
        ready.result(max(0.0, deadline - time.monotonic()) + 1)
    except Exception as error:
        link.close()
        raise ConnectionFailedError(server, Stage.HELLO, error) from error
    if link.version(MetadataRequest) is None:
        link.close()
        raise ConnectionFailedError(server, Stage.HELLO, IncompatibleBrokerVersion())
    return link


def _settings(options: WireOptions) -> dict[str, object]:
    ours = {name: value for name, value in options.items() if name.startswith("sasl_")}
    return ours | {
        "security_protocol": options.get("security_protocol", "PLAINTEXT"),
        "client_id": options.get("client_id", "kgitops"),
        "client_software_name": "kgitops",
        "client_software_version": kgitops.__version__,
        "receive_message_max_bytes": _LARGEST_ANSWER,
        # The wire's `window` bounds them; kafka-python refuses instead of waiting.
        "max_in_flight_requests_per_connection": 1 << 16,
    }


def _on(net: NetworkSelector, work: Callable[[], object], answer: "Future[Any]") -> None:
    """Have kafka-python's thread do it; what goes wrong is the answer."""

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 (it is raised where the answer is read)
            _settle(answer.set_exception, error)

    try:
        net.call_soon_threadsafe(run)
    except (RuntimeError, KafkaError):  # the connections were closed
        _settle(answer.set_exception, NotSentError())


def _bridge(from_kafka: Message, answer: "Future[Any]") -> None:
    from_kafka.add_callback(lambda value: _settle(answer.set_result, value))
    from_kafka.add_errback(lambda error: _settle(answer.set_exception, error))


def _settle(setter: Callable[[Any], None], value: object) -> None:
    with suppress(InvalidStateError):
        setter(value)
