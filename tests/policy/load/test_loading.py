"""Policies from where users keep them; what can't be loaded is told once, at its place."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from policy.asking import a_state, creation

from kgitops.model.errors import FindingsError
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import CelPolicy, CelValidation, Level, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules

MODULE = """\
from kgitops.model.resources.acls import AclBinding, OPERATIONS
from kgitops.policy import BaseTopicPolicy, PolicyViolation, TopicManagementPolicy

LIFE = []

class TeamPrefix(BaseTopicPolicy):
    def configure(self, configs):
        LIFE.append(("configure", configs))
    def validate_create_topic(self, request, cluster_state):
        from policies import helpers
        raise PolicyViolation(f"{helpers.WORDS}: {len(LIFE)}")
    def close(self):
        LIFE.append(("close",))

class Half(TopicManagementPolicy):
    def validate_create_topic(self, request, cluster_state):
        pass

class Needy(BaseTopicPolicy):
    def __init__(self, client, *, timeout, retries=3):
        pass

class RaisesWhenMade(BaseTopicPolicy):
    def __init__(self):
        self.client = 1 / 0

class Strict(BaseTopicPolicy):
    def configure(self, configs):
        raise ValueError("min is a number, for example 3")

class Careless(BaseTopicPolicy):
    def configure(self, configs):
        self.min = configs["min"]

class Misspelt(BaseTopicPolicy):
    def validate_topic(self, state):
        raise PolicyViolation("a helper of its own, which is no mistake")
    def validate_create_topics(self, request, cluster_state):
        raise PolicyViolation("never")

number = 3
"""
PREFIX = "the policy 'p' can't be loaded: "


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project with the package ``policies``; afterwards nothing of it stays in this process."""
    path, modules = list(sys.path), set(sys.modules)
    write(tmp_path, "policies/naming.py", MODULE)
    write(tmp_path, "policies/helpers.py", "WORDS = 'from here'\n")
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)


def a_policy(folder: Path | None, class_: str, **more: object) -> PythonPolicy:
    given = {"name": "p", "level": Level.HARD, "digest": "", "source": Source("k.yaml", 7, 3)}
    return PythonPolicy(**{**given, **more}, class_=class_, folder=folder)  # type: ignore[arg-type]


def findings(*policies: PythonPolicy | CelPolicy) -> list[str]:
    with pytest.raises(FindingsError) as caught:
        load_rules(policies)
    return [str(finding) for finding in caught.value.findings]


def test_a_policy_is_made_configured_asked_and_closed(folder: Path):
    """P201-43, P201-44: found in the project's folder, also what it imports only when asked."""
    configs = {"min": "3"}
    (rule,) = load_rules([a_policy(folder, "policies.naming:TeamPrefix", configs=configs)])
    judge = InProcessEvaluator([rule])
    judge.begin(a_state(), principal="User:alice")

    assert judge.judge(creation()).message == "from here: 1"

    judge.close()
    life = sys.modules["policies.naming"].LIFE
    assert life == [("configure", configs), ("close",)]


def test_what_is_off_is_not_even_imported(folder: Path):
    write(folder, "policies/loud.py", "raise SystemExit")

    assert load_rules([a_policy(folder, "policies.loud:X", level=Level.OFF)]) == ()


def test_two_projects_modules_of_one_name_are_kept_apart(folder: Path, tmp_path: Path):
    other = tmp_path / "other"
    write(other, "policies/naming.py", MODULE)
    write(other, "policies/helpers.py", "WORDS = 'from there'\n")
    said = []

    for project in (folder, other, folder):
        judge = InProcessEvaluator(load_rules([a_policy(project, "policies.naming:TeamPrefix")]))
        judge.begin(a_state(), principal="User:alice")
        said.append(judge.judge(creation()).message)

    assert said == ["from here: 1", "from there: 1", "from here: 1"]


def test_nothing_is_written_beside_the_users_files(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = sorted(folder.rglob("*"))

    load_rules([a_policy(folder, "policies.naming:TeamPrefix")])

    assert sorted(folder.rglob("*")) == before
    assert not sys.dont_write_bytecode


@pytest.mark.parametrize(
    ("class_", "problem"),
    [
        ("policies.naming", "'policies.naming' names no class; write class as module:Class, for "),
        (
            "policies/naming.py:X",
            "'policies/naming.py:X' names no class; name the module instead of its file: "
            '"policies.naming:X"',
        ),
        ("policies.naming:a.b", "'policies.naming:a.b' names no class; write class as module"),
        (":X", "':X' names no class; write class as module:Class, for example policies.naming:"),
        (
            "policies.nonsense:X",
            "there is no module policies.nonsense in {folder} or among the installed packages; "
            "correct the name, or install the package that brings it next to kgitops",
        ),
        ("nowhere.at.all:X", "there is no module nowhere in {folder} or among the installed "),
        (
            "policies.naming:TeamPrefx",
            "policies.naming has no class TeamPrefx; did you mean TeamPrefix?",
        ),
        (
            "kgitops.policies:PartitionRnge",
            "kgitops.policies has no class PartitionRnge; did you mean PartitionRange?",
        ),
        (
            "kgitops.policies:Nonsense",
            "kgitops.policies has no class Nonsense; write a policy there, or name another module",
        ),
        ("policies.naming:number", "policies.naming:number is not a class; write class as "),
        (
            "policies.naming:AclBinding",
            "policies.naming:AclBinding implements no interface of policies; let it extend "
            "BaseTopicPolicy or another one of kgitops.policy",
        ),
        (
            "policies.naming:Half",
            "policies.naming:Half doesn't implement validate_alter_topic, validate_delete_records, "
            "validate_delete_topic; implement them, or extend BaseTopicPolicy, which accepts what "
            "you don't judge",
        ),
        (
            "policies.naming:Misspelt",
            "policies.naming:Misspelt has a method validate_create_topics, which is never called; "
            "did you mean validate_create_topic?",
        ),
        (
            "policies.naming:Needy",
            "policies.naming:Needy can't be made without client, timeout; take no arguments in "
            "__init__ and read what you need in configure",
        ),
        (
            "policies.naming:RaisesWhenMade",
            "making it failed with ZeroDivisionError: division by zero at policies/naming.py line "
            "25; make it work without arguments",
        ),
        (
            "./naming.py",
            "'./naming.py' names no class; name the module instead of its file: \"naming:CLASS\"",
        ),
        (
            "helpers.py:Strict",
            "there is no module helpers in {folder} or among the installed packages; name the "
            'module instead of its file: "helpers:Strict"',
        ),
        (
            "policies.naming:Strict",
            "its configs are refused: min is a number, for example 3; correct them",
        ),
        (
            "policies.naming:Careless",
            "configure failed with KeyError: 'min' at policies/naming.py line 33; correct its ",
        ),
    ],
)
def test_what_cannot_be_loaded_says_why(folder: Path, class_: str, problem: str):
    """P201-43: one sentence at the policy's place, with what to do."""
    (sentence,) = findings(a_policy(folder, class_))

    assert sentence.startswith(f"k.yaml:7:3: {PREFIX}{problem.format(folder=folder)}")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def f(:", "importing policies.broken failed with SyntaxError: invalid syntax at "),
        ("import nnumpy", "policies/broken.py line 1 imports nnumpy, which is not there; install "),
        ("\nimport policies.gone", "policies/broken.py line 2 imports policies.gone, which is not"),
        (
            "from policies.helpers import gone",
            "importing policies.broken failed with ImportError: cannot import name 'gone'",
        ),
        ("x = 1\n1 / 0", "importing policies.broken failed with ZeroDivisionError: division by "),
        ("raise SystemExit('no')", "importing policies.broken failed with SystemExit: no at "),
        ("def __getattr__(name): 1 / 0", "importing X failed with ZeroDivisionError: division by "),
    ],
)
def test_a_module_that_cannot_be_imported_says_where_it_breaks(
    folder: Path, code: str, problem: str
):
    """The file and line that the user has to look at, and no trace."""
    write(folder, "policies/broken.py", code)

    (sentence,) = findings(a_policy(folder, "policies.broken:X"))

    assert sentence.startswith(f"k.yaml:7:3: {PREFIX}{problem}")
    assert re.search(r"policies/broken.py line \d", sentence)
    assert "\n" not in sentence


def test_all_findings_are_told_at_once_and_what_was_loaded_is_closed(folder: Path):
    policies = [
        a_policy(folder, "policies.naming:TeamPrefix"),
        a_policy(folder, "policies.naming:Nobody", name="second", source=Source("k.yaml", 9, 3)),
        CelPolicy(
            name="third",
            level=Level.SOFT,
            digest="",
            source=Source("p.yaml", 1, 1),
            validations=(CelValidation(expression="1 +", source=Source("p.yaml", 5, 5)),),
        ),
        a_policy(folder, "policies.naming:Half", source=Source("k.yaml", 8, 3)),
    ]

    sentences = findings(*policies)

    assert [sentence.split(": ")[0] for sentence in sentences] == [
        "k.yaml:8:3",
        "k.yaml:9:3",
        "p.yaml:5:5",
    ]
    assert sys.modules["policies.naming"].LIFE == [("configure", {}), ("close",)]


def test_a_policy_of_an_installed_package_needs_no_folder():
    (rule,) = load_rules([a_policy(None, "kgitops.policy:BaseTopicPolicy")])

    assert (rule.name, rule.level) == ("p", Level.HARD)
    (sentence,) = findings(a_policy(None, "kgitops.nowhere:X"))
    assert "there is no module kgitops.nowhere among the installed packages; " in sentence


def test_a_persons_interrupt_while_loading_is_no_finding(folder: Path):
    write(folder, "policies/interrupted.py", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load_rules([a_policy(folder, "policies.interrupted:X")])
