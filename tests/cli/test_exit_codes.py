"""Every exit code that one process can produce, and that everything which tells it agrees."""

import json
import re

import pytest
from cli.conftest import Kgitops, Ran
from cli.exit_cases import CASES, Case
from cli.projects import Project

from kgitops.model.registry import Json

MAY_CHANGE = {0, 6}
"""After these, change requests may have been sent."""
ELSEWHERE = {7, 64, 130, 143}
"""7 is in test_locked.py, 64 in test_wrong_words.py, signals are in test_interrupted.py."""
WITH_JSON = {"plan", "apply", "drift", "show"}

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
                assert " ".join(words.split()) in text.said


def pieces(sentence: str, *, of_a_plan: bool) -> tuple[str, ...]:
    """What a text must show of a sentence: a plan has denials in a block, by policy."""
    denial = re.fullmatch(r"(\S+): the \w+ policy (\S+) denies \S+: (.*?); .*", sentence)
    failure = re.fullmatch(r"(\S+): (the policy \S+ failed on .*)", sentence)
    found = (denial or failure) if of_a_plan else None
    return found.groups() if found else (sentence,)


def last_verdict(ran: Ran) -> Json:
    """Of a plan, or of the last of an apply's events."""
    if ran.out.startswith('{\n  "format_version"'):
        return json.loads(ran.out)["verdict"]
    return json.loads(ran.out.splitlines()[-1])["verdict"]
