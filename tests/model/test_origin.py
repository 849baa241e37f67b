"""The command that installs an extra names the place that kgitops itself came from."""

import json
from importlib.metadata import PackageNotFoundError

import pytest

import kgitops
from kgitops.model import origin

COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://git.example/kgitops"


@pytest.fixture
def came_from(monkeypatch: pytest.MonkeyPatch) -> object:
    """Let pip have written this down (PEP 610)."""

    class Known:
        content: str | None = None

        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return self.content

    known = Known()
    monkeypatch.setattr(origin, "distribution", lambda name: known)

    def give(content: object) -> None:
        known.content = content if isinstance(content, str) else json.dumps(content)

    return give


GIT = {"url": URL, "vcs_info": {"vcs": "git", "commit_id": COMMIT}}


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (GIT, f"pip install 'kgitops[fleet] @ git+{URL}@{COMMIT}'"),
        (
            {"url": "file:///src/kgitops", "dir_info": {"editable": True}},
            "uv sync --inexact --extra fleet",
        ),
        (
            {"url": "file:///src/kgitops", "dir_info": {}},
            "pip install 'kgitops[fleet] @ file:///src/kgitops'",
        ),
        (
            {"url": "https://a.example/kgitops-0.1.0-py3-none-any.whl", "archive_info": {}},
            "pip install 'kgitops[fleet] @ https://a.example/kgitops-0.1.0-py3-none-any.whl'",
        ),
        ("null", f"pip install 'kgitops[fleet]=={kgitops.__version__}'"),
        ("{", f"pip install 'kgitops[fleet]=={kgitops.__version__}'"),
        ([], f"pip install 'kgitops[fleet]=={kgitops.__version__}'"),
    ],
)
def test_an_extra_is_installed_from_where_kgitops_is(
    content: object, command: str, came_from: object
) -> None:
    came_from(content)  # type: ignore[operator]
    assert origin.install_command("fleet") == command


def test_the_repository_is_known_where_it_has_a_commit_and_can_be_reached_safely(
    came_from: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_from(GIT)  # type: ignore[operator]
    assert origin.repository() == (URL, COMMIT)
    for content in ({**GIT, "url": "ssh://git@git.example/k"}, {"url": URL}, "null"):
        came_from(content)  # type: ignore[operator]
        assert origin.repository() is None

    def none(name: str) -> object:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(origin, "distribution", none)
    assert origin.repository() is None


def test_only_what_an_extra_brings_is_said_to_be_missing() -> None:
    found = origin.missing_extra(ModuleNotFoundError(name="pyarrow.parquet"))
    assert str(found).startswith("this command needs pyarrow, which is not installed; run ")
    assert origin.missing_extra(ModuleNotFoundError(name="kgitops.cli.gone")) is None
    assert origin.missing_extra(ModuleNotFoundError("no name")) is None
