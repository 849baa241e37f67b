"""Subscriptions of a connection's client in its groups (KIP-848, KIP-932), within a bound."""

from threading import Lock

from msgspec import Struct

from kgitops.gateway.sockets.memory import KeptMemory

MOST_KEPT_BYTES = 512 * 1024
"""Of all subscriptions of a connection, those included that brokers have not answered."""
_FREE_BYTES = 4096
_SUBSCRIPTION_BYTES = 200
_RESIZING = Lock()


class TopicSubscription(Struct, frozen=True):
    """The subscription of a group's member, by local names; None for what it never told.

    ``topics`` are joined by zero bytes, which take a tenth of the memory that texts do. ``version``
    is that of the table that the broker knows it by.
    """

    topics: bytes | None
    regex: str | None
    version: int

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return _SUBSCRIPTION_BYTES + len(self.topics or b"") + len(self.regex or "")


class AcceptedSubscription(Struct, frozen=True):
    """A member's subscription once the broker accepts it; None for a member that leaves."""

    group: str
    subscription: TopicSubscription | None

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return len(self.group) + (self.subscription.size if self.subscription else 0)


class Subscriptions:
    """The subscriptions of one connection that brokers accepted, and the memory that they take."""

    def __init__(self, memory: KeptMemory | None) -> None:
        self._memory = memory
        self._tenant = ""
        self._by_group: dict[str, TopicSubscription] = {}
        self.used = 0
        """Bytes, those included that brokers have not answered."""
        self._taken = 0

    def get(self, group: str) -> TopicSubscription | None:
        """The last one of a group that a broker accepted."""
        return self._by_group.get(group)

    def has_room(self, tenant: str, asked: AcceptedSubscription) -> bool:
        """True if a subscription can be kept; if so, its memory is taken until it is settled."""
        return self._resize(tenant, asked.size)

    def settle(self, asked: AcceptedSubscription, *, accepted: bool) -> None:
        """Keep a subscription that the broker accepted, instead of the last one of its group."""
        group, now = asked.group, asked.subscription
        gone = asked.size
        if accepted:
            before = self._by_group.pop(group, None)
            gone = (len(group) + before.size) if before else 0
            if now is not None:
                self._by_group[group] = now
            else:
                gone += asked.size
        self._resize(self._tenant, -gone)

    def close(self) -> None:
        """Give all memory back."""
        self._by_group.clear()
        self._resize(self._tenant, -self.used)

    def _resize(self, tenant: str, size: int) -> bool:
        with _RESIZING:  # long requests are changed in a thread
            return self._resized(tenant, size)

    def _resized(self, tenant: str, size: int) -> bool:
        kept = self.used + size
        if size > 0 and kept > MOST_KEPT_BYTES:
            return False
        # Little is free, as the rest of a connection is, so that nobody is held up by others.
        counted = max(kept - _FREE_BYTES, 0)
        memory = self._memory
        if memory is not None and counted != self._taken:
            self._tenant = self._tenant or tenant
            if not memory.change(self._tenant, counted - self._taken):
                return False
            self._taken = counted
        self.used = kept
        return True
