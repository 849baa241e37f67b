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


ALIKE = [
    "b.YAML", "b.Yml", "b.JSON", "b.yaml.tmp", "b.yml.bak", "b.json.orig", "b.yaml.j2",
    "b.YAML.old", "b.yaml-old", "b.yaml_1", "b.yaml,v", "b.yaml (copy)", "b.yaml~", "#b.yaml#",
]  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_a_file_that_only_looks_like_a_manifest_is_a_finding(folder: Path, name: str) -> None:
    write(folder, {"m/a.yaml": topic("a"), f"m/{name}": topic("b")})
    (told,) = findings(load("m"))
    assert told.startswith(f"m/{name}:1:1: the name looks like a manifest's, but files with this")
    suffix = name.strip("#").split(".")[1][:4].lower()
    suffix = "yml" if suffix.startswith("yml") else suffix
    stem = "#b" if name.startswith("#") else "b"
    assert f"rename it to {stem}.{suffix} if it is one, else remove it or move" in told


def test_pipes_that_look_like_manifests_are_findings(folder: Path) -> None:
    write(folder, {"m/a.yaml": topic("a")})
    for name in ("b.yaml", "c.YAML", "d.yaml.tmp", "e"):
        os.mkfifo(folder / "m" / name)
    told = findings(load("m"))
    assert [words.partition(" ")[0] for words in told] == [
        "m/b.yaml", "m/c.YAML:1:1:", "m/d.yaml.tmp:1:1:",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["b.md", "b.yamllint", "b.jsonl", "b.json5", "yaml", "b.yam", ".b.yaml.swp", ".b.YAML"],
)
def test_other_names_are_no_findings(folder: Path, name: str) -> None:
    write(folder, {"m/a.yaml": topic("a"), f"m/{name}": topic("b")})
    assert names("m") == ["a"]


def test_the_backup_that_an_editor_makes_beside_a_file_is_passed_over(folder: Path) -> None:
    write(folder, {"m/a.yaml": topic("a"), "m/a.yaml~": topic("b"), "m/#a.yaml#": topic("c")})
    assert names("m") == ["a"]


def test_a_file_that_is_given_may_look_like_a_manifest(folder: Path) -> None:
    write(folder, {"a.YAML": topic("a")})
    assert names("a.YAML") == ["a"]


def empty(*paths: str, policies: tuple[str, ...] = ()) -> dict[str, str]:
    """The empty folders below these paths, and why they count."""
    loaded = load(*paths, policies=[Path(name) for name in policies])
    assert not loaded.findings
    return {each.folder: str(each.why) for each in loaded.empty_folders}


def test_a_folder_without_any_file_is_noticed_once_at_its_top(folder: Path) -> None:
    write(folder, {"m/a.yaml": topic("a"), "m/full/b.yaml": topic("b")})
    for name in ("m/empty", "m/nested/one/deep", "m/nested/two", "m/full/sub"):
        (folder / name).mkdir(parents=True)
    assert empty("m") == dict.fromkeys(["m/empty", "m/full/sub", "m/nested"], "empty")


@pytest.mark.parametrize(
    ("inside", "counts"),
    [
        (".git", True),  # of a submodule
        (".git/HEAD", True),
        (".DS_Store", True),
        ("..data/keep", True),  # a ConfigMap without keys
        (".hidden/b.yaml", True),
        (".gitkeep", False),
        (".gitignore", False),
        ("README.md", False),
        ("sub/README.md", False),
    ],
)
def test_a_file_that_git_keeps_says_that_a_folder_is_meant_so(
    folder: Path, inside: str, *, counts: bool
) -> None:
    write(folder, {"m/a.yaml": topic("a"), f"m/sub/{inside}": "text"})
    assert empty("m") == ({"m/sub": "empty"} if counts else {})


def test_a_link_to_an_empty_folder_counts_and_a_folder_of_policies_does_not(folder: Path) -> None:
    write(folder, {"m/a.yaml": topic("a")})
    for name in ("elsewhere", "m/policies/team"):
        (folder / name).mkdir(parents=True)
    (folder / "m" / "link").symlink_to(folder / "elsewhere")
    assert empty("m", policies=("m/policies",)) == {"m/link": "empty"}


SUBMODULES = """[submodule "one"]
\tpath = m/one
\turl = https://example.com/one.git
[submodule "two"]
    url = https://example.com/two.git
    path = "m/with \\"quotes\\""   ; a remark
[submodule "three"]
\tpath = m/full
[submodule "four"]
\tPath=m/.hidden
[submodule "five"]
\tpath = other/five
"""


def test_submodules_that_are_not_there_are_noticed_with_or_without_a_folder(folder: Path) -> None:
    files = {".gitmodules": SUBMODULES, "m/a.yaml": topic("a"), "m/full/b.yaml": topic("b")}
    write(folder, {**files, "m/full/.git": "gitdir: ../x"})
    assert empty("m") == dict.fromkeys(["m/one", 'm/with "quotes"'], "submodule")
    (folder / "m" / "one").mkdir()
    assert empty("m") == dict.fromkeys(["m/one", 'm/with "quotes"'], "submodule")
    first, second = load("m").empty_folders
    assert first.advice.startswith("run `git submodule update --init m/one` (in GitHub Actions")
    assert "--init 'm/with \"quotes\"'`" in second.advice


def test_a_submodule_is_named_to_git_from_where_the_user_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = '[submodule "x"]\n\tpath = m/sub\n'
    write(folder, {"r/.gitmodules": listed, "r/m/a.yaml": topic("a"), "r/m/in/b.yaml": topic("b")})
    (folder / "r" / "m" / "sub").mkdir()
    assert empty("r/m") == {"r/m/sub": "submodule"}
    assert load("r/m").empty_folders[0].fetch == (
        f"git -C {folder / 'r'} submodule update --init m/sub"
    )
    monkeypatch.chdir(folder / "r" / "m")
    assert load(".").empty_folders[0].fetch == "git submodule update --init sub"


def test_a_submodule_inside_of_one_that_was_checked_out_is_noticed(folder: Path) -> None:
    nested = '[submodule "x"]\n\tpath = inner\n'
    files = {"m/a.yaml": topic("a"), "m/outer/.git": "gitdir: x", "m/outer/.gitmodules": nested}
    write(folder, {**files, "m/outer/b.yaml": topic("b")})
    assert empty("m") == {"m/outer/inner": "submodule"}
    (folder / "m" / "outer" / "inner").mkdir()
    assert empty("m") == {"m/outer/inner": "submodule"}


def test_a_submodule_that_holds_all_manifests_is_named(folder: Path) -> None:
    write(folder, {".gitmodules": '[submodule "x"]\n\tpath = m\n'})
    (folder / "m").mkdir()
    (told,) = findings(load("m"))
    assert told.startswith("m is a git submodule that was not checked out; run `git submodule")
