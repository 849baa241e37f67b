"""The views of brokers: older images of the one log, for as long as each broker lags behind."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.image.image import Image


class Lag(Struct, frozen=True, kw_only=True):
    """Seconds by which a broker's view is late, and those by which kinds are later than that.

    KRaft's brokers follow one log, so no kind is later than another there; the proposals' brokers
    learned of topics and of ACLs and configs by different ways (A4-103).
    """

    seconds: float = 0
    acls: float = 0
    configs: float = 0

    @property
    def longest(self) -> float:
        """Seconds after which the view has everything."""
        return self.seconds + max(self.acls, self.configs)


class BrokerViews:
    """The image that each broker answers from; safe to use in any thread."""

    def __init__(
        self,
        newest: Callable[[], Image],
        lag: Lag | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._newest = newest
        self._now = now
        self._lock = threading.Lock()
        self._all = lag or Lag()
        self._lags: dict[int, Lag] = {}
        self._held: dict[int, Image] = {}
        self._seen: deque[tuple[float, Image]] = deque()
        if self._all.longest:
            self._seen.append((float("-inf"), newest()))

    def of(self, broker: int) -> Image:
        """The cluster as a broker sees it now."""
        if not (self._lags or self._held or self._all.longest):
            return self._newest()
        held = self._held.get(broker)
        return held if held is not None else self._late(self._lags.get(broker, self._all))

    def note(self) -> None:
        """Take in that the cluster may have changed currently."""
        if self._seen:
            with self._lock:
                self._note(self._newest())

    def set_lag(self, lag: Lag, brokers: Iterable[int]) -> None:
        """Let brokers see later changes only after a time."""
        newest = self._newest()
        with self._lock:
            self._note(newest)
            for broker in brokers:
                self._lags[broker] = lag

    def hold(self, broker: int) -> None:
        """Let a broker see nothing new until it is released."""
        self._held.setdefault(broker, self.of(broker))

    def release(self, broker: int) -> None:
        """Let a broker see again what it saw nothing of: it catches up (F590-02)."""
        self._held.pop(broker, None)

    def seconds_until_seen(self, brokers: Iterable[int]) -> float:
        """Time until these brokers have seen what is decided now, those left out that are held."""
        lags = (self._lags.get(item, self._all) for item in brokers if item not in self._held)
        return max((lag.longest for lag in lags), default=0)

    def _late(self, lag: Lag) -> Image:
        newest = self._newest()
        if not lag.longest:
            return newest
        with self._lock:
            self._note(newest)
            image = self._at(lag.seconds)
            if lag.acls:
                image = replace(image, acls=self._at(lag.seconds + lag.acls).acls)
            if lag.configs:
                image = replace(image, configs=self._at(lag.seconds + lag.configs).configs)
        return image

    def _note(self, newest: Image) -> None:
        if not self._seen:
            self._seen.append((float("-inf"), newest))
        elif self._seen[-1][1] is not newest:
            self._seen.append((self._now(), newest))
        oldest = self._now() - max(lag.longest for lag in (self._all, *self._lags.values()))
        while len(self._seen) > 1 and self._seen[1][0] <= oldest:
            self._seen.popleft()

    def _at(self, seconds: float) -> Image:
        """The newest image that is at least so old; the oldest one that is known if none is."""
        latest = self._now() - seconds
        found = self._seen[0][1]
        for at, image in self._seen:
            if at > latest:
                break
            found = image
        return found
