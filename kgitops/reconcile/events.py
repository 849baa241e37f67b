"""Events of the loop: a change of state that somebody may want to be told of."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.verdict import ExitCode


class EventKind(StrEnum):
    """The kinds of event; each is told when the state changes, not once a turn."""

    SYNCED = "synced"  # the cluster is as declared at this revision
    APPLIED = "applied"  # a plan of changes was applied
    DRIFTED = "drifted"  # others changed what was applied, and it is left so
    HEALED = "healed"  # such a change was undone
    PENDING = "pending"  # a plan waits for somebody to apply it
    FIGHT = "fight"  # an object is changed again and again; it is not healed any more
    FAILED = "failed"  # turns fail since now, or for another reason
    RECOVERED = "recovered"  # the first turn that did not fail
    SOURCE_FAILED = "source-failed"  # no newer revision can be had; the last good one holds
    SOURCE_RECOVERED = "source-recovered"
    SUSPENDED = "suspended"
    RESUMED = "resumed"


class ReconcileEvent(Struct, frozen=True, kw_only=True):
    """One change of state of a project on a cluster; ``at`` is RFC 3339.

    ``sentence`` is the whole event for people, and holds no secret. ``plan_digest`` is of the plan
    that was applied, waits or can't be applied; ``plan_path`` its file where it waits in one.
    ``actions`` and ``levels`` count its changes, ``addresses`` are some of the objects meant.
    """

    kind: EventKind
    at: str
    project: str
    cluster: str
    sentence: str
    revision: str | None = None
    exit: ExitCode = ExitCode.SUCCESS
    plan_digest: str | None = None
    plan_path: str | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
