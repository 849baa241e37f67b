"""The life of a worker: what it is told, how often its policies are asked, how it ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace
from patience import eventually
from policy.worker.judgings import (
    FOLDER,
    STATE,
    a_creation,
    a_policy,
    judging,
    outcomes,
    said,
    started,
)

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.requests import AlterBrokerRequest
from kgitops.policy.evaluate.bundle import Bundle, Level, Waiver
from kgitops.policy.evaluator import open_evaluator
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator

NOTHING = ClusterState(cluster_id="test", backend="embedded")


def test_a_policy_that_breaks_its_limits_hides_nothing_that_was_accepted():
    """P201-41, P201-68: the process that comes after is told the state and what was accepted."""
    first, *others = [
        a_creation(name, partitions=4) for name in ("first", "bad", "second", "third")
    ]

    with judging(a_policy("good:Cap"), a_policy("bad:Exits"), state=NOTHING) as judge:
        assert not judge.judge(first).stops
        judge.accept(first)
        judgements = judge.judge_all(others)

    assert outcomes(judgements) == [
        {"Cap": "passed", "Exits": "crashed"},
        {"Cap": "passed", "Exits": "passed"},
        {"Cap": "denied", "Exits": "passed"},
    ]


def test_whoever_breaks_limits_three_times_is_not_asked_any_more():
    requests = [a_creation(name) for name in ("bad1", "good1", "bad2", "bad3", "good2", "good3")]

    with judging(a_policy("bad:Exits"), a_policy("good:Everything")) as judge:
        judgements = judge.judge_all([*requests, AlterBrokerRequest(broker=1, configs={})])

    exits = [said(ruling) for item in judgements for ruling in item if ruling.policy == "Exits"]
    assert exits == ["crashed", "passed", "crashed", "crashed", "crashed", "crashed"]
    assert judgements[5].message is not None
    assert judgements[5].message.startswith(
        "the policy Exits failed on topic/good3: it broke its limits 3 times in this run and is "
        "not asked any more, so it denies; correct the policy"
    )
    assert [ruling.policy for ruling in judgements[6]] == ["Everything"]


def test_each_policy_has_its_own_three_breaches():
    requests = [a_creation(f"bad{number}") for number in range(4)]

    with judging(a_policy("bad:Exits"), a_policy("bad:Kills")) as judge:
        judgements = judge.judge_all(requests)

    assert outcomes(judgements) == [{"Exits": "crashed", "Kills": "crashed"}] * 4


def test_values_that_nobody_can_change_travel_too():
    request = a_creation("orders", partitions=4)
    fixed = replace(request.requested_state, configs=MappingProxyType({"a": "1"}))

    with judging(a_policy("good:Everything"), a_policy("good:Cap")) as judge:
        judgement = judge.judge(
            replace(request, requested_state=fixed),
            broker_configs=MappingProxyType({"node.id": "1"}),
        )

    assert outcomes([judgement]) == [{"Everything": "denied", "Cap": "passed"}]


def test_long_lists_of_requests_are_judged_in_order():
    names = [f"{'x' * (number % 7)}{number}" for number in range(2500)]

    with judging(a_policy("good:Odd")) as judge:
        judgements = judge.judge_all([a_creation(name) for name in names])

    assert [judgement.stops for judgement in judgements] == [bool(len(name) % 2) for name in names]
    assert len({id(item) for item in judgements if not item.stops}) == 1


def test_no_requests_no_calls(tmp_path: Path):
    """P201-80: a policy that is asked about nothing is only configured and closed."""
    log = tmp_path / "log"

    with judging(a_policy("good:Recorder", configs={"file": str(log)})) as judge:
        assert judge.judge_all([]) == []

    assert log.read_text().splitlines() == ["configure ['file']", "close"]


def test_a_policy_is_configured_once_then_asked_then_closed_once(tmp_path: Path):
    """P201-43, P201-44, P201-45: also after an error, and whatever close raises stops nothing."""
    log = tmp_path / "log"
    policy = a_policy("good:Recorder", configs={"file": str(log), "x": "1"})

    with judging(policy) as judge:
        judge.judge(a_creation("bad"))
        judge.begin(NOTHING, principal="User:bob")
        judge.judge_all([a_creation("good")])
    judge.close()

    assert log.read_text().splitlines() == [
        "configure ['file', 'x']",
        "create bad",
        "create good",
        "close",
    ]


def test_closing_before_anything_was_asked_is_quick_and_says_nothing(
    caplog: pytest.LogCaptureFixture,
):
    judge = WorkerEvaluator([a_policy("bad:HangsInClose")], limits=Limits(closing_seconds=60))
    judge.close()

    assert caplog.messages == []


def test_policies_are_closed_after_an_interrupt(tmp_path: Path):
    """P201-45: Ctrl-C while a policy is at work reaches only the parent, and policies still end."""
    log = tmp_path / "log"
    policies = [a_policy("good:Recorder", configs={"file": str(log)}), a_policy("bad:Naps")]

    with judging(*policies, limits=Limits(closing_seconds=60)) as judge, interrupt_after(0.5):
        judge.judge_all([a_creation("bad")] * 3)

    assert log.read_text().splitlines()[-1] == "close"


def test_after_an_interrupt_judging_goes_on_from_what_is_known():
    with judging(a_policy("good:Cap"), a_policy("bad:Naps"), state=NOTHING) as judge:
        with interrupt_after(0.3):
            judge.judge_all([a_creation("bad", partitions=9)])
        # Nobody was told that it is accepted.
        assert not judge.judge(a_creation("good", partitions=9)).stops


def test_without_any_policy_there_is_no_process():
    off = a_policy("bad:Exits", level=Level.OFF)

    judge = open_evaluator(Bundle(policies=(off,)))
    judge.begin(STATE, principal="User:alice")

    assert not isinstance(judge, WorkerEvaluator)
    assert judge.judge(a_creation("bad")) == ()
    judge.close()


def test_only_waivers_that_have_not_ended_lift_a_denial():
    odd = a_policy("good:Odd", level=Level.SOFT)
    waivers = [
        Waiver(
            name=name,
            policy="Odd",
            address=f"topic/{name}",
            owner="me",
            reason="for now",
            ticket="OPS-1",
            expires=expires,
        )
        for name, expires in (("one", date(2026, 5, 1)), ("two", date(2026, 4, 30)))
    ]

    judge = open_evaluator(Bundle(policies=(odd,), waivers=tuple(waivers), today=date(2026, 5, 1)))
    judge.begin(STATE, principal="User:alice")
    judgements = judge.judge_all([a_creation("one"), a_creation("two")])
    judge.close()

    assert outcomes(judgements) == [{"Odd": "waived"}, {"Odd": "denied"}]
    assert judgements[0][0].waiver == waivers[0]


def test_what_cannot_be_loaded_is_told_before_anything_is_asked():
    """P201-43: every finding at once, at its place, also from the process."""
    policies = [a_policy("nowhere:X"), a_policy("good:Nothing"), a_policy("good:Accepts")]
    judge = open_evaluator(Bundle(policies=tuple(policies)))

    with pytest.raises(FindingsError) as caught:
        judge.begin(STATE, principal="User:alice")
    with pytest.raises(FindingsError):
        judge.judge(a_creation("orders"))
    judge.close()

    assert [finding.problem for finding in caught.value.findings] == [
        "the policy 'Nothing' can't be loaded: good has no class Nothing",
        f"the policy 'X' can't be loaded: there is no module nowhere in {FOLDER} or among the "
        "installed packages",
    ]
    assert str(caught.value.findings[0].source) == "kgitops.yaml:7:3"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("while True: pass", "it took longer than 1 s"),
        ("import os; os._exit(0)", "it ended its process (exit status 0)"),
        (
            "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
            "importing loading failed with MemoryError at loading.py line 2",
        ),
        ("import sys; sys.exit('no')", "importing loading failed with SystemExit: no at"),
        ("raise KeyboardInterrupt", "importing loading failed with KeyboardInterrupt at"),
        ("def (:", "importing loading failed with SyntaxError: invalid syntax at loading.py"),
        (
            "from kgitops.policy import BaseTopicPolicy\n"
            "class X(BaseTopicPolicy):\n"
            "    def configure(self, configs):\n"
            "        while True: pass",
            "it took longer than 1 s",
        ),
    ],
)
def test_loading_is_bounded_like_judging(tmp_path: Path, code: str, problem: str):
    """P201-68: a module that never ends is a finding of its policy."""
    (tmp_path / "loading.py").write_text(code)
    policies = [a_policy("good:Accepts"), a_policy("loading:X", folder=tmp_path)]
    seconds = 1 if "1 s" in problem else 60
    limits = Limits(loading_seconds=seconds, memory=256 << 20)
    judge = WorkerEvaluator(policies, limits=limits)

    with pytest.raises(FindingsError) as caught:
        judge.begin(STATE, principal="User:alice")
    judge.close()

    (finding,) = caught.value.findings
    assert finding.problem.startswith(f"the policy 'X' can't be loaded: {problem}")
    assert str(finding.source) == "kgitops.yaml:7:3"


def test_the_process_holds_none_of_its_parents_files(tmp_path: Path):
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        with judging(a_policy("bad:TellsItsFiles")) as judge:
            files = judge.judge(a_creation("orders")).message

    assert files is not None
    assert "pipe:" in files
    assert "secret" not in files


def test_a_judging_that_is_forgotten_ends_its_process():
    before = started()
    judge = WorkerEvaluator([a_policy("good:Accepts")])
    assert started() > before

    del judge

    eventually(started, lambda left: left == before, what="the worker ends")


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """What is done here must be interrupted, as by Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
