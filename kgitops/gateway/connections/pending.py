"""Requests whose responses are to come, in the order in which a client is to have them."""

from collections import deque

from msgspec import Struct

from kgitops.gateway.rewriting.exchange import Exchange


class InFlightRequest(Struct):
    """A request that a broker has, and the seconds that the gateway took for it."""

    exchange: Exchange
    spent: float


class InFlightRequests:
    """The queue of a connection: brokers answer in order, and so has the gateway to."""

    __slots__ = ("_queue", "waiting")

    def __init__(self) -> None:
        self._queue: deque[InFlightRequest | bytes] = deque()
        self.waiting = 0
        """Bytes of the gateway's own answers."""

    def __len__(self) -> int:
        """The responses that are to come, and the answers that wait for them."""
        return len(self._queue)

    def sent(self, exchange: Exchange, spent: float) -> None:
        """A request went to the broker."""
        self._queue.append(InFlightRequest(exchange, spent))

    def answered(self, body: bytes) -> bool:
        """The gateway has an answer itself; True if it may go at once, else it waits here."""
        if not self._queue:
            return True
        self._queue.append(body)
        self.waiting += len(body)
        return False

    def first(self, correlation_id: int) -> InFlightRequest | None:
        """The request that a response is for; None if the broker may not send one like this.

        It stays the first until it is ``done``, so that no answer overtakes its response.
        """
        if not self._queue:
            return None
        first = self._queue[0]
        if isinstance(first, bytes) or first.exchange.correlation_id != correlation_id:
            return None
        return first

    def done(self) -> None:
        """The response to the first request went to the client."""
        self._queue.popleft()

    def ready(self) -> bytes | None:
        """The next answer of the gateway that waits for nothing any more."""
        first = self._queue[0] if self._queue else None
        if not isinstance(first, bytes):
            return None
        self._queue.popleft()
        self.waiting -= len(first)
        return first
