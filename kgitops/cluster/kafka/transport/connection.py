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
from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.transport.dialing import dial
from kgitops.cluster.kafka.transport.lease import GuardedSocket, is_over
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError, StrictRequest
from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, Stage

Message = Any
"""A kafka-python message; its classes are generated from Kafka's schemas at import time."""

_LARGEST_ANSWER = 0x1300_0000
"""In bytes. A larger length is another protocol: 0x1503… is a TLS alert, 0x48545450 is HTTP."""
_IDLE_S = 240.0
"""Idle time before a connection is reopened; brokers close at ten minutes, networks earlier."""


class NotSentError(Exception):
    """No byte of the request was sent, so it may be sent elsewhere or later."""


class BrokerConnection:
    """A connection to one broker that is ready for requests."""

    def __init__(
        self,
        net: NetworkSelector,
        server: Server,
        kafka_connection: KafkaConnection,
        sock: GuardedSocket,
    ) -> None:
        self.server = server
        self._net = net
        self._kafka_connection = kafka_connection
        self._sock = sock

    @property
    def is_good(self) -> bool:
        """True if a request may be sent on it."""
        transport = self._kafka_connection.transport
        if not self._kafka_connection.connected or transport is None:
            return False
        is_used = bool(self._kafka_connection.in_flight_requests)
        return is_used or time.monotonic() - transport.last_activity < _IDLE_S

    def version(self, request: type[Any] | Message) -> int | None:
        """Return the newest version of the request that both sides know, or None."""
        try:
            return int(self._kafka_connection.broker_version_data.api_version(request))
        except IncompatibleBrokerVersion:
            return None

    def post(
        self,
        request: Message,
        deadline: float,
        on_send: Callable[[Message], None],
        until: float | None = None,
    ) -> "Future[Message]":
        """Send a request; ``on_send`` is called just before its first byte may leave.

        The future fails with :class:`NotSentError` where no byte left: the connection is closed,
        the broker throttles this client, or the deadline has passed, when the caller may have given
        up. It fails with :class:`OddAnswerError` where no broker of Kafka gives such an answer. No
        byte leaves after ``until``, in seconds of ``lease.ticks``: a request that was sent
        in part by then is dropped with the connection.
        """
        answer: Future[Message] = Future()
        kafka_connection = self._kafka_connection

        def begin() -> None:
            left_s = deadline - time.monotonic()
            if (
                not kafka_connection.connected
                or kafka_connection.paused
                or left_s <= 0
                or is_over(until)
            ):
                answer.set_exception(NotSentError())
                return
            on_send(request)
            if until is not None:
                self._sock.guard(until, answer)
            sent = kafka_connection.send_request(StrictRequest(request), left_s * 1000)
            _bridge(sent, answer)

        _run_on(self._net, begin, answer)
        return answer

    def close(self) -> None:
        """Close the connection; requests in flight fail."""
        done: Future[object] = Future()
        _run_on(self._net, self._kafka_connection.close, done)
        if done.done() and isinstance(done.exception(), NotSentError):
            self.close_socket()

    def close_socket(self) -> None:
        """Close the socket, where kafka-python's thread has ended and can no longer do it."""
        self._sock.close()


class _DrainBeforeClose:
    """Delivers the data that arrives together with the end of a connection.

    kafka-python drops it; but a broker that refuses credentials answers and closes, so the reason
    is in that data.
    """

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        data, error = super()._sock_recv()  # type: ignore[misc]
        return data, None if data else error  # the end is read again after the data


class _Tcp(_DrainBeforeClose, KafkaTCPTransport):  # type: ignore[misc]
    pass


class _Tls(_DrainBeforeClose, KafkaSSLTransport):  # type: ignore[misc]
    """TLS transport on a socket whose handshake is complete."""

    def __init__(self, net: NetworkSelector, sock: object, host: str) -> None:
        KafkaTCPTransport.__init__(self, net, sock, host=host)


def open_connection(
    net: NetworkSelector,
    server: Server,
    options: WireOptions,
    deadline: float,
    on_connection: Callable[[BrokerConnection], None],
) -> BrokerConnection:
    """Connect, negotiate versions and authenticate; blocks until ``deadline`` and a little longer.

    ``on_connection`` gets the connection as soon as there is one to close.

    Raises:
        ConnectionFailedError: one of these steps fails.
    """
    sock = GuardedSocket(dial(server, options, deadline))
    try:
        if tokens := options.get("sasl_oauth_token_provider"):
            tokens.token()  # cached by the provider: nothing may block kafka-python's own thread
    except TokenError as error:
        sock.close()
        raise ConnectionFailedError(server, Stage.HELLO, error) from error
    sock.setblocking(False)
    kind = _Tls if "tls" in options else _Tcp
    transport = kind(net, sock, server.host)
    kafka_connection = KafkaConnection(net, node_id=str(server), **_settings(options))
    connection = BrokerConnection(net, server, kafka_connection, sock)
    on_connection(connection)
    ready: Future[object] = Future()

    def begin() -> None:
        kafka_connection.connection_made(transport)
        _bridge(kafka_connection.init_future, ready)
        net.call_soon(lambda: kafka_connection.initialize(timeout_at=deadline))

    _run_on(net, begin, ready)
    try:
        ready.result(max(0.0, deadline - time.monotonic()) + 1)
    except Exception as error:
        connection.close()
        raise ConnectionFailedError(server, Stage.HELLO, error) from error
    if connection.version(MetadataRequest) is None:
        connection.close()
        raise ConnectionFailedError(server, Stage.HELLO, IncompatibleBrokerVersion())
    return connection


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


def _run_on(net: NetworkSelector, work: Callable[[], object], answer: "Future[Any]") -> None:
    """Run ``work`` on kafka-python's thread; an error becomes the answer."""

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 (it is raised where the answer is read)
            _complete(answer.set_exception, error)

    try:
        net.call_soon_threadsafe(run)
    except (RuntimeError, KafkaError):  # the connections were closed
        _complete(answer.set_exception, NotSentError())


def _bridge(from_kafka: Message, answer: "Future[Any]") -> None:
    def deliver(value: object) -> None:
        is_odd = isinstance(value, OddAnswerError)
        _complete(answer.set_exception if is_odd else answer.set_result, value)

    from_kafka.add_callback(deliver)
    from_kafka.add_errback(lambda error: _complete(answer.set_exception, error))


def _complete(setter: Callable[[Any], None], value: object) -> None:
    with suppress(InvalidStateError):
        setter(value)
