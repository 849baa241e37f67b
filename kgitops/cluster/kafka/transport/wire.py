"""Requests to Kafka and their responses, over kafka-python's connections; thread-safe."""

import copy
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaError, KafkaProtocolError
from kafka.protocol.admin import DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.transport.connection import BrokerConnection, Message, NotSentError
from kgitops.cluster.kafka.transport.connections import Connections
from kgitops.cluster.kafka.transport.dialing import server_of
from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.cluster.kafka.transport.lost_brokers import LostBrokers
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError, check_rows
from kgitops.cluster.kafka.transport.pending import (
    READING,
    PendingRequest,
    api_name,
    check_lease,
    out_of_time,
    unknown_outcome,
    unusable,
)
from kgitops.cluster.kafka.transport.quorum import has_controller
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.names import is_loopback

T = TypeVar("T")
__all__ = ("CONNECT_MS", "Message", "Wire")

CONNECT_MS = 8_000
"""Time to connect: the user has an answer within ten seconds, including the process start."""
_TIMEOUT_MS = 30_000
_LONGEST_PAUSE_S = 1.0
_GRACE_S = 1.0
_RESTART_S = 2.0
"""Time for which a broker that refuses connections is tried again, because it may be starting."""
_REDIAL_S = 0.25
_MOST_DIALS = 256
_NO_LOGIN = "kgitops (User:ANONYMOUS, as it does not log in)"

_NEEDED = ((MetadataRequest, 12), (DescribeQuorumRequest, 1))
"""Request versions that brokers of KRaft clusters know from Kafka 3.7 on."""


class Wire:
    """The connections to one cluster.

    A request goes to one broker by its id, or to any broker: any broker forwards changes to the
    controller (KIP-590).

    A request that only reads is repeated until its timeout, on another broker where any will do.
    One that may change something is sent once: it is tried elsewhere only as long as no byte of it
    was sent. The caller decides which error codes are worth another try.
    """

    def __init__(
        self,
        servers: Sequence[str],
        options: WireOptions | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        self._options = options or WireOptions()
        self._timeout_ms = timeout_ms or self._options.get("timeout_ms", _TIMEOUT_MS)
        self._connect_ms = self._options.get("connect_ms", CONNECT_MS)
        self.sent: Counter[str] = Counter()
        """Number of requests sent by API name, without those of handshakes."""
        self._servers = [server_of(text) for text in servers]
        self._connections = Connections(self._servers, self._options, self._count)
        self._lost = LostBrokers()
        self._until: float | None = None

    def connect(self) -> None:
        """Reach one of the servers, discover the brokers, and check that there is a controller.

        Raises:
            UnreachableError: none answers, the connection is refused, or there is no controller.
        """
        deadline = time.monotonic() + self._connect_ms / 1000
        try:
            connection = self._connections.to_any(deadline)
        except ConnectionFailedError as error:
            raise UnreachableError(error.sentence(self._options)) from error
        if any((connection.version(request) or 0) < version for request, version in _NEEDED):
            raise UnreachableError(
                f"{connection.server} is not a broker of Kafka 3.7 or later in KRaft mode; upgrade "
                "the cluster's brokers"
            )
        if not self._connections.brokers:
            raise UnreachableError(
                f"{connection.server} answers, but no broker of its cluster has registered yet; "
                "try again when the brokers have started"
            )
        if not has_controller(lambda request, ms: self.send(request, timeout_ms=ms), deadline):
            raise UnreachableError(
                f"{connection.server} answers, but its cluster has no active controller; start "
                "enough of its controllers for a majority, and try again"
            )

    def send(
        self,
        request: Message,
        *,
        to: int | None = None,
        timeout_ms: int | None = None,
        may_repeat: bool | None = None,
    ) -> Message:
        """Send one request and return its answer.

        ``may_repeat`` tells whether it may be sent twice, such as one that only validates; None
        stands for True where its API only reads.

        Raises:
            LockedError: the lease expired before it was sent.
            UnreachableError: no answer in time, or no connection; it is then unknown whether a
                change was made.
        """
        (answer,) = self.send_all(
            [request], lambda answer: answer, to=to, timeout_ms=timeout_ms, may_repeat=may_repeat
        )
        return answer

    def send_all(
        self,
        requests: Iterable[Message],
        keep: Callable[[Message], T],
        *,
        to: int | None = None,
        window: int = 4,
        timeout_ms: int | None = None,
        may_repeat: bool | None = None,
    ) -> list[T]:
        """Send the requests, ``window`` at a time, and return ``keep(answer)`` of each, in order.

        ``keep`` raises :class:`OddAnswerError` for an answer that no broker of Kafka gives; the
        user is told which broker gave it, and to what.

        The timeout applies to each request, from when it is first sent; it ends with the lease.

        Raises:
            LockedError: the lease expired before one of them was sent.
            UnreachableError: one is not answered in time, or there is no connection.
        """
        longest_s = (timeout_ms or self._timeout_ms) / 1000
        kept: list[T] = []
        waiting: deque[PendingRequest] = deque()
        for request in requests:
            if len(waiting) >= window:
                kept.append(self._keep(waiting.popleft(), keep))
            is_repeatable = api_name(request) in READING if may_repeat is None else may_repeat
            until = None if is_repeatable else self._until
            timeout_s = min(longest_s, until - ticks()) if until is not None else longest_s
            pending = PendingRequest(
                request, to, is_repeatable, time.monotonic() + timeout_s, until
            )
            self._start(pending)
            waiting.append(pending)
        while waiting:
            kept.append(self._keep(waiting.popleft(), keep))
        return kept

    def reach(self, brokers: Sequence[int], *, again: bool = False) -> None:
        """Connect to these brokers, all at once, in no more time than one connection may take.

        A later read from one that can't be reached fails at once, with the reason. One that could
        not be reached a moment ago is tried only ``again``.
        """
        if again:
            for broker in brokers:
                if broker in self._connections.brokers:
                    self._lost.remove(self._connections.brokers[broker])
        deadline = time.monotonic() + self._connect_ms / 1000
        patience = min(deadline, time.monotonic() + _RESTART_S)
        left = [broker for broker in brokers if self._is_unknown(broker)]
        while left:
            with ThreadPoolExecutor(max_workers=min(len(left), _MOST_DIALS)) as pool:
                dialled = pool.map(lambda broker: self._dial(broker, deadline), left)
                left = [broker for broker, again in zip(left, dialled, strict=True) if again]
            if time.monotonic() + _REDIAL_S > patience:
                return
            time.sleep(_REDIAL_S)

    def give_up(self, broker: int, *, silent: int) -> None:
        """Let reads from this broker fail at once where so many others were silent currently."""
        server = self._connections.brokers.get(broker)
        if server is not None and self._lost.count_silent() >= silent:
            sentence = (
                f"broker {broker} was not asked, because {silent} other brokers accept connections "
                "but do not answer; look at the brokers, and try again"
            )
            self._lost.add(server, UnreachableError(sentence))

    def until(self, moment: float) -> "Wire":
        """Return these connections bound to a lease that ends then, in seconds of ``lease.ticks``.

        No byte of a request that may change something is sent later, not even by a retry: the
        request fails with :class:`LockedError` instead.
        """
        bound = copy.copy(self)
        bound._until = moment  # noqa: SLF001 (it is this very class)
        return bound

    @property
    def private(self) -> bool:
        """True if all that is sent is encrypted, or stays on this machine."""
        if self.security_protocol.endswith("SSL"):
            return True
        servers = [*self._servers, *self._connections.brokers.values()]
        return all(is_loopback(server.host) for server in servers)

    @property
    def security_protocol(self) -> str:
        """Kafka's name of how clients connect, such as SASL_SSL."""
        return self._options.get("security_protocol", "PLAINTEXT").upper()

    @property
    def principal(self) -> str:
        """The principal that kgitops is to the brokers; how it logs in where only they know."""
        return self._options.get("principal", _NO_LOGIN)

    def try_login(self, user: str, mechanism: str, password: str) -> None:
        """Log in as this user by a connection of its own, and close it.

        Raises:
            ConnectionFailedError: the server refuses, or does not answer.
        """
        options = self._options.copy()
        options.pop("sasl_oauth_token_provider", None)
        options["sasl_mechanism"] = mechanism
        options["sasl_plain_username"], options["sasl_plain_password"] = user, password
        connections = Connections(self._servers, options, lambda *_: None)
        try:
            connections.to_any(time.monotonic() + self._connect_ms / 1000)
        finally:
            connections.close()

    def supports(self, request: type[Any] | Message, version: int = 0) -> bool:
        """Return whether the brokers know this request, in at least this version."""
        connections = self._connections.good_connections()
        versions = [connection.version(request) for connection in connections]
        return bool(versions) and all(known is not None and known >= version for known in versions)

    @property
    def cluster_id(self) -> str:
        """The id in the metadata of :meth:`connect`, empty where the brokers report none."""
        return self._connections.cluster_id or ""

    def check_cluster(self, cluster_id: str) -> None:
        """Check that an answer comes from the cluster that was connected to.

        Raises:
            UnreachableError: an address leads to another cluster since then.
        """
        self._connections.check_cluster(cluster_id)

    def broker_ids(self) -> tuple[int, ...]:
        """Return the ids of the brokers that are alive, from the latest metadata."""
        return tuple(sorted(self._connections.brokers))

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def _count(self, request: Message) -> None:
        # Only kafka-python's one thread comes here, so no two counts collide.
        self.sent[api_name(request)] += 1

    def _start(self, pending: PendingRequest) -> None:
        """Send the request, over another connection where one can't be opened."""
        while True:
            try:
                connection = self._connect(pending)
                break
            except ConnectionFailedError as error:
                self._pause_or_give_up(pending, error)
        pending.connection = connection
        # kafka-python stores the version in the request; another broker may need another.
        message = copy.copy(pending.request)
        pending.answer = connection.post(message, pending.deadline, self._count, pending.until)

    def _connect(self, pending: PendingRequest) -> BrokerConnection:
        if pending.broker is None:
            return self._connections.to_any(pending.deadline)
        server = self._connections.brokers.get(pending.broker)
        if server is None or pending.is_broker_moved:
            self._find_again(pending)
            server = self._connections.brokers.get(pending.broker)
        if server is None:
            alive = ", ".join(map(str, self.broker_ids()))
            raise UnreachableError(
                f"broker {pending.broker} is not alive; the cluster has {alive}; start it or leave "
                "it out"
            )
        lost = self._lost.error(server) if api_name(pending.request) in READING else None
        if lost is not None:
            raise lost
        return self._connections.to_server(server, pending.deadline)

    def _is_unknown(self, broker: int) -> bool:
        """True for a broker that is neither connected nor known to be lost."""
        server = self._connections.brokers.get(broker)
        return (
            server is not None
            and self._lost.error(server) is None
            and not self._connections.is_connected(server)
        )

    def _dial(self, broker: int, deadline: float) -> bool:
        """Connect to the broker; return whether it may be worth another try."""
        server = self._connections.brokers.get(broker)
        if server is None:
            return False
        try:
            self._connections.to_server(server, deadline)
        except ConnectionFailedError as error:
            self._lost.add(server, UnreachableError(self._sentence(error, broker)))
            return not error.is_final and not isinstance(error.error, TimeoutError)
        self._lost.remove(server)
        return False

    def _sentence(self, error: ConnectionFailedError, broker: int | None) -> str:
        return error.sentence(self._options, broker=broker, contact=self._connections.contact)

    def _find_again(self, pending: PendingRequest) -> None:
        try:
            self._refresh_brokers(pending.deadline)
        except UnreachableError as error:
            if pending.connection_error is None:
                raise
            # The broker's own error says more than that no time was left to ask where it is.
            sentence = self._sentence(pending.connection_error, pending.broker)
            raise UnreachableError(sentence) from error

    def _keep(self, pending: PendingRequest, keep: Callable[[Message], T]) -> T:
        answer = self._await_answer(pending)
        try:
            check_rows(pending.request, answer, reads=api_name(pending.request) in READING)
            return keep(answer)
        except OddAnswerError as error:
            raise unusable(pending, error) from error

    def _await_answer(self, pending: PendingRequest) -> Message:
        """Wait for the answer, sending the request again as often as necessary."""
        while True:
            try:
                answer = pending.answer.result(pending.left_s + _GRACE_S)
            except NotSentError as error:
                self._pause_or_give_up(pending, error)
            except (IncompatibleBrokerVersion, KafkaProtocolError, OddAnswerError) as error:
                raise unusable(pending, error) from error
            except (KafkaError, TimeoutError) as error:
                if not pending.may_repeat:
                    raise unknown_outcome(pending, error) from error
                pending.is_broker_moved = True
                self._pause_or_give_up(pending, error)
            else:
                if isinstance(answer, MetadataResponse):
                    self._connections.learn(answer)
                return answer
            self._start(pending)

    def _pause_or_give_up(self, pending: PendingRequest, error: Exception) -> None:
        """Wait a little before another try.

        Raises:
            LockedError: the lease has ended.
            UnreachableError: there is no time left, or the error would be the same.
        """
        check_lease(pending)
        if isinstance(error, ConnectionFailedError):
            if pending.connection_error is None or not isinstance(error.error, TimeoutError):
                pending.connection_error = error  # a timeout of the last try says less
            if error.is_final or not pending.left_s:
                sentence = self._sentence(pending.connection_error, pending.broker)
                raise UnreachableError(sentence) from error
        if pending.left_s:
            pending.pause_s = min(2 * pending.pause_s, _LONGEST_PAUSE_S)
            time.sleep(min(pending.pause_s, pending.left_s))
            return
        late = out_of_time(pending, error)
        if pending.broker is not None and pending.connection is not None:
            self._lost.add(pending.connection.server, late, silent=True)
        raise late from error

    def _refresh_brokers(self, deadline: float) -> None:
        left_ms = int(max(0.0, deadline - time.monotonic()) * 1000) + 1
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self.send(request, timeout_ms=left_ms)  # its answer updates the brokers' addresses
