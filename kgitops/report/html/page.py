"""The page's contents as values, in their order; the template only places them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from kgitops import __version__
from kgitops.model import clock
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding
from kgitops.plan.document.file import SealedPlan, plan_digest
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.report.content.lowering import LoweringRow, lowering_counts, lowering_rows
from kgitops.report.content.policy_rows import PolicyStatus, tally, today_of
from kgitops.report.content.sections import never_folded, sections, worst_level
from kgitops.report.content.statements import (
    checked_sentence,
    drift_sentence,
    embedded_note,
    kept_counts,
    loss_sentence,
    loss_summary,
    notes,
    other_losses,
    reason_lines,
    reasons_besides_denials,
    summary_sentence,
    unfinished_run_sentence,
    verdict_sentence,
)
from kgitops.report.content.virtual_clusters import VirtualClusterSummary, virtual_cluster_summaries
from kgitops.report.html.brokers import BrokerChart, byte_chart, replica_chart
from kgitops.report.html.drawing import draw
from kgitops.report.html.graph import Graph, dependency_graph
from kgitops.report.html.pieces import (
    NOT_JUDGED,
    Facet,
    FacetChoice,
    Fact,
    Limited,
    PolicyBar,
    Segment,
    Share,
    ViolationList,
    limited,
    policy_bars,
    segments,
    statuses_of,
    violations,
)
from kgitops.report.html.rows import ChangeGroup, hidden_in_brief, may_be_brief, row_of
from kgitops.report.virtual_clusters.graph import graph_of_plan
from kgitops.report.virtual_clusters.svg import svg_element

_BRIEF_ABOVE = 2_000
_OPEN_ROWS = 12
_OPEN_GROUP = 60
_TENANTS = 100


class Page(Struct, frozen=True, kw_only=True):
    """The page, from top to bottom."""

    target: str
    status: str
    tone: str
    verdict: str | None
    lost: str
    summary: str
    facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    shares: tuple[Share, ...]
    bar: tuple[Segment, ...]
    stops: Limited[str]
    losses: Limited[str]
    denials: tuple[ViolationList, ...]
    lifted: tuple[ViolationList, ...]
    warnings: Limited[Finding]
    total: int
    brief: str | None
    facets: tuple[Facet, ...]
    groups: tuple[ChangeGroup, ...]
    drift: Limited[str]
    kept: tuple[tuple[str, int, Limited[str]], ...]
    checked: str | None
    policies: tuple[PolicyBar, ...]
    tally: str
    replicas: BrokerChart | None
    bytes: BrokerChart | None
    graph: Graph | None
    drawing: Markup | None
    tenants: tuple[VirtualClusterSummary, ...]
    tenants_left_out: int
    map: Markup | None
    lowering: tuple[LoweringRow, ...]
    lowering_total: int
    lowering_counts: str
    version: str
    digest: str


def page_of(plan: Plan, sealed: SealedPlan | None) -> Page:
    """Everything there is to say about the plan."""
    digest = sealed.plan_digest if sealed else plan_digest(plan)
    today = today_of(sealed)
    anchors = {id(change): f"c{number}" for number, change in enumerate(plan.changes, start=1)}
    status, tone = _status(plan)
    levels = Counter(change.level for change in plan.changes)
    violation_lists = tuple(violations(plan, anchors, today))
    graph = dependency_graph(plan)
    tenants = virtual_cluster_summaries(plan)
    tenant_graph = graph_of_plan(plan)
    return Page(
        target=plan.target.name,
        status=status,
        tone=tone,
        verdict=verdict_sentence(plan),
        lost=loss_summary(plan),
        summary=summary_sentence(plan),
        facts=tuple(_facts(plan, sealed, digest)),
        notes=(
            *embedded_note(plan),
            *notes(plan),
            *([unfinished] if (unfinished := unfinished_run_sentence(sealed)) else []),
        ),
        shares=tuple(
            Share(level=level, words=_words(level), count=levels[level])
            for level in RISK_LEVELS
            if levels[level]
        ),
        bar=segments([(str(level), levels[level]) for level in RISK_LEVELS if levels[level]]),
        stops=limited(reason_lines(reasons_besides_denials(plan))),
        losses=limited([loss_sentence(loss) for loss in other_losses(plan)]),
        denials=tuple(group for group in violation_lists if group.status is PolicyStatus.DENIED),
        lifted=tuple(group for group in violation_lists if group.status is not PolicyStatus.DENIED),
        warnings=limited(plan.warnings),
        total=len(plan.changes),
        brief=_brief(plan.changes),
        facets=tuple(facet for facet in _facets(plan) if len(facet.choices) > 1),
        groups=tuple(_groups(plan, sealed, anchors)),
        drift=limited([drift_sentence(drift, full=True) for drift in plan.drift]),
        kept=tuple(
            (meaning, count, limited(addresses, first=0))
            for meaning, count, addresses in kept_counts(plan)
        ),
        checked=checked_sentence(plan),
        policies=tuple(policy_bars(plan)),
        tally=tally(plan, today),
        replicas=replica_chart(plan),
        bytes=byte_chart(plan),
        graph=graph,
        drawing=Markup(draw(graph)) if graph else None,  # noqa: S704 (escaped where it is made)
        tenants=tenants[:_TENANTS],
        tenants_left_out=max(0, len(tenants) - _TENANTS),
        map=Markup(svg_element(tenant_graph)) if tenant_graph else None,  # noqa: S704 (as above)
        lowering=lowering_rows(plan, full=False),
        lowering_total=len(plan.lowering),
        lowering_counts=lowering_counts(plan),
        version=__version__,
        digest=digest,
    )


def _status(plan: Plan) -> tuple[str, str]:
    """The verdict in a few words, and how it is coloured."""
    sentence = verdict_sentence(plan)
    if sentence:
        return sentence.partition(":")[0], "stops"
    if not plan.changes:
        return "No changes", "safe"
    worst = worst_level(plan)
    if worst is RiskLevel.SAFE:
        return "Can be applied", "safe"
    risk = "disruption" if worst is RiskLevel.DISRUPTIVE else _words(worst)
    return f"Can be applied, with {risk}", str(worst)


def _facts(plan: Plan, sealed: SealedPlan | None, digest: str) -> Iterator[Fact]:
    target, desired = plan.target, plan.desired
    yield Fact(label="Cluster", value=target.name, more=target.backend)
    yield Fact(label="Cluster id", value=target.cluster_id, code=True)
    yield Fact(label="Project", value=desired.project)
    if desired.git_sha:
        dirty = "uncommitted changes" if desired.dirty else ""
        yield Fact(label="Git", value=desired.git_sha[:12], more=dirty, code=True)
    base = sealed.captured_at if sealed and sealed.captured_at else plan.base.digest[:19]
    yield Fact(label="Base", value=base)
    yield Fact(label="Principal", value=plan.principal)
    if sealed:
        yield Fact(label="Made", value=clock.to_text(sealed.created))
        yield Fact(label="Expires", value=clock.to_text(sealed.expires))
    yield Fact(label="Plan", value=digest, code=True)
    if plan.changes and not plan.verdict.stops:
        command = f"kgitops apply PLAN --expect-digest {digest}"
        yield Fact(label="Next", value=command, code=True)


def _brief(changes: Sequence[Change]) -> str | None:
    """The note about brief rows; None where there are none."""
    return hidden_in_brief(sum(map(may_be_brief, changes))) if _is_large(changes) else None


def _is_large(changes: Sequence[Change]) -> bool:
    return len(changes) > _BRIEF_ABOVE


def _facets(plan: Plan) -> Iterator[Facet]:
    changes = plan.changes
    actions = Counter(action for change in changes for action in change.actions)
    kinds = Counter(change.kind for change in changes)
    levels = Counter(change.level for change in changes)
    yield _facet("action", "Action", [(str(item), str(item), actions[item]) for item in Action])
    yield _facet("kind", "Kind", [(str(item), str(item), kinds[item]) for item in Kind])
    yield _facet("level", "Risk", [(str(item), _words(item), levels[item]) for item in RISK_LEVELS])
    if plan.policies_loaded or any(change.policies for change in changes):
        statuses = Counter(status for change in changes for status in statuses_of(change))
        names = (*map(str, PolicyStatus), NOT_JUDGED)
        yield _facet("policy", "Policy", [(name, name, statuses[name]) for name in names])


def _facet(name: str, legend: str, counts: Sequence[tuple[str, str, int]]) -> Facet:
    choices = tuple(FacetChoice(value=v, words=w, count=n) for v, w, n in counts if n)
    return Facet(name=name, legend=legend, choices=choices)


def _groups(
    plan: Plan, sealed: SealedPlan | None, anchors: Mapping[int, str]
) -> Iterator[ChangeGroup]:
    """The sections; some rows are open where a policy denies or something is lost."""
    brief = _is_large(plan.changes)
    grave = [change for section in sections(plan) for change in section.changes]
    grave = sorted(filter(never_folded, grave), key=lambda change: not change.denied)
    opened = {id(change) for change in grave[:_OPEN_ROWS]}
    for section in sections(plan):
        yield ChangeGroup(
            title=section.title,
            level=section.level,
            open=len(section.changes) <= _OPEN_GROUP or any(map(never_folded, section.changes)),
            rows=tuple(
                row_of(
                    change,
                    anchors[id(change)],
                    today=today_of(sealed),
                    brief=brief,
                    opened=id(change) in opened,
                )
                for change in section.changes
            ),
        )


def _words(level: RiskLevel) -> str:
    return str(level).replace("-", " ")
