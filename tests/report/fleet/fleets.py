"""Runs over made-up fleets, as the renderers get them."""

from collections.abc import Mapping
from functools import cache
from random import Random

from hypothesis import strategies as st

from kgitops.fleet.summary import History, RunSummary, UnitSummary, ViolationCount
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Action
from kgitops.plan.document.risks import RISK_LEVELS
from kgitops.policy.evaluate.bundle import Level, Outcome

CREATED = "2026-11-22T03:00:00Z"


def a_unit(
    cluster: str = "emea-1",
    project: str = "payments",
    *,
    creates: int = 0,
    updates: int = 0,
    deletes: int = 0,
    drift: int = 0,
    denied: int = 0,
    advised: int = 0,
) -> UnitSummary:
    """A unit whose topics change; half of its updates are disruptive."""
    changes = creates + updates + deletes
    acls, quotas, links = creates // 3, updates // 3, creates // 9
    reasons = tuple(
        Reason(exit=ExitCode.DENIED, sentence=f"the hard policy retention-cap denies topic/t{n}")
        for n in range(denied)
    )
    return UnitSummary(
        cluster=cluster,
        project=project,
        identity=f"{project}-id",
        captured_at="2026-11-22T02:58:11Z",
        objects={"Topic": 120, "Acl": 40},
        changes=_some(
            Topic=changes - acls - quotas - links, Acl=acls, ClientQuota=quotas, TopicLink=links
        ),
        actions=_some(create=creates, update=updates, delete=deletes),
        risks=_some(KG100=creates, KG102=deletes, KG120=updates),
        levels={
            key: count
            for key, count in (
                ("data-loss", deletes),
                ("disruptive", updates // 2),
                ("safe", creates + updates - updates // 2),
            )
            if count
        },
        requests=_some(CreateTopic=creates, AlterTopicConfig=updates, DeleteTopic=deletes),
        drift=_some(restored=drift),
        kept={"unmanaged": 7},
        violations=violations(
            {
                key: count
                for key, count in (
                    (("retention-cap", "hard", "denied"), denied),
                    (("topic-naming", "advisory", "denied"), advised),
                )
                if count
            }
        ),
        exit=ExitCode.DENIED if denied else ExitCode.CHANGES if changes else ExitCode.SUCCESS,
        reasons=reasons[:100],
        reason_count=denied,
        files=(f"changes/cluster={cluster}/{project}.parquet",),
        milliseconds=250,
    )


def violations(counts: Mapping[tuple[str, str, str], int]) -> tuple[ViolationCount, ...]:
    """These counts, by policy, level and outcome."""
    return tuple(
        ViolationCount(policy=policy, level=level, outcome=outcome, count=count)
        for (policy, level, outcome), count in sorted(counts.items())
    )


def _some(**counts: int) -> dict[str, int]:
    return {key: count for key, count in counts.items() if count}


def a_failed_unit(
    cluster: str = "apac-9", project: str = "payments", sentence: str = ""
) -> UnitSummary:
    """A unit without a plan."""
    told = sentence or (
        f"states/{cluster}.json is not a snapshot: it is no complete JSON; make a new one with "
        "kgitops snapshot -o"
    )
    return UnitSummary(
        cluster=cluster,
        project=project,
        planned=False,
        exit=ExitCode.UNREACHABLE,
        reasons=(Reason(exit=ExitCode.UNREACHABLE, sentence=told),),
        reason_count=1,
    )


def a_run(*units: UnitSummary, created: str = CREATED, **rest: object) -> RunSummary:
    """A run of these units."""
    return RunSummary(created=created, version="0.7.0", units=units, milliseconds=41_000, **rest)  # type: ignore[arg-type]


def a_history(*runs: RunSummary) -> History:
    """These runs, the oldest first."""
    return History(runs=runs)


def empty() -> History:
    """A run that had nothing to plan."""
    return a_history(a_run())


def lone() -> History:
    """One unit with one change."""
    return a_history(a_run(a_unit(creates=1)))


def calm() -> History:
    """Nothing changes anywhere."""
    return a_history(a_run(*(a_unit(f"emea-{n}") for n in range(1, 21))))


@cache
def all_failed(count: int = 500) -> History:
    """Not one plan could be made."""
    return a_history(a_run(*(a_failed_unit(f"apac-{n}") for n in range(count))))


@cache
def large(count: int = 500, runs: int = 14) -> History:
    """Many clusters over two weeks, with everything that a report has to show; always the same."""
    return a_history(*(_night(count, day) for day in range(1, runs + 1)))


_FAILING = {5: {17, 230}, 6: {17, 230}, 14: {17, 118, 119, 340, 401}}


def _night(count: int, day: int) -> RunSummary:
    dice = Random(day)  # noqa: S311 (the same fleet each time)
    regions = ("emea", "apac", "amer", "latam")
    units = []
    for number in range(count):
        cluster = f"{regions[number % 4]}-{number // 4:03}"
        if number in (
            {17, 230} if day in (5, 6) else {17, 118, 119, 340, 401} if day == 14 else ()
        ):
            units.append(a_failed_unit(cluster))
            continue
        busy = dice.random()
        units.append(
            a_unit(
                cluster,
                creates=dice.randrange(40) if busy > 0.8 else 0,
                updates=dice.randrange(25) if busy > 0.9 else 0,
                deletes=dice.randrange(6) if busy > 0.97 else 0,
                drift=(dice.random() > 0.8) * (day // 3) + (day * 4 if number == 42 else 0),
                denied=dice.randrange(1, 9) if busy > 0.985 else 0,
                advised=dice.randrange(12) if busy > 0.9 else 0,
            )
        )
    if count > 300:
        units[77] = a_unit("apac-019", creates=40 + day * 20, updates=112, deletes=31, denied=14)
        units[300] = a_unit("emea-075", "billing", creates=90, updates=120, drift=64)
    finding = Finding(
        source=Source("projects/crm/kgitops.yaml", 4, 3),
        problem="cluster latam-200 is declared, and no state of it was given",
        advice="give its snapshot with --state, or leave the cluster out",
        severity=Severity.WARNING,
    )
    return a_run(
        *units,
        created=f"2026-11-{day + 8:02}T03:00:0{day % 10}Z",
        findings=(finding,),
        unplanned=("lab-1", "lab-2"),
    )


FLEETS = {
    "empty": empty,
    "lone": lone,
    "calm": calm,
    "all failed": all_failed,
    "large": large,
}

_text = st.text(max_size=8)
_count = st.integers(0, 2**40)
_counts = st.dictionaries(_text, _count, max_size=2)
_source = st.none() | st.builds(Source, _text, _count, _count)
_findings = st.lists(
    st.builds(
        Finding,
        source=_source,
        problem=_text,
        advice=_text,
        severity=st.sampled_from(Severity),
    ),
    max_size=2,
).map(tuple)
_reasons = st.lists(
    st.builds(Reason, exit=st.sampled_from(ExitCode), sentence=_text), max_size=2
).map(tuple)
_milliseconds = st.integers(0, 10**7)
_mostly = {
    "changes": st.dictionaries(st.sampled_from([str(kind) for kind in Kind]), _count),
    "actions": st.dictionaries(st.sampled_from([str(action) for action in Action]), _count),
    "levels": st.dictionaries(st.sampled_from([str(level) for level in RISK_LEVELS]), _count),
}
any_unit = st.builds(
    UnitSummary,
    cluster=_text,
    project=_text,
    identity=_text,
    planned=st.booleans(),
    captured_at=_text,
    **{name: _mostly[name] | _counts for name in _mostly},
    **dict.fromkeys(("objects", "risks", "requests", "drift", "kept"), _counts),
    violations=st.dictionaries(
        st.tuples(
            _text,
            st.sampled_from([str(level) for level in Level]) | _text,
            st.sampled_from([str(outcome) for outcome in Outcome]) | _text,
        ),
        _count,
        max_size=3,
    ).map(violations),
    exit=st.sampled_from(ExitCode),
    reasons=_reasons,
    reason_count=_count,
    findings=_findings,
    finding_count=_count,
    warning_count=_count,
    files=st.lists(_text, max_size=2).map(tuple),
    milliseconds=_milliseconds,
)
_moments = st.integers(0, 10**6).map(
    lambda n: f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:{n // 60 % 60:02}Z"
)
any_run = st.builds(
    RunSummary,
    created=_moments,
    version=_text,
    units=st.lists(any_unit, max_size=4, unique_by=lambda unit: (unit.cluster, unit.project)).map(
        tuple
    ),
    findings=_findings,
    unplanned=st.lists(_text, max_size=3).map(tuple),
    milliseconds=_milliseconds,
)
any_history = st.lists(any_run, min_size=1, max_size=2).map(lambda runs: History(runs=tuple(runs)))
