"""A plan says which commit it was made from, and whether its sources were changed since."""

import subprocess
from pathlib import Path

import pytest

from kgitops.workflow.project.project_root import read_git

COMMIT = ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "orders.yaml").write_text("a: 1\n")
    git(tmp_path, "add", "manifests")
    git(tmp_path, *COMMIT, "-m", "first")
    return tmp_path


def test_a_folder_that_git_does_not_know_has_no_commit(tmp_path: Path) -> None:
    assert read_git(tmp_path, [tmp_path]) == (None, False)


def test_a_variable_can_name_the_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    assert read_git(elsewhere, [elsewhere])[0] == head


def test_a_bare_repository_has_a_commit(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    bare = tmp_path_factory.mktemp("bare")
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    (bare / "payments").mkdir()
    assert read_git(bare / "payments", [])[0] == head


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read_git(tmp_path, [tmp_path]) == (None, False)


def test_the_commit_is_named_and_clean(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert read_git(repository, [repository / "manifests"]) == (head, False)


@pytest.mark.parametrize("name", ["orders.yaml", "new.yaml"])
def test_a_source_that_is_changed_or_new_is_dirty(name: str, repository: Path) -> None:
    (repository / "manifests" / name).write_text("a: 2\n")
    assert read_git(repository, [repository / "manifests"])[1]


def test_what_lies_beside_the_sources_does_not_matter(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the plan that was saved here would change the next one."""
    (repository / "plan.json").write_text("{}")
    (repository / ".kgitops").mkdir()
    (repository / ".kgitops" / "local.db").write_text("")
    monkeypatch.chdir(repository)
    assert not read_git(Path(), [Path("manifests")])[1]


def test_a_source_outside_of_the_repository_is_dirty(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No commit says what it was."""
    assert read_git(repository, [tmp_path_factory.mktemp("elsewhere")])[1]


def test_without_git_there_is_no_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert read_git(repository, [repository]) == (None, False)
