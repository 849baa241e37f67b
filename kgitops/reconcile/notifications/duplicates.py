"""Remembers what was told, so that the same plan or failure is not told again."""

from kgitops.reconcile.events import EventKind, ReconcileEvent

ENDS = {
    EventKind.SYNCED: (EventKind.PENDING, EventKind.DRIFTED, EventKind.FIGHT),
    EventKind.APPLIED: (EventKind.PENDING,),
    EventKind.HEALED: (EventKind.DRIFTED,),
    EventKind.RECOVERED: (EventKind.FAILED,),
    EventKind.SOURCE_RECOVERED: (EventKind.SOURCE_FAILED,),
    EventKind.RESUMED: (EventKind.SUSPENDED,),
}
"""The kinds of event that end others."""
ALARMS = frozenset(kind for ended in ENDS.values() for kind in ended)
"""The kinds that last until an event of another kind ends them."""
_EVERY_TIME = frozenset({EventKind.APPLIED, EventKind.HEALED})
_MOST = 1000

News = tuple[EventKind, str]


class Duplicates:
    """The events that were told and did not end yet, and the last one, of each unit."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lasting: dict[tuple[str, str], dict[News, None]] = {}
        self._last: dict[tuple[str, str], News] = {}

    def is_new(self, event: ReconcileEvent) -> bool:
        """True if this was not told yet; from now on it was."""
        unit = (event.project, event.cluster)
        lasting = self._lasting.setdefault(unit, {})
        news = _news(event)
        if event.kind in ALARMS:
            if news in lasting:
                return False
            lasting[news] = None
            if len(lasting) > _MOST:
                lasting.pop(next(iter(lasting)))
        elif event.kind not in _EVERY_TIME and self._last.get(unit) == news:
            return False
        ended = ENDS.get(event.kind, ())
        self._lasting[unit] = {told: None for told in lasting if told[0] not in ended}
        self._last[unit] = news
        return True


def _news(event: ReconcileEvent) -> News:
    """An event of a plan is known by its digest, others by what they say."""
    return event.kind, event.plan_digest or f"{event.revision} {event.sentence}"
