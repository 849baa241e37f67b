"""Work that may take longer than anyone waits for it, such as resolving a name."""

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
from kgitops.cluster.kafka.transport.connection import Link, Message, NotSentError, open_link
from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, Stage

T = TypeVar("T")


class Attempt(Generic[T]):
    """``work`` in a thread of its own; what it brings after it was given up is discarded."""

    def __init__(
        self,
        work: Callable[[], T],
        discard: Callable[[T], None],
        done: "Callable[[Attempt[T]], None] | None" = None,
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
        """What the work brought.

        Raises:
            TimeoutError: nothing by ``deadline``, in seconds of ``time.monotonic``.
        """
        try:
            return self._future.result(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._future.add_done_callback(self._drop)

    def _drop(self, future: Future[T]) -> None:
        if future.exception() is None:
            self._discard(future.result())


_HEAD_START_S = 0.3
"""How long one server is waited for before the next is tried beside it."""
_MARGIN_S = 0.2
"""An attempt ends this much earlier than the wait for it, so that it can say how far it came."""
_CLOSING_MS = 2_000


class Connections:
    """The connections to one cluster; every method may be called from any thread.

    ``deadline`` is always in seconds of ``time.monotonic``; ``sent`` is told of each request.
    """

    def __init__(
        self, servers: Sequence[Server], options: WireOptions, sent: Callable[[Message], None]
    ) -> None:
        self._servers = tuple(servers)
        self._options = options
        self._brokers_options = options.copy()
        self._brokers_options["canonical_names"] = False  # KIP-235: only for the first contact
        self._sent = sent
        self._brokers: dict[int, Server] = {}
        self._links: dict[Server, Link] = {}
        self._dialled: list[Link] = []
        self._favourite: Link | None = None
        self._locks: defaultdict[object, threading.Lock] = defaultdict(threading.Lock)
        self._net = NetworkSelector()
        self._net.start()

    @property
    def brokers(self) -> dict[int, Server]:
        """Where each broker is, as the cluster last said."""
        return self._brokers

    def learn(self, metadata: Message) -> None:
        """Take over where the brokers are from a Metadata response."""
        self._brokers = {
            broker.node_id: Server(host=broker.host, port=broker.port)
            for broker in metadata.brokers
        }

    def good_links(self) -> list[Link]:
        """The connections that are ready."""
        return [link for link in list(self._links.values()) if link.is_good]

    def to_any(self, deadline: float) -> Link:
        """The connection that was good so far, else one to whichever server answers first.

        Raises:
            ConnectionFailedError: no server answers.
        """
        with self._alone(None, self._servers[0], deadline):
            if self._favourite is None or not self._favourite.is_good:
                others = self.good_links()
                self._favourite = others[0] if others else self._first_that_answers(deadline)
            return self._favourite

    def to_server(self, server: Server, deadline: float) -> Link:
        """The connection to this server.

        Raises:
            ConnectionFailedError: it can't be made.
        """
        with self._alone(server, server, deadline):
            link = self._links.get(server)
            if link and link.is_good:
                return link
            attempt = Attempt(lambda: self._open(server, deadline), Link.close)
            try:
                return self._kept(attempt.result(deadline))
            except TimeoutError as error:
                raise ConnectionFailedError(server, Stage.CONNECT, error) from None

    def close(self) -> None:
        """Close every connection."""
        for link in self._dialled:
            link.close()
        self._net.stop(timeout_ms=_CLOSING_MS)
        with suppress(RuntimeError):  # it is still busy with an answer, and ends after it
            self._net.close()

    @contextmanager
    def _alone(self, key: object, server: Server, deadline: float) -> Iterator[None]:
        """Ten threads that want the same connection make one."""
        lock = self._locks[key]
        if not lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise ConnectionFailedError(server, Stage.CONNECT, TimeoutError())
        try:
            yield
        finally:
            lock.release()

    def _first_that_answers(self, deadline: float) -> Link:
        waiting = deque(dict.fromkeys((*self._brokers.values(), *self._servers)))
        running: list[Attempt[tuple[Link, Message]]] = []
        done: queue.SimpleQueue[Attempt[tuple[Link, Message]]] = queue.SimpleQueue()
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
                    link, metadata = ended.result(deadline)
                except ConnectionFailedError as error:
                    failures.append(error)
                    continue
                self.learn(metadata)
                return self._kept(link)
        finally:
            for attempt in running:
                attempt.abandon()
        silent = ConnectionFailedError(self._servers[0], Stage.CONNECT, TimeoutError())
        # What a server says of itself tells more than a port where nobody listens.
        raise max(failures, key=lambda failure: failure.stage.value, default=silent)

    def _attempt(
        self, server: Server, deadline: float, done: Callable[[Any], None]
    ) -> Attempt[tuple[Link, Message]]:
        def discard(greeted: tuple[Link, Message]) -> None:
            greeted[0].close()

        return Attempt(lambda: self._greeted(server, deadline), discard, done)

    def _greeted(self, server: Server, deadline: float) -> tuple[Link, Message]:
        """A new connection, and what its broker says about the others."""
        link = self._open(server, deadline)
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        until = deadline - _MARGIN_S
        try:
            answer = link.post(request, until, self._sent)
            return link, answer.result(max(0.0, until - time.monotonic()) + _MARGIN_S)
        except NotSentError:  # it was closed, unless there was no time left
            is_late = time.monotonic() > until
            error: Exception = TimeoutError() if is_late else ConnectionResetError()
        except (KafkaError, TimeoutError) as failure:
            error = failure
        link.close()
        raise ConnectionFailedError(server, Stage.FIRST_REQUEST, error)

    def _open(self, server: Server, deadline: float) -> Link:
        options = self._options if server in self._servers else self._brokers_options
        made = self._dialled.append
        return open_link(self._net, server, options, deadline - _MARGIN_S, made)

    def _kept(self, link: Link) -> Link:
        """The one connection to that server from now on."""
        known = self._links.get(link.server)
        if known and known.is_good:
            link.close()
            return known
        if known:
            known.close()
        self._links[link.server] = link
        return link
