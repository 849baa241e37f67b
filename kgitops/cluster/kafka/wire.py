"""Kafka's requests and responses over kafka-python's connections; safe from several threads."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaError
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from kgitops.model.errors import UnreachableError

T = TypeVar("T")
Message = Any
"""A message of kafka-python, whose classes are made from Kafka's own schemas as it is imported."""


class Wire:
    """The connections to one cluster.

    A request is addressed to a broker by its id, or to any broker: those that change something are
    forwarded to the controller by whichever broker takes them (KIP-590).
    """

    def __init__(
        self, servers: Sequence[str], options: Mapping[str, object], *, timeout_ms: int = 30_000
    ) -> None:
        self._timeout_ms = timeout_ms
        self._net = NetworkSelector()
        self._manager = KafkaConnectionManager(
            self._net,
            bootstrap_servers=list(servers),
            receive_message_max_bytes=1 << 30,
            max_in_flight_requests_per_connection=1 << 16,  # `window` bounds them instead
            **options,
        )
        self._net.start()
        self._any: int | str = "bootstrap-0"
        self.sent: Counter[str] = Counter()

    def connect(self) -> None:
        """Reach one of the servers and learn of the others.

        Raises:
            UnreachableError: none answers, or it refuses.
        """
        self._manager.cluster.update_metadata(self.send(MetadataRequest(topics=[])))

    def send(
        self, request: Message, *, to: int | None = None, timeout_ms: int | None = None
    ) -> Message:
        """The answer to one request, which is sent once: no answer means that nobody knows.

        Raises:
            UnreachableError: no answer in time, or no connection.
        """
        (answer,) = self.send_all([request], lambda found: found, to=to, timeout_ms=timeout_ms)
        return answer

    def send_all(
        self,
        requests: Iterable[Message],
        keep: Callable[[Message], T],
        *,
        to: int | None = None,
        window: int = 4,
        timeout_ms: int | None = None,
    ) -> list[T]:
        """What ``keep`` makes of each answer, in order, with ``window`` requests on their way.

        Raises:
            UnreachableError: one is not answered in time, or there is no connection.
        """
        node = self._any if to is None else to
        patience_ms = timeout_ms or self._timeout_ms

        async def pump() -> list[T]:
            kept: list[T] = []
            waiting: deque[Any] = deque()
            for request in requests:
                if len(waiting) >= window:
                    kept.append(keep(await waiting.popleft()))
                self.sent[type(request).__name__.removesuffix("Request")] += 1
                waiting.append(
                    self._manager.send(request, node_id=node, request_timeout_ms=patience_ms)
                )
            while waiting:
                kept.append(keep(await waiting.popleft()))
            return kept

        try:
            return self._net.run(pump)  # type: ignore[no-any-return]
        except KafkaError as error:
            raise UnreachableError(f"the cluster does not answer: {error}") from error

    def supports(self, request: type[Any], version: int = 0) -> bool:
        """Whether the brokers know this request, in at least this version."""
        known = self._manager.broker_version_data
        try:
            return bool(known.api_version(request) >= version)
        except IncompatibleBrokerVersion:
            return False

    def broker_ids(self) -> tuple[int, ...]:
        """The brokers that are alive, as the cluster last said."""
        return tuple(sorted(broker.node_id for broker in self._manager.cluster.brokers()))

    def close(self) -> None:
        """Close every connection."""
        self._manager.close()
        self._net.stop()
