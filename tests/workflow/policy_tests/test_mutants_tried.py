"""What becomes of mutants: noticed, not noticed, in circles, or no policy at all."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from workflow.policy_tests.suites import cel, python, suite

from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Policy, PythonPolicy
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.mutants import pool as trial_pool
from kgitops.workflow.policy_tests.mutants import trial as mutant_trial
from kgitops.workflow.policy_tests.mutants.mutants import Mutant, MutantResult, make_mutants
from kgitops.workflow.policy_tests.mutants.pool import TrialPool
from kgitops.workflow.policy_tests.mutants.trial import Trial

CASES = """\
  cases:
    - name: a
      requests:
        - createTopic: {name: a, partitions: 3, replicationFactor: 1}
        - createTopic: {name: b, partitions: 4, replicationFactor: 1}
      expect: [{address: topic/b}]
"""
BODY = "if request.requested_state.num_partitions > 3:\n    raise PolicyViolation('too many')"


@pytest.fixture(autouse=True)
def _no_module_stays(tmp_path: Path) -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def mutant(policy: PythonPolicy, old: str, new: str) -> Mutant:
    """The policy's module with ``new`` for ``old``."""
    assert policy.folder
    code = (policy.folder / "mine.py").read_text()
    assert old in code
    return Mutant(
        seen_in=("p",),
        source=Source("mine.py", 1, 1),
        what="",
        excerpt="",
        module="mine",
        code=code.replace(old, new),
    )


@pytest.mark.parametrize(
    ("old", "new", "fate"),
    [
        ("class", "class", MutantResult.SURVIVED),
        ("'too many'", "'far too many'", MutantResult.SURVIVED),
        ("> 3", ">= 3", MutantResult.CAUGHT),
        ("> 3", "> 4", MutantResult.CAUGHT),
        ("> 3", "> nobody", MutantResult.CAUGHT),
        ("class P", "import nowhere\nclass P", MutantResult.CAUGHT),
        ("class P", "class Q", MutantResult.CAUGHT),
        ("if request", "while True: pass\n        if request", MutantResult.TIMED_OUT),
        ("class P", "while True: pass\nclass P", MutantResult.TIMED_OUT),
    ],
)
def test_the_fate_of_a_mutant_in_python(
    old: str,
    new: str,
    fate: MutantResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gc.freeze()  # else collecting the garbage of all tests before this one could be a circle
    monkeypatch.setattr(mutant_trial, "SECONDS", 0.3)
    policy = python(tmp_path, BODY)
    trial = Trial([policy], [suite(CASES)])
    before = sys.modules["mine"]
    assert trial.run(mutant(policy, old, new)) is fate
    assert sys.modules["mine"] is before
    assert trial.run(mutant(policy, "class", "class")) is MutantResult.SURVIVED


def test_a_base_class_of_another_module_is_changed_for_the_policy_too(tmp_path: Path) -> None:
    base = python(tmp_path, BODY)
    (tmp_path / "other.py").write_text("from mine import P\n\n\nclass Q(P):\n    x = 1\n")
    policy = PythonPolicy(name="p", level=base.level, digest="", class_="other:Q", folder=tmp_path)
    trial = Trial([policy], [suite(CASES)])
    assert [part.module for part in trial.anatomies["p"].parts] == ["mine", "other"]
    assert trial.run(mutant(policy, "class", "class")) is MutantResult.SURVIVED
    assert trial.run(mutant(policy, "> 3", ">= 3")) is MutantResult.CAUGHT


@pytest.mark.parametrize(
    ("expression", "fate"),
    [
        ("requested.partitions <= 3", MutantResult.SURVIVED),
        ("requested.partitions < 3", MutantResult.CAUGHT),
        ("requested.partitions", MutantResult.INVALID),
        ("requested.partitions / 0 > 1", MutantResult.CAUGHT),
    ],
)
def test_the_fate_of_a_mutant_in_cel(expression: str, fate: MutantResult) -> None:
    trial = Trial([cel("requested.partitions <= 3")], [suite(CASES)])
    one = Mutant(
        seen_in=("p",),
        source=Source("p.yaml", 1, 1),
        what="",
        excerpt="",
        policy=cel(expression),
    )
    assert trial.run(one) is fate


def pool(policies: list[Policy], suites: list[Suite], *mutants: Mutant) -> list[MutantResult]:
    told: list[int] = []
    with TrialPool(policies, suites) as opened:
        fates = opened.try_all(mutants, lambda: told.append(1))
    assert len(told) == len(mutants)
    return fates


def test_a_process_that_does_not_answer_is_ended_and_the_rest_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a mutant does, its neighbours' fates are theirs."""
    monkeypatch.setattr(trial_pool, "_ANSWER_SECONDS", 6.0)
    policy = python(tmp_path, BODY)
    stubborn = (
        "while True:\n            try:\n                while True: pass\n"
        "            except BaseException: pass\n        if request"
    )
    fates = pool(
        [policy],
        [suite(CASES)],
        mutant(policy, "class", "class"),
        mutant(policy, "if request", "import time; time.sleep(3600)\n        if request"),
        mutant(policy, "> 3", "> 4"),
        mutant(policy, "if request", "import os; os._exit(0)\n        if request"),
        mutant(policy, "if request", stubborn),
        mutant(policy, "if request", "x = bytearray(2**31)\n        if request"),
        mutant(policy, "class", "class"),
    )
    assert fates == [
        MutantResult.SURVIVED,
        MutantResult.TIMED_OUT,
        MutantResult.CAUGHT,
        MutantResult.TIMED_OUT,
        MutantResult.TIMED_OUT,
        MutantResult.CAUGHT,
        MutantResult.SURVIVED,
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="see docs/reference/policy-limits.md")
def test_what_a_mutant_starts_ends_with_its_process(tmp_path: Path) -> None:
    """Also a daemon in a session of its own."""
    file = tmp_path / "pid"
    daemon = (
        "import os, time\n"
        f"        if not os.path.exists({str(file)!r}) and os.fork() == 0:\n"
        "            os.setsid()\n"
        "            if os.fork() == 0:\n"
        "                os.setsid()\n"
        f"                open({str(file)!r}, 'w').write(str(os.getpid()))\n"
        "                time.sleep(3600)\n"
        "            os._exit(0)\n"
        f"        while not os.path.exists({str(file)!r}): time.sleep(0.01)\n"
        "        if request"
    )
    policy = python(tmp_path, BODY)
    pool([policy], [suite(CASES)], mutant(policy, "if request", daemon))
    assert not psutil.pid_exists(int(file.read_text()))


def test_what_a_policy_prints_is_no_result(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = python(tmp_path, f"print('loud')\n{BODY}")
    assert pool([policy], [suite(CASES)], mutant(policy, "> 3", "> 4")) == [MutantResult.CAUGHT]
    assert capfd.readouterr().out == ""


def test_mutants_are_the_same_each_time_and_code_is_changed_once_for_all_who_use_it(
    tmp_path: Path,
) -> None:
    first = python(tmp_path, BODY)
    second = PythonPolicy(
        name="q", level=first.level, digest="", class_=first.class_, folder=tmp_path
    )
    anatomies = Trial([first, second], []).anatomies
    found = make_mutants([first, second], anatomies, of_project=("p", "q"))
    assert found == make_mutants([first, second], anatomies, of_project=("p", "q"))
    assert {one.seen_in for one in found} == {("p", "q")}
    assert [one.what for one in found] == [
        "> → >=",
        "condition negated",
        "3 → 2",
        "3 → 4",
        "raise dropped",
    ]


def test_what_a_project_only_uses_is_not_its_to_test() -> None:
    """Of a policy of an installed package only the project's own configs are changed."""
    policy = PythonPolicy(
        name="p",
        level=cel("true").level,
        digest="",
        class_="kgitops.policies:PartitionRange",
        configs={"max": "12"},
        folder=Path("/nowhere"),
        source=Source("kgitops.yaml", 3, 3),
    )
    anatomies = Trial([policy], []).anatomies
    used = make_mutants([policy], anatomies, of_project=("p",))
    assert [one.what for one in used] == ["12 → 11", "12 → 13", "config max removed"]
    brought = make_mutants([policy], anatomies, of_project=())
    assert len(brought) > 10
    assert {one.module for one in brought} == {
        "kgitops.policies.partitions",
        "kgitops.policies.topic_rule",
    }
