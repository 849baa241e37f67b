"""Kafka's requests and responses over kafka-python's connections; safe from several threads."""

import copy
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kafka.errors import IncompatibleBrokerVersion, InvalidReceiveError, KafkaError
from kafka.protocol.admin import DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.transport.connection import Link, Message, NotSentError
from kgitops.cluster.kafka.transport.connections import Connections
from kgitops.cluster.kafka.transport.dialing import server_of
from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.cluster.kafka.transport.pending import (
    READING,
    Flight,
    api_name,
    check_lease,
    out_of_time,
    unknown_outcome,
    unusable,
)
from kgitops.cluster.kafka.transport.quorum import has_controller
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError
from kgitops.model.errors import UnreachableError

T = TypeVar("T")
__all__ = ("CONNECT_MS", "Message", "Wire")

CONNECT_MS = 8_000
"""Within ten seconds the user has an answer, the start of the process included."""
_TIMEOUT_MS = 30_000
_LONGEST_PAUSE_S = 1.0
_GRACE_S = 1.0

_NEEDED = ((MetadataRequest, 12), (DescribeQuorumRequest, 1))
"""What every broker of a KRaft cluster from 3.7 on knows; older ones don't."""


class Wire:
    """The connections to one cluster.

    A request is addressed to a broker by its id, or to any broker: those that change something are
    forwarded to the controller by whichever broker takes them (KIP-590).

    A request that only reads is asked again, of another broker where any will do, until its
    timeout. One that may change something is sent once: it is tried elsewhere only as long as no
    byte of it has left. Which error codes are worth another try is for the caller to say.
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
        """Requests by the name of their API, those of handshakes left out."""
        self._servers = [server_of(text) for text in servers]
        self._connections = Connections(self._servers, self._options, self._count)
        self._until: float | None = None

    def connect(self) -> None:
        """Reach one of the servers, learn of the others, and see that the cluster is led.

        Raises:
            UnreachableError: none answers, it refuses, or there is no controller.
        """
        deadline = time.monotonic() + self._connect_ms / 1000
        try:
            link = self._connections.to_any(deadline)
        except ConnectionFailedError as error:
            raise UnreachableError(error.sentence(self._options)) from error
        if any((link.version(request) or 0) < version for request, version in _NEEDED):
            raise UnreachableError(
                f"{link.server} is no broker of Kafka 3.7 or later in KRaft mode; upgrade the "
                "cluster's brokers"
            )
        if not self._connections.brokers:
            raise UnreachableError(
                f"{link.server} answers, but no broker of its cluster has registered yet; try "
                "again when the brokers have started"
            )
        if not has_controller(lambda request, ms: self.send(request, timeout_ms=ms), deadline):
            raise UnreachableError(
                f"{link.server} answers, but its cluster has no active controller; start enough of "
                "its controllers for a majority, and try again"
            )

    def send(
        self,
        request: Message,
        *,
        to: int | None = None,
        timeout_ms: int | None = None,
        again: bool | None = None,
    ) -> Message:
        """The answer to one request.

        ``again`` says whether it may be sent twice, such as one that only validates; None: if its
        API only reads.

        Raises:
            UnreachableError: no answer in time, or no connection; whether a change was made is
                not known then.
        """
        (answer,) = self.send_all(
            [request], lambda found: found, to=to, timeout_ms=timeout_ms, again=again
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
        again: bool | None = None,
    ) -> list[T]:
        """What ``keep`` makes of each answer, in order, with ``window`` requests on their way.

        The timeout is each request's own, from when it is first sent; it ends with the lease.

        Raises:
            LockedError: the lease ended before one of them was sent.
            UnreachableError: one is not answered in time, or there is no connection.
        """
        longest_s = (timeout_ms or self._timeout_ms) / 1000
        kept: list[T] = []
        waiting: deque[Flight] = deque()
        for request in requests:
            if len(waiting) >= window:
                kept.append(keep(self._landed(waiting.popleft())))
            may_repeat = api_name(request) in READING if again is None else again
            until = None if may_repeat else self._until
            patience_s = min(longest_s, until - ticks()) if until is not None else longest_s
            flight = Flight(request, to, may_repeat, time.monotonic() + patience_s, until)
            self._start(flight)
            waiting.append(flight)
        while waiting:
            kept.append(keep(self._landed(waiting.popleft())))
        return kept

    def until(self, moment: float) -> "Wire":
        """The same connections for who holds a lease that ends then, in ``lease.ticks``' seconds.

        No byte of a request that may change something leaves later, tried again or not: instead of
        being sent it fails with :class:`LockedError`.
        """
        held = copy.copy(self)
        held._until = moment  # noqa: SLF001 (it is this very class)
        return held

    def supports(self, request: type[Any], version: int = 0) -> bool:
        """Whether the brokers know this request, in at least this version."""
        known = [link.version(request) for link in self._connections.good_links()]
        return bool(known) and all(found is not None and found >= version for found in known)

    def broker_ids(self) -> tuple[int, ...]:
        """The brokers that are alive, as the cluster last said."""
        return tuple(sorted(self._connections.brokers))

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def _count(self, request: Message) -> None:
        # Only kafka-python's one thread comes here, so no two counts collide.
        self.sent[api_name(request)] += 1

    def _start(self, flight: Flight) -> None:
        """Put the request on its way, by another connection where one can't be made."""
        while True:
            try:
                link = self._link(flight)
                break
            except ConnectionFailedError as error:
                self._pause_or_give_up(flight, error)
        flight.link = link
        # kafka-python notes the version in the request; another broker may know another.
        message = copy.copy(flight.request)
        flight.answer = link.post(message, flight.deadline, self._count, flight.until)

    def _link(self, flight: Flight) -> Link:
        if flight.to is None:
            return self._connections.to_any(flight.deadline)
        server = self._connections.brokers.get(flight.to)
        if server is None or flight.is_lost:
            self._ask_where_brokers_are(flight.deadline)
            server = self._connections.brokers.get(flight.to)
        if server is None:
            alive = ", ".join(map(str, self.broker_ids()))
            raise UnreachableError(
                f"broker {flight.to} is not alive; the cluster has {alive}; start it or leave it "
                "out"
            )
        return self._connections.to_server(server, flight.deadline)

    def _landed(self, flight: Flight) -> Message:
        """The answer, however many times it has to be asked for."""
        while True:
            try:
                answer = flight.answer.result(flight.left_s + _GRACE_S)
            except NotSentError as error:
                self._pause_or_give_up(flight, error)
            except (IncompatibleBrokerVersion, InvalidReceiveError) as error:
                raise unusable(flight, error) from error
            except (KafkaError, TimeoutError) as error:
                if not flight.may_repeat:
                    raise unknown_outcome(flight, error) from error
                flight.is_lost = True
                self._pause_or_give_up(flight, error)
            else:
                if isinstance(answer, MetadataResponse):
                    self._connections.learn(answer)
                return answer
            self._start(flight)

    def _pause_or_give_up(self, flight: Flight, error: Exception) -> None:
        """Wait a little before another try.

        Raises:
            LockedError: the lease has ended.
            UnreachableError: there is no time left, or the error would be the same.
        """
        check_lease(flight)
        if isinstance(error, ConnectionFailedError):
            if flight.trouble is None or not isinstance(error.error, TimeoutError):
                flight.trouble = error  # to have no time left for another try says less
            if error.is_final or not flight.left_s:
                sentence = flight.trouble.sentence(self._options, broker=flight.to)
                raise UnreachableError(sentence) from error
        if flight.left_s:
            flight.pause_s = min(2 * flight.pause_s, _LONGEST_PAUSE_S)
            time.sleep(min(flight.pause_s, flight.left_s))
            return
        raise out_of_time(flight, error) from error

    def _ask_where_brokers_are(self, deadline: float) -> None:
        left_ms = int(max(0.0, deadline - time.monotonic()) * 1000) + 1
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self.send(request, timeout_ms=left_ms)  # whose answer is learnt from
