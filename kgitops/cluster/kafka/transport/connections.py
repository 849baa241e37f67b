"""Connections to the brokers of one cluster, opened on demand and kept."""

import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from kafka.errors import KafkaError
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.transport.connection import (
    BrokerConnection,
    Message,
    NotSentError,
    open_connection,
)
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError
from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, Stage
from kgitops.model.errors import UnreachableError

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """``work`` in a thread of its own, such as resolving a name; a late result is discarded."""

    def __init__(
        self,
        work: Callable[[], T],
        discard: Callable[[T], None],
        done: "Callable[[BackgroundCall[T]], None] | None" = None,
    ) -> None:
        self._discard = discard
        self._future: Future[T] = Future()
        if done is not None:
            self._future.add_done_callback(lambda _: done(self))

        def run() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 (it is raised where the result is read)
                self._future.set_exception(error)
            else:
                self._future.set_result(result)

        threading.Thread(target=run, name="kgitops-connect", daemon=True).start()

    def result(self, deadline: float) -> T:
        """Wait for the result of the work.

        Raises:
            TimeoutError: there is none by ``deadline``, in seconds of ``time.monotonic``.
        """
        try:
            return self._future.result(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Stop waiting; a late result is discarded."""
        self._future.add_done_callback(self._drop)

    def _drop(self, future: Future[T]) -> None:
        if future.exception() is None:
            self._discard(future.result())


_HEAD_START_S = 0.3
"""Head start of one server before the next is tried in parallel."""
_MARGIN_S = 0.2
"""Time by which an attempt ends before the wait for it, so that it can report how far it got."""
_CLOSING_MS = 2_000
_HIGHEST_PORT = 65_535


class Connections:
    """The connections to one cluster; every method may be called from any thread.

    ``deadline`` is always in seconds of ``time.monotonic``; ``on_send`` is called for each request.
    """

    def __init__(
        self, servers: Sequence[Server], options: WireOptions, on_send: Callable[[Message], None]
    ) -> None:
        self._servers = tuple(servers)
        self._options = options
        self._broker_options = options.copy()
        self._broker_options["canonical_names"] = False  # KIP-235: only for the first contact
        self._on_send = on_send
        self._brokers: dict[int, Server] = {}
        self.cluster_id: str | None = None
        """The id in the first metadata; None before, and empty where the brokers report none."""
        self._by_server: dict[Server, BrokerConnection] = {}
        self._opened: list[BrokerConnection] = []
        self._any: BrokerConnection | None = None
        self._locks: defaultdict[object, threading.Lock] = defaultdict(threading.Lock)
        self._net = NetworkSelector()
        self._net.start()

    @property
    def brokers(self) -> dict[int, Server]:
        """The address of each broker, from the latest metadata."""
        return self._brokers

    def learn(self, metadata: Message) -> None:
        """Update the brokers' addresses from a Metadata response.

        Raises:
            UnreachableError: it is of another cluster than the first one, or a broker has no
                address.
        """
        self.check_cluster(metadata.cluster_id or "")
        for broker in metadata.brokers:
            if not broker.host or not 0 < broker.port <= _HIGHEST_PORT:
                raise UnreachableError(
                    f"broker {broker.node_id} advertises {broker.host or 'no host'}:{broker.port}, "
                    "which is no address; set its advertised.listeners to a host and a port"
                )
        self._brokers = {
            broker.node_id: Server(host=broker.host, port=broker.port)
            for broker in metadata.brokers
        }

    def check_cluster(self, cluster_id: str) -> None:
        """Check that an answer comes from the cluster that was reached first.

        Raises:
            UnreachableError: an address leads to another cluster since then.
        """
        if self.cluster_id is None:
            self.cluster_id = cluster_id
        if cluster_id != self.cluster_id:
            servers = ",".join(map(str, self._servers))
            raise UnreachableError(
                f"{servers} leads to the cluster {cluster_id or 'without an id'} now, and led to "
                f"{self.cluster_id or 'one without an id'} when kgitops connected; find out what "
                "the address is for"
            )

    @property
    def contact(self) -> Server | None:
        """The server that is asked where any broker will do; None before there is one."""
        return self._any.server if self._any else None

    def is_connected(self, server: Server) -> bool:
        """True if there is a connection to this server that is ready."""
        connection = self._by_server.get(server)
        return connection is not None and connection.is_good

    def good_connections(self) -> list[BrokerConnection]:
        """Return the connections that are ready."""
        return [connection for connection in list(self._by_server.values()) if connection.is_good]

    def to_any(self, deadline: float) -> BrokerConnection:
        """Return the connection used so far, or one to the server that answers first.

        Raises:
            ConnectionFailedError: no server answers.
        """
        with self._exclusive(None, self._servers[0], deadline):
            if self._any is None or not self._any.is_good:
                others = self.good_connections()
                self._any = others[0] if others else self._first_to_answer(deadline)
            return self._any

    def to_server(self, server: Server, deadline: float) -> BrokerConnection:
        """Return the connection to this server, opening it if necessary.

        Raises:
            ConnectionFailedError: it can't be opened.
        """
        with self._exclusive(server, server, deadline):
            connection = self._by_server.get(server)
            if connection and connection.is_good:
                return connection
            attempt = BackgroundCall(lambda: self._open(server, deadline), BrokerConnection.close)
            try:
                return self._keep(attempt.result(deadline))
            except TimeoutError as error:
                raise ConnectionFailedError(server, Stage.CONNECT, error) from None

    def close(self) -> None:
        """Close every connection."""
        for connection in self._opened:
            connection.close()
        self._net.stop(timeout_ms=_CLOSING_MS)
        for connection in self._opened:
            connection.close_socket()
        with suppress(RuntimeError):  # it is still busy with an answer and ends after it
            self._net.close()

    @contextmanager
    def _exclusive(self, key: object, server: Server, deadline: float) -> Iterator[None]:
        """Let one thread at a time open a connection, so that concurrent callers share it."""
        lock = self._locks[key]
        if not lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise ConnectionFailedError(server, Stage.CONNECT, TimeoutError())
        try:
            yield
        finally:
            lock.release()

    def _first_to_answer(self, deadline: float) -> BrokerConnection:
        waiting = deque(dict.fromkeys((*self._brokers.values(), *self._servers)))
        running: list[BackgroundCall[tuple[BrokerConnection, Message]]] = []
        done: queue.SimpleQueue[BackgroundCall[tuple[BrokerConnection, Message]]] = (
            queue.SimpleQueue()
        )
        failures: list[ConnectionFailedError] = []
        try:
            while waiting or running:
                if waiting:
                    running.append(self._attempt(waiting.popleft(), deadline, done.put))
                left = deadline - time.monotonic()
                try:
                    ended = done.get(
                        timeout=max(0.0, min(left, _HEAD_START_S) if waiting else left)
                    )
                except queue.Empty:
                    if left <= 0:
                        break
                    continue
                running.remove(ended)
                try:
                    connection, metadata = ended.result(deadline)
                except ConnectionFailedError as error:
                    failures.append(error)
                    continue
                self.learn(metadata)
                return self._keep(connection)
        finally:
            for attempt in running:
                attempt.abandon()
        silent = ConnectionFailedError(self._servers[0], Stage.CONNECT, TimeoutError())
        # An error from a server says more than a port on which nothing listens.
        raise max(failures, key=lambda failure: failure.stage.value, default=silent)

    def _attempt(
        self, server: Server, deadline: float, done: Callable[[Any], None]
    ) -> BackgroundCall[tuple[BrokerConnection, Message]]:
        def discard(opened: tuple[BrokerConnection, Message]) -> None:
            opened[0].close()

        return BackgroundCall(lambda: self._open_with_metadata(server, deadline), discard, done)

    def _open_with_metadata(
        self, server: Server, deadline: float
    ) -> tuple[BrokerConnection, Message]:
        """Open a connection and ask its broker for the cluster's metadata."""
        connection = self._open(server, deadline)
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        until = deadline - _MARGIN_S
        try:
            answer = connection.post(request, until, self._on_send)
            return connection, answer.result(max(0.0, until - time.monotonic()) + _MARGIN_S)
        except NotSentError:  # it was closed, unless there was no time left
            is_late = time.monotonic() > until
            error: Exception = TimeoutError() if is_late else ConnectionResetError()
        except (KafkaError, TimeoutError, OddAnswerError) as failure:
            error = failure
        connection.close()
        raise ConnectionFailedError(server, Stage.FIRST_REQUEST, error)

    def _open(self, server: Server, deadline: float) -> BrokerConnection:
        options = self._options if server in self._servers else self._broker_options
        on_connection = self._opened.append
        return open_connection(self._net, server, options, deadline - _MARGIN_S, on_connection)

    def _keep(self, connection: BrokerConnection) -> BrokerConnection:
        """Keep this connection for its server, unless a good one exists already."""
        existing = self._by_server.get(connection.server)
        if existing and existing.is_good:
            connection.close()
            return existing
        if existing:
            existing.close()
        self._by_server[connection.server] = connection
        return connection
