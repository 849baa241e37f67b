"""Which files are read, and what is said about paths that can't be."""

import os
from pathlib import Path

import pytest
from manifests.loading import findings, load, topic, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str) -> list[str]:
    loaded = load(*paths)
    assert not loaded.findings
    return [manifest.declares.metadata.name for manifest in loaded.manifests]


def test_a_folder_is_read_with_its_folders_and_all_three_suffixes(folder: Path) -> None:
    write(
        folder,
        {
            "m/b.yaml": topic("b"),
            "m/sub/c.yml": topic("c"),
            "m/a.json": '{"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {"name": "a"}, '
            '"spec": {"assignments": {"0": [1]}}}',
        },
    )
    assert names("m") == ["a", "b", "c"]


def test_what_is_hidden_or_no_manifest_is_passed_over(folder: Path) -> None:
    write(
        folder,
        {
            "kgitops.yaml": "not: read",
            "a.yaml": topic("a"),
            ".b.yaml": "not: read",
            ".kgitops/c.yaml": "not: read",
            "README.md": "not: read",
        },
    )
    assert names(".") == ["a"]


def test_a_file_may_have_any_name_when_it_is_given(folder: Path) -> None:
    write(folder, {"topics.txt": topic("a")})
    assert names("topics.txt") == ["a"]


def test_a_file_reached_by_two_paths_is_read_once(folder: Path) -> None:
    write(folder, {"m/a.yaml": topic("a")})
    (folder / "m" / "link.yaml").symlink_to("a.yaml")
    assert names("m", "m/a.yaml", str(folder / "m")) == ["a"]


def test_a_linked_folder_is_read(folder: Path) -> None:
    write(folder, {"shared/a.yaml": topic("a"), "m/b.yaml": topic("b")})
    (folder / "m" / "shared").symlink_to(folder / "shared")
    assert names("m") == ["b", "a"]


def test_a_pipe_may_be_given(folder: Path) -> None:
    """As a shell does for ``kgitops plan <(helm template …)``."""
    reading, writing = os.pipe()
    os.write(writing, topic("a").encode())
    os.close(writing)
    try:
        assert names(f"/dev/fd/{reading}") == ["a"]
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.yaml", "nowhere.yaml does not exist; correct the path"),
        ("empty", "empty holds no manifests; add a .yaml, .yml or .json file"),
        ("folder.yaml", "folder.yaml is a folder, though it is named like a file; rename it"),
        ("inside", "inside/x.yaml is a folder, though it is named like a file; rename it"),
        ("loop", "loop/again is a link to a folder that it lies in; remove the link"),
        ("gone", "gone/shared is a link to nothing; correct or remove it"),
        ("dangling", "dangling/a.yaml can't be read: No such file or directory"),
        ("own", "own is a project of its own"),
        ("own/kgitops.yaml", "own/kgitops.yaml is a project file, not a manifest"),
        ("a.yaml/b.yaml", "a.yaml/b.yaml can't be read: Not a directory"),
        ("/dev/null", "/dev/null is not a file"),
    ],
)
def test_a_path_that_can_not_be_read_is_a_finding(folder: Path, path: str, words: str) -> None:
    write(folder, {"own/kgitops.yaml": "", "own/a.yaml": topic(), "a.yaml": topic()})
    for name in ("empty", "folder.yaml", "inside/x.yaml", "loop", "gone", "dangling"):
        (folder / name).mkdir(parents=True)
    (folder / "loop" / "again").symlink_to(folder / "loop")
    (folder / "gone" / "shared").symlink_to("nowhere")
    (folder / "dangling" / "a.yaml").symlink_to("gone.yaml")
    given = "." if path == "own" else path
    assert any(words in text for text in findings(load(given)))


def test_a_file_that_can_not_be_opened_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault is injected, because a test that runs as root may read everything."""

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write(folder, {"a.yaml": topic()})
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert findings(load("a.yaml")) == [
        "a.yaml can't be read: Permission denied; correct its permissions or remove it"
    ]


def test_a_folder_that_can_not_be_listed_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    write(folder, {"m/a.yaml": topic()})
    monkeypatch.setattr(os, "scandir", refuse)
    assert findings(load("m")) == ["m can't be read: Permission denied; correct its permissions"]
