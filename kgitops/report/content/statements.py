"""The sentences about a whole plan, the same in every format."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from msgspec.structs import replace

from kgitops.model.cluster_state import Validator
from kgitops.model.requests import api_name
from kgitops.model.resources.addresses import object_name
from kgitops.model.verdict import ExitCode, Reason
from kgitops.model.wording import counted, shortened_pair
from kgitops.plan.access import resource_text, restricting_acl
from kgitops.plan.document import risks
from kgitops.plan.document.documents import summary
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.losses import Clause, loss_clauses, losses
from kgitops.plan.document.plan import AccessLoss, Action, Drift, Plan, Takeover
from kgitops.plan.document.risks import RiskLevel
from kgitops.plan.takeovers import description, taken_from
from kgitops.report.content.policy_rows import PolicyStatus, status_totals
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.content.units import with_unit

_STOPS = {
    ExitCode.ERROR: "This plan can't be carried out",
    ExitCode.DENIED: "Denied by policy",
    ExitCode.STALE: "The plan is stale",
    ExitCode.REFUSED: "Refused by a safety rule",
    ExitCode.LOCKED: "Locked by someone else",
    ExitCode.UNREACHABLE: "The cluster can't be reached",
    ExitCode.UNTRUSTED: "The plan can't be trusted",
}
_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*")
"""Text that YAML reads as text without quotes."""
_KEPT = {
    "excluded": "left out by --target, --selector or --exclude",
    "foreign": "of other projects",
    "unmanaged": "that no project manages",
    "not-loaded": "not loaded in this run",
    "other-cluster": "declared for other clusters",
    "protected": "protected",
}
_DRIFT = {
    "restored": "changed outside of kgitops; this plan restores it",
    "accepted": "changed outside of kgitops; the manifests now say the same",
    "undeclared": "set outside of kgitops; left alone",
    "missing": "deleted outside of kgitops; this plan re-creates it",
    "recreated": "deleted and re-created outside of kgitops",
    "unfinished": "changed by a run of this project that did not finish",
    "stays": "changed outside of kgitops; it can't be undone",
    "login": "changed outside of kgitops: the declared password does not log in",
}

_EMBEDDED = "embedded"
_LONGEST_HEADLINE, _LONGEST_TARGET = 120, 30
_Way = Callable[[Callable[[str], str]], str]


def summary_sentence(plan: Plan) -> str:
    """``Plan: 1 to create, …``, or that there is nothing to do."""
    counts = summary(plan)
    notes = _counts({"kept": counts["kept"], "drifted": counts["drift"]})
    if plan.changes:
        planned = _counts({f"to {action}": counts[action] for action in Action})
        denied = _counts({"denied": counts["denied"]})
        return f"Plan: {'; '.join(part for part in (planned, notes, denied) if part)}."
    if plan.verdict.stops:
        return f"No changes are planned{f'; {notes}' if notes else ''}."
    return f"No changes. The cluster matches the manifests.{f' {notes}.' if notes else ''}"


def _counts(found: Mapping[str, int]) -> str:
    """``13 to create, 2 to delete``: what there is none of is not worth a word."""
    return ", ".join(f"{count:,} {words}" for words, count in found.items() if count)


def verdict_sentence(plan: Plan) -> str | None:
    """The reason for which this plan can't be applied, and its exit code; None if it can."""
    verdict = plan.verdict
    if not verdict.stops:
        return None
    why = _STOPS.get(verdict.exit, "This plan can't be applied")
    reasons = counted(len(verdict.reasons), "reason")
    them = "it" if len(verdict.reasons) == 1 else "them"
    return f"{why}: {reasons}, exit {int(verdict.exit)}. Resolve {them} and plan again."


def reason_lines(reasons: Sequence[Reason]) -> list[str]:
    """Each reason with its exit code."""
    return [f"exit {int(reason.exit)}: {reason.sentence}" for reason in reasons]


def reasons_besides_denials(plan: Plan) -> tuple[Reason, ...]:
    """The plan's reasons to stop other than denials, which are shown among the policies."""
    return replace(plan, changes=()).verdict.reasons


def embedded_note(plan: Plan) -> list[str]:
    """A note that the plan is not for a real Kafka; nothing where it is."""
    if plan.target.backend != _EMBEDDED:
        return []
    return [
        f"{plan.target.name} is an embedded cluster, made for trying things out: no Kafka is "
        "changed; to plan for one, declare it below spec.clusters of kgitops.yaml, as "
        "docs/guides/connections.md of kgitops shows, and make it the defaultCluster or name it "
        "with --cluster"
    ]


def notes(plan: Plan) -> list[str]:
    """Notes on the plan's limits and on what was allowed for it."""
    found = []
    if plan.partial:
        found.append("only a part of the project was planned; what was not loaded is kept")
    if plan.base.registry is None:
        found.append("first run on this cluster: nothing is managed yet, so nothing is deleted")
    if plan.allow_deletes:
        allowed = ", ".join(f"{kind}={count}" for kind, count in sorted(plan.allow_deletes.items()))
        found.append(f"deletions past the safety limits are allowed: --allow-deletes {allowed}")
    target = plan.target
    if target.unpinned is not None:
        file, line = target.unpinned.file, target.unpinned.line
        name, cluster_id = terminal_text(target.name), terminal_text(target.cluster_id)
        text = cluster_id if _PLAIN.fullmatch(cluster_id) else f'"{cluster_id}"'
        found.append(
            f"{name} is not pinned; to refuse any other cluster at its address, add beside the "
            f"url at {terminal_text(file)}:{line}: clusterId: {text}"
        )
    found += [
        f"this folder may be empty while objects are removed: --allow-empty-folder {folder}"
        for folder in plan.allow_empty_folders
    ]
    if plan.allow_takeover:
        allowed = " ".join(f"--allow-takeover {identity}" for identity in plan.allow_takeover)
        found.append(f"takeovers without the other project's release are allowed: {allowed}")
    found += [takeover_sentence(takeover, plan) for takeover in plan.takeovers]
    if plan.takeovers:
        found.append(
            "a plan that takes over changes the owner of the objects, and nothing else; all other "
            "changes follow in the next plan"
        )
    return found


def unfinished_run_sentence(sealed: SealedPlan | None) -> str | None:
    """The project's unfinished run when it was planned, and the command that finishes it."""
    run = sealed.unfinished_run if sealed else None
    if run is None:
        return None
    done = f"{counted(run.done, 'step')} done" if run.done else "no step is known to be done"
    finish = f"`{run.resume}` finishes it"
    if run.locked_by:
        finish = f"{run.locked_by} holds the lock and may be at work on it; if not, {finish}"
    return (
        f"the run {run.run_id} of this project is not finished (begun {run.started} by "
        f"{run.holder}, {done}); {finish}"
    )


def takeover_sentence(takeover: Takeover, plan: Plan) -> str:
    """Describe the project that loses objects, how many, and its consent."""
    taken = taken_from(takeover, plan.changes)
    if takeover.released:
        consent = "it released them"
    elif takeover.identity in plan.allow_takeover:
        consent = "it did not release them"
    else:
        consent = "it has to release them first"
    return (
        f"takes over {taken:,} of {counted(takeover.objects, 'object')}: {description(takeover)}; "
        f"{consent}"
    )


def checked_sentence(plan: Plan) -> str | None:
    """The number of requests by their judge; None without requests."""
    requests = plan.requests
    if not requests:
        return None
    by = Counter(planned.validated for planned in requests)
    apis = sorted({api_name(p.request) for p in requests if p.validated is Validator.NOT_SUPPORTED})
    judged = {
        "by the broker": by[Validator.BROKER],
        "by kgitops alone": by[Validator.CLIENT],
        f"({', '.join(apis)}) can't be checked ahead": by[Validator.NOT_SUPPORTED],
    }
    first, _, rest = _counts(judged).partition(" ")
    return f"{first} of {counted(len(requests), 'request')} {rest}"


def loss_sentence(loss: AccessLoss) -> str:
    """``User:billing can no longer Read topic orders.v1``."""
    requester = " (this is who applies the plan)" if loss.requester else ""
    return f"{loss.principal} can no longer {loss.operation} {loss.resource}{requester}"


def other_losses(plan: Plan) -> list[AccessLoss]:
    """The lost rights that are not shown at the change which takes them away."""
    shown: set[tuple[str, str, str]] = set()
    for change in plan.changes:
        rule = restricting_acl(change)
        if rule is not None:
            where = rule.principal, resource_text(rule)
            shown |= {(*where, str(each)) for each in change.impact.get("rights_lost", ())}
    return [
        loss
        for loss in plan.access_losses
        if loss.requester or (loss.principal, loss.resource, loss.operation) not in shown
    ]


def kept_counts(plan: Plan) -> list[tuple[str, int, list[str]]]:
    """Per rule: what it means, how many objects, their addresses."""
    by_rule: dict[str, list[str]] = {}
    for kept in plan.kept:
        by_rule.setdefault(kept.rule, []).append(kept.address)
    return [
        (_KEPT.get(rule, rule), len(addresses), addresses)
        for rule, addresses in sorted(by_rule.items())
    ]


def drift_sentence(drift: Drift, *, full: bool) -> str:
    """``topic audit  retention.ms 1 (…) -> 2 (…)  changed outside of kgitops; …``."""
    name = str(object_name(drift.address))
    by = f", by {drift.by} at {drift.at}" if drift.by else ""
    meaning = f"{_DRIFT.get(drift.rule, drift.rule)}{by}"
    if not drift.path:
        return f"{name}  {meaning}"
    sides = drift.last_applied or "", drift.found or ""
    short = sides if full else shortened_pair(*sides)
    values = [
        "(not set)" if side is None else with_unit(drift.path, side) if text == side else text
        for side, text in zip((drift.last_applied, drift.found), short, strict=True)
    ]
    label = drift.path.removeprefix("configs.").removeprefix("quotas.").removeprefix("scram.")
    return f"{name}  {label} {values[0]} -> {values[1]}  {meaning}"


def plan_headline(plan: Plan, name: Callable[[str], str] = terminal_text) -> str:
    """The first line: the cluster, then losses, disruptions, denials, waivers and the exit.

    It has at most 120 characters: names are left out first, then the less severe risks, which are
    counted. ``name`` makes a name safe for the format of the line.
    """
    said = [*_judged(plan)]
    if plan.verdict.stops:
        said.append(f"stops with exit {int(plan.verdict.exit)}")
    clauses = [*loss_clauses(plan), *map(Clause, _disruptive(plan))]
    if not clauses and not said:
        said = ["nothing risky" if plan.changes else "no changes"]
    targets = plan.target.name, _beginning(plan.target.name, _LONGEST_TARGET)
    ways = [*product(targets, _ever_shorter(clauses, said))]

    def line(target: str, way: _Way, name: Callable[[str], str]) -> str:
        return f"kgitops plan for {name(target)}: {way(name)}"

    for target, way in ways:
        if len(line(target, way, terminal_text)) <= _LONGEST_HEADLINE:
            return line(target, way, name)
    shortest = ways[-1][1]
    room = _LONGEST_HEADLINE - len(line("", shortest, terminal_text))
    return line(_beginning(plan.target.name, room), shortest, name)


def _beginning(target: str, longest: int) -> str:
    """Return the first characters of the name of the cluster."""
    if len(terminal_text(target)) <= longest:
        return target
    room = longest - len("...")  # no character is shown as less than one
    ends = range(min(len(target), room), -1, -1)
    fits = (end for end in ends if len(terminal_text(target[:end])) <= room)
    return f"{target[: next(fits, 0)]}..."


def _ever_shorter(clauses: Sequence[Clause], said: Sequence[str]) -> Iterator[_Way]:
    """Ways to say all of it: with names, with fewer, and with the last clauses only counted."""

    def way(shown: int, named: int, end: Sequence[str], name: Callable[[str], str]) -> str:
        words = [
            clause.sentence(name, named=at < named) for at, clause in enumerate(clauses[:shown])
        ]
        if shown < len(clauses):
            words.append(counted(len(clauses) - shown, "further risk"))
        return "; ".join([*words, *end])

    for named in range(len(clauses), -1, -1):
        yield partial(way, len(clauses), named, said)
    for shown in range(len(clauses) - 1, 0, -1):
        yield partial(way, shown, 0, said)
    yield partial(way, min(1, len(clauses)), 0, said[-1:])


def _judged(plan: Plan) -> Iterator[str]:
    denied = sum(change.denied for change in plan.changes)
    judged = {"denied": denied, "waived": status_totals(plan)[PolicyStatus.WAIVED]}
    yield from (f"{word} ({count:,})" for word, count in judged.items() if count)


def loss_summary(plan: Plan, name: Callable[[str], str] = terminal_text) -> str:
    """``3 topics are deleted: a, b, c; 4 rights are revoked: User:x``; empty without a risk.

    ``name`` makes a name safe for the format of the line.
    """
    return "; ".join(filter(None, (losses(plan, name), *_disruptive(plan))))


def _disruptive(plan: Plan) -> Iterator[str]:
    emptied = sum(change.risk is risks.EMPTY_TOPIC_DELETE for change in plan.changes)
    if emptied:
        yield f"{counted(emptied, 'empty topic')} {_is(emptied)} deleted"
    felt = sum(change.level is RiskLevel.DISRUPTIVE for change in plan.changes) - emptied
    if felt:
        yield f"{counted(felt, 'change')} {_is(felt)} disruptive"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
