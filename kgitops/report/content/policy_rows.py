"""The policies' results of a plan in the order that a reviewer needs, and their counts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from enum import StrEnum

from msgspec import Struct

from kgitops.model.source import Source
from kgitops.model.wording import counted
from kgitops.plan.document.broker_validation import BROKER_POLICY
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, LoadedPolicy, Plan, PolicyResult, WaiverUse
from kgitops.policy.evaluate.bundle import Level, Outcome


class PolicyStatus(StrEnum):
    """The meaning of a result to a reviewer, worst first; the values are the tally's words."""

    DENIED = "denied"
    WAIVED = "waived"
    ADVISED = "advised"
    NOTED = "noted"
    PASSED = "passed"


class ViolationRow(Struct, frozen=True, kw_only=True):
    """One violation, and the change that it is about."""

    change: Change
    result: PolicyResult

    @property
    def place(self) -> Source | None:
        """The place of the violation; None where no document has it."""
        return self.result.source or self.change.source

    @property
    def message(self) -> str:
        """The policy's message, on one line and never empty."""
        return _on_one_line(self.result.message) or "it gives no reason"


class ViolationGroup(Struct, frozen=True, kw_only=True):
    """All violations of one status by one policy at one level."""

    status: PolicyStatus
    policy: str
    level: Level
    remediation: str
    rows: tuple[ViolationRow, ...]

    def by_message(self) -> Iterator[tuple[str, tuple[ViolationRow, ...]]]:
        """The rows with the same message together, in the order of their first."""
        by_text: dict[str, list[ViolationRow]] = {}
        for row in self.rows:
            by_text.setdefault(row.message, []).append(row)
        yield from ((message, tuple(rows)) for message, rows in by_text.items())


def policy_status(result: PolicyResult) -> PolicyStatus:
    """The meaning of a result to a reviewer."""
    if result.outcome is Outcome.PASSED:
        return PolicyStatus.PASSED
    if result.outcome is Outcome.WAIVED:
        return PolicyStatus.WAIVED
    if result.stops:
        return PolicyStatus.DENIED
    return PolicyStatus.ADVISED if result.level is Level.ADVISORY else PolicyStatus.NOTED


def status_totals(plan: Plan) -> dict[PolicyStatus, int]:
    """The number of results of each status; together all results of the plan."""
    totals = Counter(policy_status(result) for change in plan.changes for result in change.policies)
    return {status: totals[status] for status in PolicyStatus}


def violation_rows(plan: Plan) -> Iterator[ViolationRow]:
    """Every violation, waived ones too, in the order of the plan."""
    for change in plan.changes:
        for result in change.policies:
            if result.outcome is not Outcome.PASSED:
                yield ViolationRow(change=change, result=result)


def violation_groups(plan: Plan) -> tuple[ViolationGroup, ...]:
    """The violations by status, hard before soft, then in the order of the policies."""
    order = {policy.name: index for index, policy in enumerate(plan.policies_loaded)}
    loaded = loaded_by_name(plan)
    grouped: dict[tuple[PolicyStatus, Level, str], list[ViolationRow]] = {}
    for row in violation_rows(plan):
        key = policy_status(row.result), row.result.level, row.result.policy
        grouped.setdefault(key, []).append(row)
    statuses, levels = tuple(PolicyStatus), tuple(Level)

    def rank(key: tuple[PolicyStatus, Level, str]) -> tuple[int, int, int]:
        status, level, policy = key
        return statuses.index(status), -levels.index(level), order.get(policy, len(order))

    return tuple(
        ViolationGroup(
            status=status,
            policy=policy,
            level=level,
            remediation=_on_one_line(loaded[policy].remediation) if policy in loaded else "",
            rows=tuple(grouped[status, level, policy]),
        )
        for status, level, policy in sorted(grouped, key=rank)
    )


def loaded_by_name(plan: Plan) -> dict[str, LoadedPolicy]:
    """The policies that judged the plan, by name."""
    return {policy.name: policy for policy in plan.policies_loaded}


def denying(change: Change) -> tuple[str, ...]:
    """The policies that stop the change, each once."""
    return tuple(dict.fromkeys(result.policy for result in change.policies if result.stops))


def today_of(sealed: SealedPlan | None) -> date | None:
    """The day on which the plan was sealed, so that the same plan is always shown alike."""
    return sealed.created.date() if sealed else None


def tally(plan: Plan, today: date | None) -> str:
    """``5 passed, 2 denied, 1 waived (expires 2026-02-01, 71 days left, owner @data)``.

    Counts policies. One has passed if it let pass every request; else it counts in each of its
    other statuses.
    """
    totals = _policies_by_status(plan)
    if not any(totals.values()):
        loaded = counted(len(plan.policies_loaded), "policy")
        return f"{loaded} loaded, none applies to a change"
    others = [
        f"{count:,} {status}{_more(plan, status, count, today)}"
        for status, count in totals.items()
        if count and status is not PolicyStatus.PASSED
    ]
    return ", ".join((f"{totals[PolicyStatus.PASSED]:,} passed", *others))


def _policies_by_status(plan: Plan) -> dict[PolicyStatus, int]:
    statuses: dict[str, set[PolicyStatus]] = {}
    for change in plan.changes:
        for result in change.policies:
            statuses.setdefault(result.policy, set()).add(policy_status(result))
    passed = {PolicyStatus.PASSED}
    totals = Counter(each for found in statuses.values() for each in found - passed or passed)
    return {status: totals[status] for status in PolicyStatus}


def waiver_sentence(use: WaiverUse, today: date | None) -> str:
    """``until 2026-02-01, 71 days left, owner @data, OPS-12: the migration``."""
    return f"until {_expiry(use, today)}, owner {use.owner}, {use.ticket}: {use.reason}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _more(plan: Plan, status: PolicyStatus, count: int, today: date | None) -> str:
    if status is PolicyStatus.WAIVED:
        return f" ({_soonest(plan, today)})"
    changes = sum(change.denied for change in plan.changes)
    # A change may be denied twice, and the plan's own sentence counts changes.
    twice = status is PolicyStatus.DENIED and count != changes
    return f" in {counted(changes, 'change')}" if twice else ""


def _soonest(plan: Plan, today: date | None) -> str:
    # One waiver may lift the denials of many changes.
    uses = {use for row in violation_rows(plan) if (use := row.result.waiver)}
    if not uses:
        return "by an unknown waiver"
    first = min(uses, key=lambda use: (use.expires, use.name))
    verb = "expires" if len(uses) == 1 else f"{counted(len(uses), 'waiver')}, the first expires"
    return f"{verb} {_expiry(first, today)}, owner {first.owner}"


def _expiry(use: WaiverUse, today: date | None) -> str:
    days = days_left(use, today)
    if days is None:
        return use.expires
    return f"{use.expires}, {counted(days, 'day')} left" if days else f"{use.expires}, the last day"


def days_left(use: WaiverUse, today: date | None) -> int | None:
    """Days after ``today`` on which the waiver still holds; None if unknown."""
    try:
        last = date.fromisoformat(use.expires)
    except ValueError:
        return None
    return (last - today).days if today and today <= last else None


def group_heading(group: ViolationGroup) -> str:
    """``DENIED by min-insync (hard)``."""
    verb = "from" if group.status is PolicyStatus.WAIVED else "by"
    return f"{group.status.upper()} {verb} {group.policy} ({group.level})"


def remedy(group: ViolationGroup) -> str:
    """The advice on a policy's violations; empty where the policy itself only failed."""
    if all(row.result.fingerprint is None for row in group.rows):
        return ""
    waive = ", or have it waived" if group.level is Level.SOFT else ""
    return f"what to do: {what_to_do(group.policy, group.remediation)}{waive}"


def what_to_do(policy: str, remediation: str) -> str:
    """The policy's own advice and the command that explains it; the brokers' have no such."""
    advice = remediation.rstrip(". ")
    if policy == BROKER_POLICY.name:
        return advice
    return f"{f'{advice}; ' if advice else ''}see kgitops policy explain {policy}"


def with_advice(text: str, group: ViolationGroup, row: ViolationRow, today: date | None) -> str:
    """A row's text, then the waiver that it passes by, or else the remedy."""
    waiver = row.result.waiver
    what = f"waived {waiver_sentence(waiver, today)}" if waiver else remedy(group)
    return "; ".join(filter(None, (text, what)))


def status_counts(groups: Iterable[ViolationGroup]) -> str:
    """``2 denied, 1 waived`` for a heading."""
    total: Counter[PolicyStatus] = Counter()
    for group in groups:
        total[group.status] += len(group.rows)
    return ", ".join(f"{total[status]:,} {status}" for status in PolicyStatus if total[status])
