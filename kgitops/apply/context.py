"""Context of a run: the cluster, the settings, the clock, and the callbacks."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from kgitops.apply.events import Event
from kgitops.apply.secrets import PasswordSettings
from kgitops.cluster.port import Cluster
from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import UsageError


class ApplySettings(Struct, frozen=True, kw_only=True):
    """Sizes and timeouts of an apply.

    ``timeout_ms`` bounds one wire request with its retries, and then the time in which nothing more
    of the confirmed changes becomes visible; a request that a quota delays gets the whole time
    again. The lease is longer, so that a lock can't expire while a request is in flight.
    ``lock_timeout_ms`` bounds the wait for another holder of the lock; None for a caller that
    never waits, such as the loop.
    ``batch_records`` is what a controller accepts at once: KRaft limits a request to 10,000.
    """

    parallelism: int = 10
    timeout_ms: int = 30_000
    lease_ms: int = 60_000
    lock_timeout_ms: int | None = None
    poll_ms: int = 50
    retry_ms: int = 100
    batch_records: int = 10_000
    batch_requests: int = 500

    def __post_init__(self) -> None:
        if self.parallelism < 1:
            raise UsageError("--parallelism must be at least 1; give a positive number")
        if self.lease_ms <= self.timeout_ms:
            raise UsageError(
                f"the lock's lease ({self.lease_ms} ms) must outlast a request's timeout "
                f"({self.timeout_ms} ms); make it longer"
            )


class ApplyContext(Struct, frozen=True, kw_only=True):
    """The cluster with its name in messages, settings, clock and callbacks of a run.

    ``interrupted`` returns the number of the signal that asked the run to end, or None.
    ``cancels`` asks the user of an interrupted run whether to cancel the running reassignments of
    these topics (by address): without a clear yes they continue. ``passwords`` says what may be
    done for the passwords of users. ``may_begin`` is called once the lock is held, and raises to
    give it back: only by then is the brokers' time known.
    """

    cluster: Cluster
    cluster_name: str = ""
    settings: ApplySettings
    clock: Clock = field(default_factory=SystemClock)
    on_event: Callable[[Event], None]
    interrupted: Callable[[], int | None]
    cancels: Callable[[Sequence[str]], bool] = lambda _: False
    passwords: PasswordSettings = PasswordSettings()
    may_begin: Callable[[], None] = lambda: None

    def earlier_now(self) -> datetime:
        """Return the time of this machine or of the brokers, whichever is earlier."""
        by_log = datetime.fromtimestamp(self.cluster.registry.now_ms() / 1000, UTC)
        return min(self.clock.now(), by_log)
