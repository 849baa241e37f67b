"""The schedule: which turns are due, which are under way, and when to look again.

No threads and no clock: moments are seconds that never go back, and are given.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)


class _Entry(Struct):
    """One target: when its next turn is due, since when one is under way, and another asked for.

    ``maybe_applied``: the last turn failed in a way that may have taken long, and so may the next.
    """

    due: float
    since: float | None = None
    again: bool = False
    maybe_applied: bool = False


class Schedule(Generic[K]):
    """Decides about turns; a target has at most one under way, and one more asked for after it.

    At most ``concurrency`` are under way. One that takes longer than ``patience_s`` no longer
    counts, so that some that hang don't hold up the others; and those whose last turn failed for
    now take half of the places at most, so that the others find one at once.
    """

    def __init__(
        self, targets: Iterable[K], *, now: float, concurrency: int, patience_s: float
    ) -> None:
        self._entries = {target: _Entry(now) for target in targets}
        self._concurrency = concurrency
        self._patience_s = patience_s

    def take(self, now: float) -> list[K]:
        """Return the targets whose turns begin now, those that are due longest first."""
        counted = [
            entry
            for entry in self._entries.values()
            if entry.since is not None and now - entry.since < self._patience_s
        ]
        free = self._concurrency - len(counted)
        free_to_doubtful = max(1, self._concurrency // 2) - sum(
            one.maybe_applied for one in counted
        )
        due = sorted(
            (
                (entry.due, number, target)
                for number, (target, entry) in enumerate(self._entries.items())
                if entry.since is None and entry.due <= now
            ),
            key=lambda item: item[:2],
        )
        begun: list[K] = []
        for _, _, target in due:
            maybe_applied = self._entries[target].maybe_applied
            if len(begun) >= free:
                break
            if maybe_applied and free_to_doubtful <= 0:
                continue
            free_to_doubtful -= maybe_applied
            self._entries[target].since = now
            begun.append(target)
        return begun

    def ended(self, target: K, now: float, wait_s: float, *, maybe_applied: bool = False) -> None:
        """Note that a turn has ended; the next one is due after ``wait_s``, or now if asked for."""
        entry = self._entries[target]
        entry.since, entry.maybe_applied = None, maybe_applied
        entry.due = now if entry.again else now + wait_s
        entry.again = False

    def ask(self, target: K, now: float) -> None:
        """Let the next turn begin now, or as soon as the one under way has ended."""
        entry = self._entries[target]
        if entry.since is not None:
            entry.again = True
        else:
            entry.due = min(entry.due, now)

    def under_way(self, now: float) -> dict[K, float]:
        """Return the seconds that each turn under way has taken so far."""
        return {
            target: now - entry.since
            for target, entry in self._entries.items()
            if entry.since is not None
        }

    def due_in(self, target: K, now: float) -> float:
        """Return the seconds until the target's next turn; 0 where one is due or under way."""
        entry = self._entries[target]
        return 0.0 if entry.since is not None else max(0.0, entry.due - now)
