"""Every exit code that one process can produce, and that everything which tells it agrees."""

import json
import re
from datetime import timedelta

import pytest
from cli.conftest import Kgitops, Ran
from cli.exit_cases import CASES, Case, applied, planned, reseal
from cli.policed import in_process
from cli.projects import Project, acl, quota

from kgitops.model.registry import Json

__all__ = ["in_process"]

MAY_CHANGE = {0, 6}
"""After these, change requests may have been sent."""
ELSEWHERE = {7, 130, 143}
"""7 is in test_locked.py, signals are in test_interrupted.py."""
WITH_JSON = {"validate", "plan", "apply", "drift", "show"}

of_every_case = pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.code}-{case.arrange.__name__}" for case in CASES]
)


def test_the_table_has_every_code_of_the_contract() -> None:
    codes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 64, 130, 143}
    assert {case.code for case in CASES} == codes - ELSEWHERE


@of_every_case
def test_exit_code(case: Case, project: Project, kgitops: Kgitops) -> None:
    """It exits so, says why, and changes nothing unless the code allows that."""
    words = case.arrange(project, kgitops)
    before = project.records()
    ran = kgitops(*words)
    assert ran.code == case.code, ran.said
    assert case.says in ran.said
    assert "Traceback" not in ran.said
    assert "where it should not" not in ran.said
    if case.code not in MAY_CHANGE:
        assert project.records() == before


@pytest.mark.usefixtures("in_process")
@of_every_case
def test_sentence_exit_code_and_json_verdict_agree(
    case: Case, project: Project, kgitops: Kgitops
) -> None:
    words = case.arrange(project, kgitops)
    if words[0] not in WITH_JSON:
        assert kgitops(*words, "--format", "json").code == 64
        return
    if words[:2] == ("apply", project.folder) and "--auto-approve" not in words:
        words = (*words, "--auto-approve")
    before = project.records()
    machine = kgitops(*words, "--format", "json")
    verdict = last_verdict(machine)
    assert machine.code == case.code
    assert verdict["exit"] == case.code or (verdict["exit"], case.code) == (2, 0)
    assert (verdict["exit"] in {0, 2}) == (verdict["reasons"] == [])
    if project.records() == before:
        # A command that changed nothing says the same again, now as text.
        text = kgitops(*words)
        assert text.code == case.code
        for reason in verdict["reasons"]:
            for words in pieces(reason["sentence"], of_a_plan="Plan: " in text.out):
                assert without_now(" ".join(words.split())) in without_now(text.said)


def without_now(sentence: str) -> str:
    """The two were said one after the other."""
    return re.sub(r"and it is [0-9TZ:-]+", "and it is now", sentence)


def pieces(sentence: str, *, of_a_plan: bool) -> tuple[str, ...]:
    """What a text must show of a sentence: a plan has denials in a block, by policy."""
    denial = re.fullmatch(r"(\S+): the \w+ policy (\S+) denies \S+: (.*?); .*", sentence)
    failure = re.fullmatch(r"(\S+): (the policy \S+ failed on .*)", sentence)
    found = (denial or failure) if of_a_plan else None
    return found.groups() if found else (sentence,)


def last_verdict(ran: Ran) -> Json:
    """Of a plan or a validation, or of the last of an apply's events."""
    if ran.out.startswith("{\n"):
        return json.loads(ran.out)["verdict"]
    return json.loads(ran.out.splitlines()[-1])["verdict"]


def test_all_reasons_are_told_and_the_worst_one_is_first(
    project: Project, kgitops: Kgitops
) -> None:
    """A saved plan that its own verdict refuses, too late and elsewhere."""
    applied(project, kgitops)
    reseal(project, planned(project, kgitops, acl(), quota()), older_by=timedelta(days=2))
    assert kgitops("snapshot", "-c", "embedded:other.db", "-o", "other.json").code == 0
    ran = kgitops("apply", project.plan_file, "-c", "embedded:other.db", "--format", "json")
    reasons = last_verdict(ran)["reasons"]
    assert [reason["exit"] for reason in reasons] == [9, 9, 5]
    for reason, words in zip(
        reasons, ("the plan expired at", "was made for the cluster", "is protected"), strict=True
    ):
        assert words in reason["sentence"]
