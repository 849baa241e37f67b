"""The page: its contents as values, from the state of the loop at one moment, and as HTML."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from kgitops.model.wording import counted
from kgitops.reconcile.http.page.units import (
    Moment,
    Tone,
    UnitStateRow,
    by_need,
    duration,
    moment,
    unit_row,
)
from kgitops.reconcile.loop_status import LoopStatus, UnitStatus, health_problem, readiness_problems
from kgitops.reconcile.status import PendingPlan
from kgitops.reconcile.wording import apply_command, change_sentence, counts_text, suspension_text
from kgitops.report.html import render as plan_page
from kgitops.report.html.render import content_security_policy, environment, inline

REFRESH_S = 30
_DIGEST = "sha256:"
_HERE = Path(__file__).parent
_PLAN_STYLE = Path(plan_page.__file__).parent / "plan.css"


class PendingCard(Struct, frozen=True, kw_only=True):
    """A plan that waits: what it does, where it is shown, and how it is applied."""

    project: str
    cluster: str
    digest: str
    link: str
    since: Moment
    expires: Moment
    actions: str
    levels: str
    command: str
    problem: str


class Notice(Struct, frozen=True, kw_only=True):
    """A sentence about one project on one cluster."""

    project: str
    cluster: str
    sentence: str


class StatusPage(Struct, frozen=True, kw_only=True):
    """The page, from top to bottom."""

    status: str
    tone: Tone
    summary: str
    unhealthy: str | None
    unready: tuple[str, ...]
    version: str
    started: Moment
    interval: str
    heartbeat: str
    now: str
    refresh: int | None
    pending: tuple[PendingCard, ...]
    changed: tuple[Notice, ...]
    suspended: tuple[Notice, ...]
    fights: tuple[Notice, ...]
    units: tuple[UnitStateRow, ...]


def status_page(status: LoopStatus, now: datetime, ticks: float, *, refresh: bool) -> StatusPage:
    """The page at a moment; ``ticks`` are the monotonic clock's."""
    rows = by_need([unit_row(unit, now) for unit in status.units])
    unhealthy = health_problem(status, ticks)
    verdict, tone = _verdict(status.units, rows, healthy=unhealthy is None)
    return StatusPage(
        status=verdict,
        tone=tone,
        summary=_summary(rows),
        unhealthy=unhealthy,
        unready=readiness_problems(status),
        version=status.version,
        started=moment(status.started, now),
        interval=duration(status.interval),
        heartbeat=f"{duration(max(0.0, ticks - status.heartbeat))} ago",
        now=now.strftime("%Y-%m-%d %H:%M:%S UTC"),
        refresh=REFRESH_S if refresh else None,
        pending=tuple(
            _card(unit, unit.pending, now) for unit in status.units if unit.pending is not None
        ),
        changed=tuple(
            Notice(
                project=unit.project,
                cluster=unit.cluster,
                sentence=change_sentence(unit.cluster_change, unit.cluster),
            )
            for unit in status.units
            if unit.cluster_change is not None
        ),
        suspended=tuple(_suspended(status.units)),
        fights=tuple(
            Notice(project=row.project, cluster=row.cluster, sentence=address)
            for row in rows
            for address in row.fights
        ),
        units=rows,
    )


def _verdict(
    units: Sequence[UnitStatus], rows: Sequence[UnitStateRow], *, healthy: bool
) -> tuple[str, Tone]:
    """The state of all in a few words, and its colour."""
    bad = sum(row.tone is Tone.BAD for row in rows)
    waiting = sum(unit.pending is not None for unit in units)
    drifted = sum(bool(row.drift or row.fights) for row in rows)
    suspended = sum(unit.suspended for unit in units)
    new = sum(not unit.turns for unit in units)
    if not healthy:
        return "The loop does not run", Tone.BAD
    if bad:
        return f"{bad} of {len(rows)} can't be reconciled", Tone.BAD
    if waiting:
        plans = counted(waiting, "plan")
        return f"{plans} {'waits' if waiting == 1 else 'wait'} for somebody", Tone.WAITS
    if drifted:
        return f"{drifted} of {len(rows)} drifted", Tone.WAITS
    if suspended:
        return f"{suspended} of {len(rows)} suspended", Tone.QUIET
    if new or not rows:
        return "First turns are under way", Tone.QUIET
    return "As declared", Tone.GOOD


def _summary(rows: Sequence[UnitStateRow]) -> str:
    clusters = len({row.cluster for row in rows})
    projects = len({row.project for row in rows})
    return f"{counted(projects, 'project')} on {counted(clusters, 'cluster')}"


def _card(unit: UnitStatus, pending: PendingPlan, now: datetime) -> PendingCard:
    hexadecimal = pending.digest.removeprefix(_DIGEST)
    stopped = f"It can't be applied as it is: kgitops apply would end with {int(pending.exit)}."
    return PendingCard(
        project=unit.project,
        cluster=unit.cluster,
        digest=pending.digest,
        link=f"plans/{hexadecimal}" if pending.path else "",
        since=moment(pending.since, now),
        expires=moment(pending.expires, now),
        actions=counts_text(pending.actions),
        levels=counts_text(pending.levels),
        command=apply_command(pending) if pending.applies else "",
        problem="" if pending.applies else stopped,
    )


def _suspended(units: Sequence[UnitStatus]) -> Iterator[Notice]:
    for unit in units:
        if unit.suspended:
            found = unit.suspension
            sentence = suspension_text(found) if found else "the project file suspends it"
            yield Notice(project=unit.project, cluster=unit.cluster, sentence=sentence)


class RenderedPage(Struct, frozen=True, kw_only=True):
    """The page and the policy that it may be shown under."""

    html: bytes
    csp: str


def render_status(
    status: LoopStatus, now: datetime, ticks: float, *, refresh: bool = True
) -> RenderedPage:
    """Render the state at a moment; ``ticks`` are the monotonic clock's."""
    style = inline(_PLAN_STYLE) + inline(_HERE / "status.css")
    csp = content_security_policy(style)
    page = status_page(status, now, ticks, refresh=refresh)
    template = environment(_HERE).get_template("status.html.jinja")
    return RenderedPage(html=template.render(page=page, style=style, csp=csp).encode(), csp=csp)
