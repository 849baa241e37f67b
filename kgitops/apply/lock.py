"""The cluster's one lock: won by the order of claims in the registry's log, kept by a lease.

Every reader of the log decides alike, because only the log counts: a claim's place in it and the
log's own timestamps. A renewal that came after its lease had ended is void.

On a registry of an older schema version a contender writes its claim in that version, because an
older kgitops may hold the lock. Only the holder raises the version: with its first write, which is
atomic, so that every older kgitops refuses the registry after that.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event, RegistryUpgraded, Waiting, WaitReason
from kgitops.apply.lock_claims import (
    LOCK_PREFIX,
    Claim,
    claim_record,
    claimant,
    first_alive,
    is_claim,
    locked_error,
    read_claim,
)
from kgitops.cluster.port import Cluster, RegistryEntry, RegistryLog
from kgitops.cluster.registry import Release, meta_record, release_record, superseded
from kgitops.desired.claims import former_identities, owned_by, successor
from kgitops.desired.state import Project
from kgitops.model import clock as moments
from kgitops.model.errors import KgitopsError, LockedError, SafetyError, UsageError
from kgitops.model.json.records import Record, check_version
from kgitops.model.registry import DEFAULT_PROJECT, META_KEY, SCHEMA_VERSION, RegistryState
from kgitops.model.wording import resume_command
from kgitops.policy.units import duration_text

_LOOK_AGAIN_MS = 1000


def acquire(context: ApplyContext, *, holder: str) -> "Lock | None":
    """Acquire the lock once no other holder can act under it; None when interrupted while waiting.

    Another holder is waited for as long as the settings say. Read nothing before the lock is
    acquired that is to be written under it: the holder may change all of it.

    A claim whose lease has ended does not block, but its holder may have sent one request before
    it died: one timeout must pass before the outcome of that request is looked up.

    Raises:
        LockedError: another process holds it; the sentence names the holder and the time.
        KgitopsError: what ``context.may_begin`` raises.
    """
    registry, clock = context.cluster.registry, context.clock
    lock = _win_claim(context, holder)
    if lock is None:
        return None
    try:
        safe_ms = lock.safe_from_ms()
        if registry.now_ms() < safe_ms:
            sentence = (
                "the lock's last holder died; waiting until none of its requests is in flight"
            )
            context.on_event(Waiting(reason=WaitReason.LOCK, sentence=sentence))
        while registry.now_ms() < safe_ms:
            if context.interrupted() is not None:
                lock.release()
                return None
            clock.sleep(context.settings.poll_ms / 1000)
            lock.heartbeat()
        lock.take_over()
        context.may_begin()
    except BaseException:
        lock.release()
        raise
    return lock


def wait_until_free(context: ApplyContext) -> int:
    """Wait, without a claim, until no process holds the lock; return what is left of the timeout.

    For a command that reads the cluster before it acquires the lock: the state that it reads is
    then no older than the last holder's work. An interrupt ends the wait early.

    Raises:
        LockedError: another process still holds it at the end of the timeout.
        SafetyError: a claim can't be read.
    """
    watcher = Lock(context.cluster.registry, holder="", settings=context.settings)
    wait = _HolderWait(context)
    wait.until_free(watcher)
    return wait.left_ms


def _win_claim(context: ApplyContext, holder: str) -> "Lock | None":
    """Return a lock whose claim is the first, None when interrupted while waiting for others.

    A waiting process has no claim: it can't block others, and has nothing to renew.
    """
    wait = _HolderWait(context)
    while True:
        registry, settings = context.cluster.registry, context.settings
        lock = Lock(registry, holder=holder, settings=settings, on_event=context.on_event)
        lock.claim(moments.to_text(context.clock.now()))
        try:
            lock.safe_from_ms()
        except LockedError:
            lock.release()
            if not wait.left_ms:
                raise
            if not wait.until_free(lock):
                return None
        except BaseException:
            lock.release()
            raise
        else:
            return lock


class _HolderWait:
    """A wait for other holders of the lock, bounded by the settings and announced once."""

    def __init__(self, context: ApplyContext) -> None:
        self._context = context
        self._timeout_ms = context.settings.lock_timeout_ms or 0
        self._end = context.clock.monotonic() + self._timeout_ms / 1000
        self._is_announced = False

    @property
    def left_ms(self) -> int:
        return max(0, round((self._end - self._context.clock.monotonic()) * 1000))

    def until_free(self, lock: "Lock") -> bool:
        """Return once no process holds the lock; False when interrupted.

        Raises:
            LockedError: one still holds it when the time is over.
            SafetyError: a claim can't be read.
        """
        while (winner := lock.other_holder()) is not None:
            if not self.left_ms:
                raise lock.locked_error(winner)
            if not self._is_announced:
                self._is_announced = True
                limit = duration_text(math.ceil(self._timeout_ms / 1000) * 1000)
                sentence = (
                    f"waiting up to {limit} for the lock that "
                    f"{winner.holder} has held since {winner.since}"
                )
                self._context.on_event(Waiting(reason=WaitReason.LOCK, sentence=sentence))
            if self._context.interrupted() is not None:
                return False
            self._context.clock.sleep(min(_LOOK_AGAIN_MS, self.left_ms) / 1000)
        return True


class Lock:
    """A claim on the lock, and the only way to write the registry while holding it."""

    def __init__(
        self,
        registry: RegistryLog,
        *,
        holder: str,
        settings: ApplySettings,
        on_event: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._registry = registry
        self._holder = holder
        self._on_event = on_event
        self._schema_version = SCHEMA_VERSION
        self._key = f"{LOCK_PREFIX}{uuid.uuid4()}"
        self._lease_ms = settings.lease_ms
        self._timeout_ms = settings.timeout_ms
        self._can_wait = settings.lock_timeout_ms is not None
        self._claims: dict[str, Claim] = {}
        self._position = 0
        self._since = ""
        self._earlier: tuple[str, ...] = ()
        self._dead: tuple[str, ...] = ()
        self._fenced = False
        self._released = True
        self._has_written = False

    def claim(self, since: str) -> None:
        """Append a claim; the claims before it in the log decide whether it wins."""
        self._since = since
        entries = self._registry.read()
        first = [meta_record()] if entries is None else []
        self._take_in(entries or ())
        self._released = False
        claim = self._record(renews=None, schema_version=self._schema_version)
        self._registry.append([*first, claim])
        self._catch_up()

    def safe_from_ms(self) -> int:
        """Return the time from which no request of an earlier, dead holder can be in flight.

        Raises:
            LockedError: the lease of an earlier claim has not ended.
        """
        mine = self._mine()
        earlier = sorted(
            (claim for claim in self._claims.values() if claim.order < mine.order),
            key=lambda claim: claim.order,
        )
        for claim in earlier:
            if claim.lease_until_ms > mine.written_ms:
                raise self.locked_error(claim)
        self._earlier = tuple(claim.key for claim in earlier)
        ends = [claim.lease_until_ms + self._timeout_ms for claim in earlier]
        return max(ends, default=0)

    def other_holder(self) -> Claim | None:
        """Read on in the log, and return the claim of the other process that holds the lock.

        Raises:
            SafetyError: a claim can't be read.
        """
        self._take_in(self._registry.read(self._position) or ())
        others = (claim for claim in self._claims.values() if claim.key != self._key)
        return first_alive(others, self._registry.now_ms())

    def locked_error(self, claim: Claim) -> LockedError:
        """Build the error for a lock that another process holds by ``claim``."""
        waits = ", or wait for it with --lock-timeout 10m" if self._can_wait else ""
        return locked_error(claim, f"try again when that run is done{waits}")

    def take_over(self) -> None:
        """Fence out the dead holders after waiting for them, and drop their claims.

        A process that was suspended while waiting must not fence out a later holder, so the claim
        is checked first.

        Raises:
            LockedError: the claim no longer holds.
        """
        self._catch_up()
        self._alive()
        self._fenced = True
        self._registry.fence()
        # What an earlier writer had begun is now either written or void.
        self._catch_up()
        self._alive()
        if self._registry.now_ms() < self.safe_from_ms():
            raise self._lost()
        self._dead = self._earlier

    def append(self, records: Sequence[Record]) -> None:
        """Write ``records`` and renew the lease, all or nothing; then check that it still holds.

        Raises:
            LockedError: the lease had ended, so another process may hold the lock. Readers ignore
                records that were written after a takeover; nothing may be sent.
        """
        renewal = self._record(renews=self._alive())
        self._has_written = self._has_written or bool(records)
        self._write([renewal, *self._dead_claim_removals(), *records])
        self._dead = ()
        self._catch_up()
        self._alive()

    def heartbeat(self) -> None:
        """Renew the lease when it is half over or shorter than a request may take.

        Raises:
            LockedError: it has ended, or can't be renewed to outlast a request.
        """
        self._catch_up()
        if self._left_ms() <= max(self._timeout_ms, self._lease_ms // 2):
            self.append([])
            if self._left_ms() <= self._timeout_ms:
                raise self._lost()

    @property
    def until_ms(self) -> int:
        """The end of the lease, by the registry's clock: nothing may be sent later.

        Raises:
            LockedError: it has ended.
        """
        return self._alive().lease_until_ms

    def close(self, records: Sequence[Record]) -> None:
        """Write the last records and release the lock in the same append.

        Raises:
            LockedError: the lease had ended.
        """
        self._catch_up()
        self._alive()
        self._write([*records, *self._dead_claim_removals(), (self._key, None)])
        self._released = True
        self._unfence()

    def release(self) -> None:
        """Release the lock. An error is ignored, because the lease then ends by itself."""
        if not self._released:
            self._released = True
            with suppress(KgitopsError):
                self._registry.append([(self._key, None)])
        self._unfence()

    def _write(self, records: Sequence[Record]) -> None:
        """Append; if another process has become the only writer, raise an error that names it.

        The first write on a registry of an older schema version raises that version.
        """
        before = self._schema_version
        own_meta = dict(records).get(META_KEY)
        upgrades = before < SCHEMA_VERSION
        try:
            add_meta = upgrades and own_meta is None
            self._registry.append([meta_record(), *records] if add_meta else records)
        except LockedError:
            with suppress(KgitopsError):
                self._catch_up()
            raise self._lost() from None
        if upgrades and (own_meta is None or own_meta["schema_version"] == SCHEMA_VERSION):
            self._schema_version = SCHEMA_VERSION
            sentence = (
                f"the registry of this cluster now has schema version {SCHEMA_VERSION}: older "
                "versions of kgitops refuse this cluster; upgrade its pipelines, loops and gateways"
            )
            self._on_event(RegistryUpgraded(before=before, after=SCHEMA_VERSION, sentence=sentence))

    def _unfence(self) -> None:
        if self._fenced:
            self._fenced = False
            self._registry.unfence()

    def _dead_claim_removals(self) -> list[Record]:
        return [(key, None) for key in self._dead]

    def _record(self, *, renews: Claim | None, schema_version: int = SCHEMA_VERSION) -> Record:
        return claim_record(
            self._key,
            holder=self._holder,
            since=self._since,
            lease_ms=self._lease_ms,
            renews=renews,
            schema_version=schema_version,
        )

    def _catch_up(self) -> None:
        entries = self._registry.read(self._position)
        if entries is None:
            raise SafetyError(
                "the registry vanished while the lock was held; find out who removed it, then "
                "make a new plan"
            )
        self._take_in(entries)

    def _take_in(self, entries: Sequence[RegistryEntry]) -> None:
        past = superseded(entries)
        for entry in entries:
            self._position = entry.offset + 1
            if entry.key == META_KEY and entry.value is not None and entry.offset not in past:
                check_version(entry.key, entry.value)
                self._schema_version = entry.value["schema_version"]
            if not entry.key.startswith(LOCK_PREFIX):
                continue
            if entry.offset in past and not is_claim(entry):
                continue  # it was repaired since
            if entry.value is None:
                self._claims.pop(entry.key, None)
            else:
                self._claims[entry.key] = read_claim(entry, entry.value)

    def _mine(self) -> Claim:
        claim = self._claims.get(self._key)
        if claim is None:
            raise self._lost()
        return claim

    def _alive(self) -> Claim:
        mine = self._mine()
        if self._registry.now_ms() >= mine.lease_until_ms:
            with suppress(KgitopsError):  # only to name the current holder
                self._catch_up()
            raise self._lost()
        return mine

    def _left_ms(self) -> int:
        return self._alive().lease_until_ms - self._registry.now_ms()

    def _lost(self) -> LockedError:
        # Claims of dead holders from before this run are still in the log, and so may others be.
        others = (claim for claim in self._claims.values() if claim.key != self._key)
        winner = first_alive(others, self._registry.now_ms())
        then = (
            f"run `{resume_command()}` or make a new plan"
            if self._has_written
            else "run the same command again (it has changed nothing)"
        )
        if winner is not None:
            return LockedError(
                f"{winner.holder} took the lock over at {winner.since}, because this run had not "
                f"renewed it in time; wait until they are done, then {then}"
            )
        return LockedError(
            f"the lock that {self._holder} held since {self._since} was not renewed in time; {then}"
        )


_LONGEST_PAUSE_S = 1.0
_SLICE_S = 0.5
T = TypeVar("T")


class Now(Struct, frozen=True, kw_only=True):
    """The current time of a run, on a monotonic clock in seconds.

    ``deadline`` is the end of the timeout of anything that begins now; ``interrupted`` tells
    whether the run was interrupted.
    """

    seconds: float
    deadline: float
    interrupted: bool


class LeaseKeeper:
    """The waits of a run that holds the lock.

    Each method that waits raises LockedError where the lock was lost meanwhile.
    """

    def __init__(self, context: ApplyContext, lock: Lock) -> None:
        self._context = context
        self._lock = lock

    def now(self) -> Now:
        """Read the current time, its deadline, and whether the run was interrupted."""
        seconds = self._context.clock.monotonic()
        return Now(
            seconds=seconds,
            deadline=seconds + self._context.settings.timeout_ms / 1000,
            interrupted=self._context.interrupted() is not None,
        )

    def keep_lock(self) -> int:
        """Renew the lock when due, so that it outlasts the next request; return the lease's end.

        The end is in ms of the registry's clock. It is enforced again at the socket, because the
        process may be suspended in between.

        Raises:
            LockedError: the lock is lost, so nothing may be sent.
        """
        self._lock.heartbeat()
        return self._lock.until_ms

    def pause(self, seconds: float) -> None:
        """Wait, interrupted or not."""
        self._context.clock.sleep(seconds)
        self.keep_lock()

    def rest(self, seconds: float) -> None:
        """Wait; ends early when interrupted."""
        remaining = seconds
        while remaining > 0 and self._context.interrupted() is None:
            self._context.clock.sleep(min(remaining, _SLICE_S))
            remaining -= _SLICE_S
        self.keep_lock()

    def wait_until(self, seconds: float) -> None:
        """Wait until this monotonic time, for hours if need be; ends early when interrupted."""
        clock = self._context.clock
        while (
            self._context.interrupted() is None and (remaining := seconds - clock.monotonic()) > 0
        ):
            self.pause(min(remaining, _LONGEST_PAUSE_S))

    def work(self, jobs: Iterable[Callable[[], T]], *, at_once: int = 1) -> Sequence[Future[T]]:
        """Run slow jobs in threads, renewing the lock meanwhile; return them ended, in order.

        Once one has failed, or the run was interrupted, no further one begins.
        """
        begun: list[Future[T]] = []
        running: set[Future[T]] = set()
        waiting = iter(jobs)
        failed = False
        renewed_at = self._context.clock.monotonic()
        with ThreadPoolExecutor(at_once) as pool:
            while True:
                if not failed and self._context.interrupted() is None:
                    started = [pool.submit(job) for job in islice(waiting, at_once - len(running))]
                    begun += started
                    running.update(started)
                if not running:
                    return begun
                ended, running = wait(running, _SLICE_S, return_when=FIRST_COMPLETED)
                failed = failed or any(future.exception() for future in ended)
                if running and self._context.clock.monotonic() - renewed_at >= _SLICE_S:
                    self.keep_lock()
                    renewed_at = self._context.clock.monotonic()

    def run(self, job: Callable[[], T]) -> T:
        """Run one slow job in a thread, renewing the lock meanwhile; return its result."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(job)
            while wait([future], _SLICE_S).not_done:
                self.keep_lock()
        return future.result()


def growing(first_ms: int, longest_s: float = _LONGEST_PAUSE_S) -> Iterator[float]:
    """Yield pauses in seconds without end, each twice as long as the one before it."""
    seconds = first_ms / 1000
    while True:
        yield seconds
        seconds = min(seconds * 2, longest_s)


def releasable(cluster: Cluster, project: Project, to: str | None) -> tuple[RegistryState, int]:
    """Return the registry, and the number of objects that the project can release.

    Raises:
        UsageError: the project would release them to itself.
        SafetyError: the registry does not know the project, or another one took it over.
    """
    if to is not None and to in (project.identity, DEFAULT_PROJECT):
        raise UsageError(
            f"--to {to} is not another project; give the uid of the one that takes over"
        )
    registry = cluster.read_state(frozenset()).registry
    known = registry is not None and project.identity in registry.projects
    if registry is None or not known or project.identity == DEFAULT_PROJECT:
        raise SafetyError(
            f"the project {project.name!r} ({project.identity}) was never applied to this cluster, "
            "so it owns nothing to release; run the command in the project that owns the objects"
        )
    heir = successor(project.identity, registry)
    if heir is not None:
        raise SafetyError(
            f"the project {registry.projects.get(heir, heir)!r} ({heir}) took over this project's "
            "objects, so there is nothing to release; release them there"
        )
    mine = {project.identity, *former_identities(project, registry)}
    return registry, len(owned_by(mine, registry.owners))


def write_release(context: ApplyContext, project: Project, to: str | None, *, holder: str) -> bool:
    """Write the release to the project ``to`` under the lock, or withdraw it where it is None.

    Return False where it was interrupted before.

    Raises:
        LockedError: another process holds the lock.
        SafetyError: the project can't release anything, or the registry can't be read.
    """
    lock = acquire(context, holder=claimant(holder, project))
    if lock is None:
        return False
    try:
        releasable(context.cluster, project, to)
        at = moments.to_text(context.clock.now())
        release = None if to is None else Release(to=to, at=at, holder=holder)
        lock.append([release_record(project.identity, release)])
    finally:
        lock.release()
    return True
