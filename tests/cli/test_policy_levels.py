"""Levels by outcomes by commands: one verdict everywhere, and waivers that really end (G16)."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
from cli.conftest import Kgitops, Ran
from cli.policed import THREE, TWO, SetClock, in_process, policy, set_clock, waiver, write_policies
from cli.projects import Document, Project

from kgitops.model.registry import Json
from kgitops.policy.evaluate.bundle import fingerprint

__all__ = ["in_process", "set_clock"]

pytestmark = pytest.mark.usefixtures("in_process", "set_clock")

LEVELS = ("off", "info", "advisory", "soft", "hard")
DENYING = ("soft", "hard")
FINGERPRINT = fingerprint("replicas", "topic/orders", "replication factor 2")
FAILING = "requested.configs['retention.ms'] == '1'"
"""There is no such key, so it can't be evaluated."""

OUTCOMES: dict[str, tuple[Document, str, list[Document]]] = {
    "passed": (THREE, "", []),
    "denied": (TWO, "", []),
    "waived": (TWO, "", [waiver()]),
    "waived by its fingerprint": (TWO, "", [waiver(fingerprint=FINGERPRINT)]),
    "expired": (TWO, "", [waiver(expires="2026-11-20")]),
    "too long": (TWO, "", [waiver(expires="2027-02-20")]),
    "malformed": (TWO, "", [waiver(expires="soon")]),
    "unused": (THREE, "", [waiver()]),
    "wrong fingerprint": (TWO, "", [waiver(fingerprint="0123456789abcdef")]),
    "failed": (TWO, FAILING, []),
    "failed, waived": (TWO, FAILING, [waiver()]),
}
"""The topic, the policy's expression if it is another one, and the waivers."""

NOT_SOFT = {
    "off": "is not needed: replicas is off here",
    "info": "is not needed: replicas is info here",
    "advisory": "is not needed: replicas is advisory here",
    "hard": "a hard policy can't be waived",
}
OF_SOFT = {
    "expired": "the waiver old ended with 2026-11-20 (UTC)",
    "too long": "longer than 90 days; let it end by 2027-02-19",
    "unused": "the waiver old is not needed: replicas does not deny topic/orders",
    "wrong fingerprint": "has its fingerprint 0123456789abcdef",
}


def expected(level: str, outcome: str) -> tuple[int, list[str]]:
    """The exit code of a plan and of an apply, and the outcomes of the policy's rows."""
    if outcome == "malformed":
        return 1, []
    if level == "off":
        return 0, []
    if outcome in ("passed", "unused"):
        return 0, ["passed"]
    if level == "soft" and outcome.startswith("waived"):
        return 0, ["waived"]
    return (3 if level in DENYING else 0), ["denied"]


def said_of_waivers(level: str, outcome: str) -> str | None:
    """What every command says of the waiver there is."""
    if not OUTCOMES[outcome][2]:
        return None
    if outcome == "malformed":
        return "spec.expires: 'soon' is not a date"
    return OF_SOFT.get(outcome) if level == "soft" else NOT_SOFT[level]


def arranged(project: Project, level: str, outcome: str) -> None:
    """The policy is written as hard: the project sets its level on the cluster (contract §5)."""
    document, expression, waivers = OUTCOMES[outcome]
    project.write(document)
    of = policy(expression=expression) if expression else policy()
    write_policies(project, of, *waivers)
    cluster = {"policyLevels": {"replicas": level}}
    project.write_file(cluster=cluster, policies=["policies"])


def rows(ran: Ran) -> list[Json]:
    """What the policies said of the only change."""
    (change,) = json.loads(ran.out)["changes"]
    return change["policies"]


@pytest.mark.slow
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("level", LEVELS)
def test_plan_apply_and_saved_plan_have_one_verdict(
    level: str, outcome: str, project: Project, kgitops: Kgitops
) -> None:
    """P201-64, P201-67: exit code, rows and what is said of waivers; nothing is sent if denied."""
    arranged(project, level, outcome)
    code, outcomes = expected(level, outcome)
    said = said_of_waivers(level, outcome)

    validated = kgitops("validate", project.folder)
    assert validated.code == (1 if code == 1 else 0)
    planned = kgitops("plan", project.folder, "-o", project.plan_file, "--format", "json")
    assert planned.code == code, planned.said
    text = kgitops("plan", project.folder)
    assert text.code == code
    if code == 1:
        assert said in validated.said
        assert said in text.said
        ran = kgitops("apply", project.folder, "--auto-approve")
        assert ran.code == 1
        assert project.records() == []
        return
    assert [row["outcome"] for row in rows(planned)] == outcomes
    assert {row["level"] for row in rows(planned)} <= {level}
    loaded = [(item["name"], item["level"]) for item in json.loads(planned.out)["policies_loaded"]]
    assert loaded == ([] if level == "off" else [("replicas", level)])
    if said:
        assert said in text.said
        # Two of them are only known once something is judged.
        assert said in validated.said or OF_SOFT.get(outcome) == said

    assert kgitops("show", project.plan_file).code == code
    for words in (("apply", project.plan_file), ("apply", project.folder, "--auto-approve")):
        ran = kgitops(*words)
        assert ran.code == code, ran.said
        if code:
            assert project.records() == []
            assert "replicas" in ran.said
        else:
            with closing(project.connect()) as cluster:
                assert "orders" in cluster.read_state().topics


# Waivers end at midnight, UTC


@pytest.fixture
def timezone() -> Iterator[object]:
    """Sets the local time zone."""
    before = os.environ.get("TZ")

    def set_zone(name: str) -> None:
        os.environ["TZ"] = name
        time.tzset()

    yield set_zone
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


ZONES = ["UTC", "Pacific/Kiritimati", "America/New_York", "Pacific/Pago_Pago"]
MOMENTS = [
    ("2026-11-21", "2026-11-21T00:00:00", 0),
    ("2026-11-21", "2026-11-21T23:59:59", 0),
    ("2026-11-21", "2026-11-22T00:00:00", 3),
    ("2028-02-29", "2028-02-29T23:59:59", 0),
    ("2028-02-29", "2028-03-01T00:00:00", 3),
    ("2026-11-01", "2026-11-01T23:59:59", 0),  # New York's clocks go back
    ("2026-11-01", "2026-11-02T00:00:00", 3),
    ("2026-03-08", "2026-03-08T23:59:59", 0),  # and forward
    ("2026-03-08", "2026-03-09T00:00:00", 3),
]


@pytest.mark.parametrize(("expires", "moment", "code"), MOMENTS)
@pytest.mark.parametrize("zone", ZONES)
def test_a_waiver_ends_at_midnight_utc_wherever_one_is(
    zone: str,
    expires: str,
    moment: str,
    code: int,
    project: Project,
    kgitops: Kgitops,
    set_clock: SetClock,
    timezone,
) -> None:
    timezone(zone)
    project.write(TWO)
    write_policies(project, policy(level="soft"), waiver(expires=expires))
    set_clock(datetime.fromisoformat(moment).replace(tzinfo=UTC))
    assert kgitops("plan", project.folder).code == code


def test_a_clock_that_tells_local_time_means_the_same_day(
    project: Project, kgitops: Kgitops, set_clock: SetClock
) -> None:
    project.write(TWO)
    write_policies(project, policy(level="soft"), waiver())
    for moment, code in (
        ("2026-11-22T13:59:59+14:00", 0),
        ("2026-11-22T14:00:00+14:00", 3),
        ("2026-11-21T18:59:59-05:00", 0),
        ("2026-11-21T19:00:00-05:00", 3),
    ):
        set_clock(datetime.fromisoformat(moment))
        assert kgitops("plan", project.folder).code == code, moment


def test_a_waiver_that_ends_between_plan_and_apply_denies(
    project: Project, kgitops: Kgitops, set_clock: SetClock
) -> None:
    """The plan still holds, its waiver does not; nothing is sent."""
    project.write(TWO)
    write_policies(project, policy(level="soft"), waiver())
    set_clock(datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    set_clock(datetime(2026, 11, 22, tzinfo=UTC))
    ran = kgitops("apply", project.plan_file)
    assert ran.code == 3
    assert "all.yaml:10:26: the soft policy replicas denies topic/orders" in ran.said
    assert "(the waiver old no longer lifts it)" in ran.said
    assert project.records() == []


def test_a_waiver_that_ends_while_someone_is_asked_denies(
    project: Project, kgitops: Kgitops, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(TWO)
    write_policies(project, policy(level="soft"), waiver())
    set_clock(datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC))

    def at_midnight(*_: object, **__: object) -> bool:
        set_clock(datetime(2026, 11, 22, tzinfo=UTC))
        return True

    monkeypatch.setattr("kgitops.cli.running.apply_flow.agreed", at_midnight)
    ran = kgitops("apply", project.folder)
    assert ran.code == 3
    assert "(the waiver old no longer lifts it)" in ran.said
    assert project.records() == []
