"""The outcome of a fleet run: a value for each unit, and sums over them."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.json.codec import Count, Moment
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide

Counts = Mapping[str, Count]


class ViolationCount(Struct, frozen=True, kw_only=True, order=True):
    """The number of a policy's results at one level that did not pass."""

    policy: str
    level: str
    outcome: str
    count: Count


class UnitSummary(Struct, frozen=True, kw_only=True):
    """The outcome for one project on one cluster.

    ``planned`` is false if there is no plan: ``reasons`` say why. ``objects`` counts the declared
    objects and ``changes`` those that would change, both by kind (``Topic``); ``actions`` counts
    changes by action, ``risks`` by code, ``levels`` by level, ``drift`` and ``kept`` by rule,
    ``requests`` by api. ``violations`` are in their order, each policy, level and outcome once.
    ``reasons`` and ``findings`` hold the first hundred, their numbers all; the tables have every
    one. ``lost`` says which topics, records and rights go, with the first names. ``files`` are the
    run's Parquet files of this unit, relative to its folder.
    """

    cluster: str
    project: str
    identity: str = ""
    planned: bool = True
    captured_at: str = ""
    objects: Counts = field(default_factory=dict)
    changes: Counts = field(default_factory=dict)
    actions: Counts = field(default_factory=dict)
    risks: Counts = field(default_factory=dict)
    levels: Counts = field(default_factory=dict)
    requests: Counts = field(default_factory=dict)
    drift: Counts = field(default_factory=dict)
    kept: Counts = field(default_factory=dict)
    violations: tuple[ViolationCount, ...] = ()
    lost: str = ""
    exit: ExitCode = ExitCode.SUCCESS
    reasons: tuple[Reason, ...] = ()
    reason_count: Count = 0
    findings: tuple[Finding, ...] = ()
    finding_count: Count = 0
    warning_count: Count = 0
    files: tuple[str, ...] = ()
    milliseconds: Count = 0

    @property
    def name(self) -> str:
        """``cluster/project``, for people."""
        return f"{self.cluster}/{self.project}"

    @property
    def change_count(self) -> int:
        """The number of objects that would change."""
        return sum(self.changes.values())


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run of ``fleet plan``.

    ``findings`` are about no single unit: a cluster that is declared and has no state, say.
    ``unplanned`` are clusters with a state that no project is for.
    """

    created: Moment
    version: str
    milliseconds: Count = 0
    units: tuple[UnitSummary, ...] = ()
    findings: tuple[Finding, ...] = ()
    unplanned: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The time that it took."""
        return self.milliseconds / 1_000

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters of all units, in order."""
        return tuple(sorted({unit.cluster for unit in self.units}))

    def total(self, field_name: str) -> dict[str, int]:
        """One of the counts, over all units, by key in order."""
        return total(getattr(unit, field_name) for unit in self.units)


class History(Struct, frozen=True, kw_only=True):
    """One run or more, the oldest first. ``left_out`` counts older ones that were not read."""

    runs: tuple[RunSummary, ...]
    left_out: int = 0

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("a history has at least one run")

    @property
    def latest(self) -> RunSummary:
        """The run that the others are compared with."""
        return self.runs[-1]

    @property
    def previous(self) -> RunSummary | None:
        """The run before the latest, None if there is none."""
        return self.runs[-2] if len(self.runs) > 1 else None


def total(counts: Iterable[Counts]) -> dict[str, int]:
    """The sums by key, in the order of the keys."""
    sums: dict[str, int] = {}
    for count in counts:
        for key, number in count.items():
            sums[key] = sums.get(key, 0) + number
    return dict(sorted(sums.items()))


def verdict(run: RunSummary) -> Verdict:
    """One answer for the whole run, computed as every command does; a reason names its unit."""
    reasons = [
        Reason(exit=ExitCode.ERROR, sentence=str(finding))
        for finding in run.findings
        if finding.severity is Severity.ERROR
    ]
    for unit in run.units:
        reasons += (
            replace(reason, sentence=f"{unit.name}: {reason.sentence}")
            for reason in stopping_reasons(unit)
        )
    return decide(reasons, changes=any(unit.change_count for unit in run.units))


def stopping_reasons(unit: UnitSummary) -> tuple[Reason, ...]:
    """The reasons that the unit has no plan, or one that stops; never empty for such a unit."""
    fine = unit.planned and unit.exit in (ExitCode.SUCCESS, ExitCode.CHANGES)
    if unit.reasons or fine:
        return unit.reasons
    exit_code = ExitCode.ERROR if unit.exit in (ExitCode.SUCCESS, ExitCode.CHANGES) else unit.exit
    return (Reason(exit=exit_code, sentence="it gives no reason; plan it alone to see why"),)
