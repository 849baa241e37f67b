"""Policies in Python as the project file names them: nothing of them runs when it is read."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.manifests.project_file import load_project, module_file
from kgitops.policy.evaluate.bundle import PythonPolicy, kebab_case

HEAD = "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: p}\nspec:\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TeamPrefix", "team-prefix"),
        ("NoAllOnCluster", "no-all-on-cluster"),
        ("ACLRules", "acl-rules"),
        ("MinISR", "min-isr"),
        ("Kip201Policy", "kip-201-policy"),
        ("lower", "lower"),
        ("snake_case", "snake-case"),
    ],
)
def test_a_class_gives_its_policy_a_name(name: str, expected: str) -> None:
    assert kebab_case(name) == expected


def only(
    folder: Path, files: dict[str, str | bytes], class_: str = "rules.naming:Team"
) -> PythonPolicy:
    spec = f"  policies: [{{class: '{class_}', configs: {{most: 3, strict: true}}}}]\n"
    write(folder, {"kgitops.yaml": HEAD + spec, **files})
    (policy,) = load_project(folder, env={}).python_policies
    return policy


def test_configs_are_text(tmp_path: Path) -> None:
    assert only(tmp_path, {}).configs == {"most": "3", "strict": "true"}


@pytest.mark.parametrize("file", ["rules/naming.py", "rules/naming/__init__.py"])
def test_the_module_is_read_and_never_run(file: str, tmp_path: Path) -> None:
    text = (
        'class Team:\n    """What it is for.\n\n    More."""\n    remediation = "Mend it."\n1/0\n'
    )
    policy = only(tmp_path, {file: text})
    assert (policy.description, policy.remediation) == ("What it is for.", "Mend it.")
    assert module_file(policy) == tmp_path / file


@pytest.mark.parametrize(
    "files",
    [{}, {"rules/naming.py": "def :"}, {"rules/naming.py": b"\xff"}, {"rules/naming.py": "x = 1"}],
)
def test_what_cannot_be_read_is_said_where_it_is_loaded(
    files: dict[str, str | bytes], tmp_path: Path
) -> None:
    assert only(tmp_path, files).description == ""


@pytest.mark.parametrize(
    "class_", ["nothing", ":", "a:", "a..b:C", "../x:C", "/etc/passwd:C", "a\\0b:C"]
)
def test_a_strange_name_is_no_error_here(class_: str, tmp_path: Path) -> None:
    assert only(tmp_path, {}, class_).class_
