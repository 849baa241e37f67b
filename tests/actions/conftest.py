"""A repository with a project, GitHub (a fake), and runs of workflows in it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from actions.fake_github import REPOSITORY, REPOSITORY_ID, FakeGitHub, running
from actions.step_runner import Runner, path_with
from cli.projects import Document, Project, topic

Json = Any
HEAD = "a" * 40
MERGED = "b" * 40
FORK_ID = 2002
_WRAPPER = """#!{python}
import json, os, sys
with open({seen!r}, "a") as file:
    print(json.dumps([sys.argv[1:], dict(os.environ)]), file=file)
os.execv(sys.executable, [sys.executable, "-m", "kgitops", *sys.argv[1:]])
"""


@dataclass
class Repository:
    """A checkout with a project for the cluster prod, and the runs about it."""

    github: FakeGitHub
    root: Path
    temp: Path
    bin: Path
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = Project(self.root)
        self.bin.mkdir()
        wrapper = self.bin / "kgitops"
        wrapper.write_text(_WRAPPER.format(python=sys.executable, seen=str(self._seen)))
        wrapper.chmod(0o755)

    @property
    def _seen(self) -> Path:
        return self.bin.parent / "seen"

    @property
    def kgitops_runs(self) -> list[tuple[list[str], dict[str, str]]]:
        """The words and the environment of every kgitops that was started."""
        lines = self._seen.read_text().splitlines() if self._seen.exists() else []
        return [(words, env) for words, env in map(json.loads, lines)]

    def write(self, *documents: Document) -> None:
        """The project's documents; its one cluster is called prod, as in the examples."""
        self.project.write(*documents or (topic("orders", deletionPolicy="Delete"),))
        self.project.write_file(
            clusters={"prod": {"url": "embedded:.kgitops/local.db", "brokers": 3}}
        )

    def pull_request(
        self, *, head: str = HEAD, fork: bool = False, author: str = "grace", **more: object
    ) -> Runner:
        """A run about pull request 7."""
        name = "mallory/streams" if fork else REPOSITORY
        pull = {
            "number": 7,
            "title": "Add orders",
            "user": {"login": author},
            "head": {"sha": head, "ref": "main" if fork else "add", "repo": {"full_name": name}},
            "base": {"ref": "main", "repo": {"full_name": REPOSITORY}},
        }
        return self._runner(
            event_name="pull_request",
            event={"number": 7, "pull_request": pull},
            sha="c" * 40,
            ref="refs/pull/7/merge",
            head_sha=head,
            head_branch="main" if fork else "add",
            head_repository_id=FORK_ID if fork else REPOSITORY_ID,
            **more,
        )

    def merge(self, *, head: str = HEAD, fork: bool = False) -> None:
        """Merge pull request 7."""
        name = "mallory/streams" if fork else REPOSITORY
        self.github.pulls[MERGED] = [
            {
                "number": 7,
                "merged_at": "2026-11-21T10:00:00Z",
                "merge_commit_sha": MERGED,
                "head": {"sha": head, "repo": {"full_name": name}},
                "base": {"ref": "main", "repo": {"full_name": REPOSITORY}},
            }
        ]

    def on_main(self, event_name: str = "push", **more: object) -> Runner:
        """A run about the branch main."""
        return self._runner(
            event_name=event_name,
            event={},
            sha=MERGED,
            ref="refs/heads/main",
            head_sha=MERGED,
            head_branch="main",
            **more,
        )

    def _runner(self, event: Json, **more: object) -> Runner:
        self.temp.mkdir(exist_ok=True)
        return Runner(
            github=self.github,
            workspace=self.root,
            temp=self.temp,
            path=path_with(self.bin),
            event={**event, "repository": {"default_branch": "main"}},
            run_id=1000 + self.github.next_id(),
            **more,  # type: ignore[arg-type]
        )


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with running() as fake:
        yield fake


@pytest.fixture
def repository(tmp_path: Path, github: FakeGitHub) -> Repository:
    made = Repository(github, tmp_path / "checkout", tmp_path / "temp", tmp_path / "bin")
    made.write()
    return made
