"""What docs/guides/policy-tests.md shows is what happens."""

import re
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import EXAMPLES, Project, topic

PAGE = (EXAMPLES.parent / "docs/guides/policy-tests.md").read_text()
DOCUMENTS = re.findall(r"```yaml\n(apiVersion.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def documented(project: Project) -> Project:
    """A project with the page's policy and test, in the files that the page names."""
    project.write(topic())
    project.write_file(policies=["policies"])
    folder = project.folder / "policies"
    folder.mkdir()
    test, policy = DOCUMENTS
    (folder / "retention.test.yaml").write_text(test)
    (folder / "retention.yaml").write_text(policy)
    return project


def test_the_test_of_the_page_prints_what_the_page_shows(
    documented: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(documented.folder)
    ran = kgitops("policy", "test")
    (shown,) = re.findall(r"\$ kgitops policy test\n(.*?)```", PAGE, re.DOTALL)
    assert (ran.code, ran.out) == (0, shown)
    assert kgitops("policy", "test", "--coverage", "--min", "100").code == 0


@pytest.mark.slow
def test_the_survivor_of_the_page_survives_until_the_page_s_case_is_written(
    documented: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(documented.folder)
    (survivor,) = re.findall(r"  (policies/\S+: <= → <)\n", PAGE)
    assert survivor in kgitops("policy", "test", "--mutate").out
    (days,) = re.findall(r"A case with `(retention\.ms: \d+)`", PAGE)
    test = documented.folder / "policies/retention.test.yaml"
    test.write_text(test.read_text().replace("retention.ms: 2592000000", days))
    assert survivor not in kgitops("policy", "test", "--mutate").out


def test_the_class_of_the_page_is_one(here: Path, kgitops: Kgitops) -> None:
    (spec,) = re.findall(r"```yaml\n(spec:\n  class.*?)```", PAGE, re.DOTALL)
    (here / "t.yaml").write_text(
        f"apiVersion: kgitops/v1\nkind: PolicyTest\nmetadata: {{name: t}}\n{spec}"
        "  cases:\n    - name: x\n      requests:\n"
        "        - createTopic: {name: a, partitions: 13, replicationFactor: 1}\n"
        "      expect: [{address: topic/a}]\n"
    )
    assert kgitops("policy", "test", "t.yaml").code == 0
