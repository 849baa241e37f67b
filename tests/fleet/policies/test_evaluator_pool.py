"""Policies stay open from unit to unit, are closed once, and judge each unit as if alone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from patience import eventually
from policy.worker.judgings import STATE, a_creation, a_policy

from kgitops.fleet.policies.evaluator_pool import MOST_OPEN, EvaluatorPool
from kgitops.model.errors import FindingsError, UnreachableError
from kgitops.model.source import Finding, Severity
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator

WARNING = Finding(source=None, problem="it ends soon", advice="renew", severity=Severity.WARNING)


def bundle(*policies: PythonPolicy) -> Bundle:
    return Bundle(policies=policies, today=date(2026, 11, 22))


def recorder(file: Path, level: Level = Level.HARD) -> PythonPolicy:
    return a_policy("good:Recorder", configs={"file": str(file)}, level=level)


@pytest.fixture
def opened() -> list[PolicyEvaluator]:
    """Everyone who was opened."""
    return []


@pytest.fixture
def judges(opened) -> Iterator[EvaluatorPool]:
    def opening(bundle: Bundle) -> PolicyEvaluator:
        opened.append(open_evaluator(bundle))
        return opened[-1]

    judges = EvaluatorPool(opening)
    yield judges
    judges.close()


def plan_a_unit(judges: EvaluatorPool, bundle: Bundle, name: str) -> list[bool]:
    """What judges of a unit do: they wait, are shown a cluster, and judge."""
    with judges.lend(bundle) as policies:
        policies.wait()
        policies.evaluator.begin(STATE, principal="User:alice")
        return [judgement.stops for judgement in policies.evaluator.judge_all([a_creation(name)])]


def lines(file: Path) -> list[str]:
    return [line.split()[0] for line in file.read_text().splitlines()]


def test_policies_are_configured_and_closed_once_for_all_units(judges, opened, tmp_path):
    """P201-44, P201-45."""
    file = tmp_path / "life"
    for number in range(5):
        warned = replace(bundle(recorder(file)), warnings=(WARNING,) * number)
        plan_a_unit(judges, warned, f"t{number}")
    assert lines(file) == ["configure", *["create"] * 5]
    judges.close()
    judges.close()
    assert lines(file) == ["configure", *["create"] * 5, "close"]
    assert len(opened) == 1


def test_another_level_is_another_judge(judges, opened, tmp_path):
    """One cluster's level must not decide on another."""
    for level in (Level.HARD, Level.SOFT, Level.HARD):
        with judges.lend(bundle(recorder(tmp_path / "life", level))) as policies:
            policies.evaluator.begin(STATE, principal="User:alice")
            (ruling,) = policies.evaluator.judge(a_creation("bad"))
            assert (ruling.level, ruling.crashed) == (level, True)
    assert len(opened) == 2


def test_a_unit_is_judged_as_if_alone_whatever_a_policy_did_before(judges, opened):
    """P201-42: three breaches in a run ban a policy; those of other units don't count."""
    bad = bundle(a_policy("bad:Kills"))
    said = []
    for _ in range(4):
        with judges.lend(bad) as policies:
            policies.evaluator.begin(STATE, principal="User:alice")
            (ruling,) = policies.evaluator.judge(a_creation("bad"))
            said.append(ruling.message)
    assert len(set(said)) == 1
    assert "ended its process (SIGKILL)" in said[0]
    assert len(opened) == 4


def test_policies_that_cannot_be_loaded_are_tried_again_for_each_unit(judges, opened):
    for _ in range(2):
        with pytest.raises(FindingsError), judges.lend(bundle(a_policy("good:Nobody"))) as policies:
            policies.wait()
    assert len(opened) == 2


def test_what_fails_in_a_unit_closes_no_policies(judges, opened, tmp_path):
    file = tmp_path / "life"
    with pytest.raises(UnreachableError), judges.lend(bundle(recorder(file))):
        raise UnreachableError("no state; make one")
    plan_a_unit(judges, bundle(recorder(file)), "t")
    assert lines(file) == ["configure", "create"]


def test_few_are_open_and_who_was_not_used_for_longest_is_closed_first(judges, opened, tmp_path):
    files = [tmp_path / f"life{number}" for number in range(MOST_OPEN + 1)]
    for file in (*files[:MOST_OPEN], files[0], files[MOST_OPEN]):
        plan_a_unit(judges, bundle(recorder(file)), "t")
    closed = [file.name for file in files if lines(file)[-1] == "close"]
    assert closed == ["life1"]
    plan_a_unit(judges, bundle(recorder(files[0])), "t")
    assert len(opened) == MOST_OPEN + 1


def test_two_at_a_time_don_t_share_a_judge(judges, opened, tmp_path):
    """A judge serves one plan at a time."""
    with ExitStack() as both:
        first, second = (
            both.enter_context(judges.lend(bundle(recorder(tmp_path / "life")))) for _ in "12"
        )
        assert first.evaluator is not second.evaluator
    assert len(opened) == 2


def test_without_policies_nobody_is_opened(judges, opened):
    with judges.lend(Bundle()) as policies:
        assert policies.evaluator is None
    assert opened == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "end",
    ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)", "1 / 0"],
)
def test_policies_are_closed_once_however_their_process_ends(tmp_path, end):
    """P201-45: Spark ends its Python processes without what Python runs at their end."""
    file = tmp_path / "life"
    program = f"""
import os, sys
sys.path[:] = {sys.path!r}
from datetime import date
from pathlib import Path
from fleet.policies.test_evaluator_pool import bundle, plan_a_unit, recorder
from kgitops.fleet.policies.evaluator_pool import EVALUATOR_POOL
for number in range(2):
    plan_a_unit(EVALUATOR_POOL, bundle(recorder(Path({str(file)!r}))), "t")
{end}
"""
    subprocess.run([sys.executable, "-c", program], check=False, stderr=subprocess.DEVNULL)
    eventually(lambda: lines(file), lambda said: said[-1] == "close", what="judges are closed")
    time.sleep(0.5)
    assert lines(file) == ["configure", "create", "create", "close"]


def test_a_fork_leaves_its_parents_judges_alone(tmp_path):
    file = tmp_path / "life"
    program = f"""
import os, sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from fleet.policies.test_evaluator_pool import bundle, plan_a_unit, recorder
from kgitops.fleet.policies.evaluator_pool import EVALUATOR_POOL
mine = bundle(recorder(Path({str(file)!r})))
plan_a_unit(EVALUATOR_POOL, mine, "t")
child = os.fork()
plan_a_unit(EVALUATOR_POOL, mine, "t")
if child:
    os.waitpid(child, 0)
    plan_a_unit(EVALUATOR_POOL, mine, "t")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
    eventually(lambda: lines(file), lambda said: said.count("close") == 2, what="both are closed")
    assert sorted(lines(file)) == [*["close"] * 2, *["configure"] * 2, *["create"] * 4]
