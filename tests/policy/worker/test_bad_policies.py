"""Whatever a policy does, what it should have judged is denied, and the rest is judged."""

import re
import sys

import pytest
from policy.worker.judgings import a_creation, a_policy, judging, outcomes

from kgitops.model.errors import KgitopsError

GOOD = a_policy("good:Accepts")
# The class, and how the sentence goes on after "the policy Raises ".
CRASHES = {
    "Raises": r"failed on topic/bad with ZeroDivisionError: division by zero at bad.py line \d+,",
    "RaisesSystemExit": "failed on topic/bad with SystemExit: enough at bad.py",
    "RaisesKeyboardInterrupt": "failed on topic/bad with KeyboardInterrupt at bad.py",
    "RaisesGeneratorExit": "failed on topic/bad with GeneratorExit: as bare as can be at",
    "RaisesUnprintable": r"failed on .* with UnprintableError: \(its message can't be read\) at",
    "RaisesUnpicklable": r"failed on .* with ValueError: \(<function",
    "Loops": "took longer than 1 s while it judged topic/bad,",
    "Sleeps": "took longer than 1 s while it judged topic/bad,",
    "KeepsTheInterpreter": "took longer than 1 s while it judged topic/bad,",
    "Stops": "took longer than 1 s while it judged topic/bad,",
    "Kills": r"ended its process \(SIGKILL\) while it judged topic/bad,",
    "Exits": r"ended its process \(exit status 3\) while it judged topic/bad,",
    "ExitsWithZero": r"ended its process \(exit status 0\) while it judged topic/bad,",
    "Crashes": r"ended its process \(SIG(SEGV|BUS)\) while it judged topic/bad,",
    "Allocates": "took more than 256 MiB of memory while it judged topic/bad,",
    "AllocatesAtOnce": "took more than 256 MiB of memory while it judged topic/bad,",
    "Recurses": "failed on topic/bad with RecursionError: maximum recursion depth",
    # Python 3.13 has a limit that policies can't lift.
    "RecursesWithoutLimit": (
        r"(ended its process \(SIGSEGV\)|took more than .* memory) while"
        if sys.version_info < (3, 13)
        else "failed on topic/bad with RecursionError: maximum recursion depth"
    ),
    "ReturnsFalse": "failed on .* it returned bool where a policy returns nothing, or raises",
    "ReturnsText": "failed on .* it returned str where a policy returns nothing, or raises",
    "FieldIsNoText": "failed on .* field of its PolicyViolation is list where it is a path",
    "MessageCannotBeText": "failed on topic/bad with RuntimeError: no words at bad.py",
    "StartsThreads": "(failed on topic/bad with RuntimeError: can't start|took more than)",
    "ChangesConfigs": "failed on .* TypeError: .*mappingproxy.* does not support item assignment",
    "ChangesRequestedConfigs": "failed on .* AttributeError: .*mappingproxy",
    "ChangesTheRequest": "failed on .* AttributeError: immutable type",
    "ChangesTheState": "failed on .* TypeError: .*mappingproxy.* does not support item assignment",
    "ChangesTheTopics": "failed on .* AttributeError: 'frozenset'",
}
# Policies that nobody can tell from the others any more, and what stops the run.
STOPS = {
    "ClosesAllFiles": "broke after they had judged",
    "WritesIntoAllFiles": "gives answers that can't be read",
    "WritesAnAnswer": "gives answers that can't be read",
}
DENIALS = {
    "HugeMessage": r"(long ){800}… \(99,996,000 more characters\)",
    "NumberAsMessage": "42",
    "NoMessage": "",
    "NoneAsMessage": "",
    "BrokenText": "half \ud800 a pair, \0 and \x1b\\[31m",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CRASHES)
def test_a_bad_policy_denies_what_it_goes_wrong_on_and_nothing_else(name: str):
    """P201-67, P201-68, P201-21: nothing gets through, and all other requests are judged."""
    requests = [a_creation(name) for name in ("first", "bad", "last")]

    with judging(a_policy(f"bad:{name}"), GOOD) as judge:
        judgements = judge.judge_all(requests)

    fine = {name: "passed", "Accepts": "passed"}
    assert outcomes(judgements) == [fine, {name: "crashed", "Accepts": "passed"}, fine]
    assert [judgement.stops for judgement in judgements] == [False, True, False]
    message = judgements[1].message or ""
    assert re.match(f"the policy {name} {CRASHES[name]}", message)
    assert message.endswith(", so it denies; correct the policy")
    assert "\n" not in message


@pytest.mark.parametrize("name", ["Prints", "ClosesStdout", "Forks", "LeavesAThread", "Interrupts"])
def test_a_rude_policy_hurts_nobody(name: str, capfd: pytest.CaptureFixture[str]):
    requests = [a_creation(name) for name in ("first", "bad", "last")]

    with judging(a_policy(f"bad:{name}"), GOOD) as judge:
        judgements = judge.judge_all(requests)

    assert outcomes(judgements) == [{name: "passed", "Accepts": "passed"}] * 3
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", DENIALS)
def test_an_odd_violation_is_shown_as_text_of_a_bearable_length(name: str):
    """P201-64, P201-69: whatever the message is, it denies; one that is missing breaks nothing."""
    with judging(a_policy(f"bad:{name}")) as judge:
        (ruling,) = judge.judge(a_creation("bad"))

    assert ruling.stops
    assert not ruling.crashed
    assert re.fullmatch(DENIALS[name], ruling.message)


def test_a_policy_that_forks_does_not_judge_twice():
    """P201-41: two processes that share the messages would each know a part of what is accepted."""
    stopped = 0

    with judging(a_policy("bad:Forks"), a_policy("good:Cap")) as judge:
        judge.judge(a_creation("bad"))
        for number in range(30):
            request = a_creation(f"topic-{number}")
            if judge.judge(request).stops:
                stopped += 1
            else:
                judge.accept(request)

    assert stopped == 30 - 9


def test_what_hoards_memory_never_takes_the_judge_with_it():
    """P201-68: a policy that catches MemoryError itself is only worse off."""
    names = ["first", "bad", "bad2", "last"]

    with judging(a_policy("bad:Hoards"), GOOD) as judge:
        judgements = judge.judge_all([a_creation(name) for name in names])

    assert len(judgements) == len(names)
    assert not judgements[0].stops


@pytest.mark.parametrize("name", STOPS)
def test_a_policy_that_breaks_the_judge_itself_stops_the_run(name: str):
    """P201-68: where no answer can be believed there is none, now and later."""
    sentence = f"the process that runs the policies {STOPS[name]}; look for a policy that closes "

    with judging(a_policy(f"bad:{name}"), GOOD) as judge:
        with pytest.raises(KgitopsError, match=re.escape(sentence)):
            judge.judge_all([a_creation(name) for name in ("first", "bad", "last")])
        with pytest.raises(KgitopsError, match=re.escape(sentence)):
            judge.judge(a_creation("good"))


def test_no_policy_is_blamed_for_what_others_do():
    """Whoever kills the process while no policy is at work stops the run."""
    with judging(GOOD) as judge:
        judge._process._child.kill()
        judge._process._child.wait(10)
        with pytest.raises(KgitopsError, match=r"^the process that runs the policies ended \(SIGK"):
            judge.judge(a_creation("good"))


def test_what_a_policy_raises_when_none_is_at_work_stops_the_run():
    with judging(a_policy("bad:AlarmsLater"), GOOD) as judge:
        judge.judge(a_creation("bad"))
        judge._process._child.wait(10)
        with pytest.raises(KgitopsError, match="the policies broke after they had judged; look"):
            judge.judge(a_creation("good"))


def test_a_policy_that_hangs_in_close_is_ended(caplog: pytest.LogCaptureFixture):
    """P201-45: closing is bounded, too, and its failure is told and stops nothing."""
    with judging(a_policy("bad:HangsInClose"), GOOD) as judge:
        judge.judge_all([a_creation("orders")])

    assert "the policy HangsInClose took longer than 1 s while it was closed" in caplog.messages
