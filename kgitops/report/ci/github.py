"""A plan, or the error that prevented it, as GitHub's workflow commands, worst first.

GitHub shows ten annotations of a level a step and drops the rest silently, so what is listed
here ends with one that says how many more there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import StrEnum

from msgspec import Struct

from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.resources.addresses import object_name
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import Reason
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.policy.evaluate.bundle import Level as PolicyLevel
from kgitops.report.content.details import stake
from kgitops.report.content.lowering import lowering_counts
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationGroup,
    ViolationRow,
    group_heading,
    today_of,
    violation_groups,
    with_advice,
)
from kgitops.report.content.safe_text import guarded_line, terminal_text
from kgitops.report.content.statements import (
    drift_sentence,
    loss_sentence,
    loss_summary,
    other_losses,
    summary_sentence,
    unfinished_run_sentence,
    verdict_sentence,
)

MOST_OF_A_LEVEL = 10
"""https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations"""

_LONGEST = 1_000


class _Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


_LEVELS = {
    PolicyStatus.DENIED: _Level.ERROR,
    PolicyStatus.WAIVED: _Level.WARNING,
    PolicyStatus.ADVISED: _Level.WARNING,
    PolicyStatus.NOTED: _Level.NOTICE,
}


class _Annotation(Struct, frozen=True, kw_only=True):
    level: _Level
    title: str
    message: str
    source: Source | None = None

    def __str__(self) -> str:
        place = self.source
        where = {"file": place.file, "line": place.line, "endLine": place.line} if place else {}
        column = {"col": place.column} if place else {}
        fields = {**where, **column, "title": self.title}
        properties = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
        return f"::{self.level} {properties}::{_data(self.message)}"


def render_github(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """Denials, findings and refusals, then what hurts, then advice and drift.

    The last line says what is lost, and how much is planned; ``sealed`` gives the day from which
    waivers are counted.
    """
    policies = violation_groups(plan)
    today = today_of(sealed)
    annotations = [
        *_of_policies(policies, PolicyStatus.DENIED, today, level=PolicyLevel.HARD),
        *map(_of_finding, _sorted(plan.findings)),
        *map(_of_reason, plan.refusals),
        *_of_policies(policies, PolicyStatus.DENIED, today, level=PolicyLevel.SOFT),
        *(_of_change(change) for change in _risky(plan)),
        *(
            _Annotation(level=_Level.WARNING, title="rights lost", message=loss_sentence(loss))
            for loss in other_losses(plan)
        ),
        *_of_unfinished_run(sealed),
        *_of_policies(policies, PolicyStatus.WAIVED, today),
        *map(_of_finding, _sorted(plan.warnings)),
        *_of_policies(policies, PolicyStatus.ADVISED, today),
        *_of_policies(policies, PolicyStatus.NOTED, today),
        *(
            _Annotation(
                level=_Level.NOTICE, title="drift", message=drift_sentence(drift, full=False)
            )
            for drift in plan.drift
        ),
        *_of_lowering(plan),
    ]
    lost = loss_summary(plan)
    first = f"{lost[0].upper()}{lost[1:]}." if lost else None
    sentences = filter(None, (first, summary_sentence(plan), verdict_sentence(plan)))
    return "\n".join((*_bounded(annotations), guarded_line(terminal_text(" ".join(sentences)))))


def render_github_refusal(error: KgitopsError) -> str:
    """The annotations of an error that prevented a plan."""
    if isinstance(error, FindingsError):
        return "\n".join(_bounded(list(map(_of_finding, _sorted(error.findings)))))
    return "\n".join(_bounded(list(map(_of_reason, error.reasons))))


def render_github_findings(findings: Sequence[Finding], sentence: str) -> str:
    """Findings about manifests; without an error the last line is ``sentence``."""
    last = [guarded_line(terminal_text(line)) for line in sentence.splitlines()]
    return "\n".join((*_bounded(list(map(_of_finding, _sorted(findings)))), *last))


def _bounded(annotations: Sequence[_Annotation]) -> Iterator[str]:
    for level in _Level:
        alike = [annotation for annotation in annotations if annotation.level is level]
        if len(alike) <= MOST_OF_A_LEVEL:
            yield from map(str, alike)
            continue
        shown = alike[: MOST_OF_A_LEVEL - 1]
        yield from map(str, shown)
        more = f"and {counted(len(alike) - len(shown), f'more {level}')}, which GitHub would drop"
        yield str(_Annotation(level=level, title="kgitops", message=f"{more}; see the whole plan"))


def _risky(plan: Plan) -> list[Change]:
    risky = (change for change in plan.changes if change.level is not RiskLevel.SAFE)
    return sorted(risky, key=_gravity)


def _gravity(change: Change) -> tuple[int, bool]:
    return RISK_LEVELS.index(change.level), Action.DELETE not in change.actions


def _of_change(change: Change) -> _Annotation:
    actions = " and ".join(change.actions)
    risk = change.risk
    text = f"{risk.text} ({stake(change)})" if stake(change) else risk.text
    return _Annotation(
        level=_Level.WARNING,
        title=f"{risk.code} {risk.name}",
        message=f"{actions} {object_name(change.address)}: {text}; safer: {risk.safer}",
        source=change.source,
    )


def _of_policies(
    policies: Sequence[ViolationGroup],
    status: PolicyStatus,
    today: date | None,
    *,
    level: PolicyLevel | None = None,
) -> Iterator[_Annotation]:
    for group in policies:
        if group.status is status and level in (None, group.level):
            yield from (_of_row(group, row, today) for row in group.rows)


def _of_row(group: ViolationGroup, row: ViolationRow, today: date | None) -> _Annotation:
    text = f"{object_name(row.change.address)}: {row.message}"
    return _Annotation(
        level=_LEVELS[group.status],
        title=group_heading(group),
        message=with_advice(text, group, row, today),
        source=row.place,
    )


def _of_unfinished_run(sealed: SealedPlan | None) -> Iterator[_Annotation]:
    if unfinished := unfinished_run_sentence(sealed):
        yield _Annotation(level=_Level.WARNING, title="unfinished run", message=unfinished)


def _of_lowering(plan: Plan) -> Iterator[_Annotation]:
    """One annotation for all lines: GitHub shows few, and every plan has the same lines."""
    counts = lowering_counts(plan)
    if counts:
        text = f"what this Kafka does not keep exactly: {counts}; see the whole plan"
        yield _Annotation(level=_Level.NOTICE, title="lowering", message=text)


def _of_finding(finding: Finding) -> _Annotation:
    is_error = finding.severity is Severity.ERROR
    return _Annotation(
        level=_Level.ERROR if is_error else _Level.WARNING,
        title="finding" if is_error else "warning",
        message=f"{finding.problem}; {finding.advice}",
        source=finding.source,
    )


def _of_reason(reason: Reason) -> _Annotation:
    return _Annotation(
        level=_Level.ERROR, title=f"kgitops exit {int(reason.exit)}", message=reason.sentence
    )


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.sort_key)


def _data(text: str) -> str:
    """Text escaped as the runner decodes it: actions/runner, ActionCommand.cs."""
    safe = shortened(terminal_text(text), _LONGEST)
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
