"""A repository to follow, and sources that follow it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reconcile.sources.repositories import Repository

from kgitops.reconcile.sources.git import GitOptions, GitSource


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "origin")


@pytest.fixture
def open_source(tmp_path: Path, repository: Repository) -> Iterator[Callable[..., GitSource]]:
    """Opens a source of the repository, or of ``url``, with these options of ``GitOptions``."""
    opened = []

    def open_(url: str | None = None, *, environ: dict[str, str] | None = None, **options: object):
        options = {"state": tmp_path / "state", "timeout": 30, **options}
        source = GitSource(
            GitOptions(url=url or str(repository.folder), **options),
            {"PATH": "/usr/local/bin:/usr/bin:/bin", **(environ or {})},
        )
        opened.append(source)
        return source

    yield open_
    for source in opened:
        source.close()
