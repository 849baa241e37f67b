"""Which files are the state of which cluster; only names and sizes are looked at."""

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kgitops.fleet.units.data_files import NULL, partition_folder, partition_of
from kgitops.fleet.units.states import SavedStates, find_states
from kgitops.fleet.units.unit import StateFormat


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names: str, text: str = "not looked at") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make(file: str) -> None:
    """A file, a link ``NAME -> TARGET``, or a pipe ``NAME |``."""
    name, _, target = file.partition(" -> ")
    if target:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(target)
    elif name.endswith(" |"):
        os.mkfifo(name.removesuffix(" |"))
    else:
        put(name)


def found(*paths: str) -> dict[str, list[str]]:
    """Each cluster's files, relative to here; nothing may be wrong."""
    states = find_states([Path(path) for path in paths])
    assert not states.findings
    return {
        state.cluster: [os.path.relpath(file) for file in state.at.files] for state in states.states
    }


def said(*paths: str) -> list[str]:
    return [str(finding) for finding in find_states([Path(path) for path in paths]).findings]


def test_a_folder_of_snapshots_names_its_clusters(here: Path) -> None:
    put("states/prod.json", "states/eu/dev.parquet")
    assert found("states") == {"dev": ["states/eu/dev.parquet"], "prod": ["states/prod.json"]}
    assert [(state.cluster, state.at.form) for state in find_states([Path("states")]).states] == [
        ("dev", StateFormat.PARQUET),
        ("prod", StateFormat.JSON),
    ]


@pytest.mark.parametrize("path", ["lake", "lake/state", "lake/state/cluster=prod"])
def test_a_partition_names_its_cluster_wherever_it_is_found_from(path: str) -> None:
    put("lake/state/cluster=prod/part-0.parquet", "lake/state/cluster=prod/part-1.parquet")
    files = [f"lake/state/cluster=prod/part-{number}.parquet" for number in (0, 1)]
    assert found(path) == {"prod": files}


def test_a_single_file_of_a_partition_is_of_its_cluster() -> None:
    put("cluster=prod/part-0.parquet")
    assert found("cluster=prod/part-0.parquet") == {"prod": ["cluster=prod/part-0.parquet"]}


def test_the_folder_in_which_a_command_runs_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    put("cluster=prod/part-0.parquet")
    monkeypatch.chdir("cluster=prod")
    assert found(".") == {"prod": ["part-0.parquet"]}


def test_what_spark_leaves_beside_rows_is_passed_over() -> None:
    put(
        "state/_SUCCESS",
        "state/_temporary/0/cluster=gone/part-0.parquet",
        "state/.part-0.parquet.crc",
        "state/cluster=prod/part-0.parquet",
        "state/cluster=prod/.part-0.parquet.crc",
    )
    assert list(found("state")) == ["prod"]


@pytest.mark.parametrize(
    "name", ["prod", "eu/west", "a=b", "50%", "Zürich", "a b", "%41", "x:y", "[1]", "", "q'\"#?*\\"]
)
def test_a_cluster_is_called_as_its_partition_was(name: str) -> None:
    folder = partition_folder("cluster", name)
    assert "/" not in folder
    assert partition_of(folder) == ("cluster", name)


def test_escapes_are_those_of_spark() -> None:
    assert partition_folder("cluster", "eu/a:b=c é") == "cluster=eu%2Fa%3Ab%3Dc é"
    assert partition_of("cluster=%C3%A9") == ("cluster", "é")
    assert partition_of("cluster=100%") == ("cluster", "100%")
    assert partition_of("cluster") is None


@pytest.mark.parametrize(
    "twin", ["new/prod.json", "new/cluster=prod/part-0.parquet", "states/date=2/prod.parquet"]
)
def test_a_state_in_two_places_is_taken_from_neither(twin: str) -> None:
    put("states/prod.parquet", "states/dev.json", twin)
    paths = [Path("states"), *([Path("new")] if Path("new").exists() else [])]
    states = find_states(paths)
    assert [state.cluster for state in states.states] == ["dev"]
    assert states.disputed == {"prod"}
    (finding,) = states.findings
    place = twin.removesuffix("/part-0.parquet")
    first, second = sorted(("states/prod.parquet", place))
    assert str(finding) == (
        f"the state of the cluster prod is in {first} and in {second}; give one of them only"
    )


def test_two_days_of_a_cluster_are_not_one_state() -> None:
    put("cluster=prod/date=1/part-0.parquet", "cluster=prod/date=2/part-0.parquet")
    (finding,) = said("cluster=prod")
    assert "is in cluster=prod/date=1 and in cluster=prod/date=2" in finding


def test_the_same_file_is_taken_once_however_it_is_given(here: Path) -> None:
    put("states/prod.json")
    Path("link").symlink_to("states")
    expected = {"prod": ["states/prod.json"]}
    assert found("states", "states/prod.json", f"{here}/states", "link/../states") == expected
    assert not said("states", "link")


OTHERS = [f"states/{name}" for name in ("prod.json", "a.txt", "b", "c.JSON", "d.gz", "e")]
NO_STATES: Mapping[str, tuple[str, Sequence[str], str]] = {
    "wrong_word": ("state", [], "state does not exist; correct the path"),
    "a_text_file": (
        "prod.txt",
        ["prod.txt"],
        "prod.txt is not a .json or .parquet file; give files NAME.json",
    ),
    "no_states": (
        "states",
        ["states/_SUCCESS"],
        "states holds no state of a cluster; save states there with kgitops fleet",
    ),
    "other_files": (
        "states",
        OTHERS,
        "states holds a.txt, b, c.JSON and 2 more next to .json and .parquet files",
    ),
    "a_spark_folder": (
        "states",
        ["states/prod.parquet/part-0.parquet"],
        "states/prod.parquet is a folder, though it is named like a file; rename",
    ),
    "json_in_a_partition": (
        "states",
        ["states/cluster=prod/part-0.json"],
        "states/cluster=prod/part-0.json is JSON, and a partition holds",
    ),
    "no_name": (
        "states",
        [f"states/cluster={NULL}/part-0.parquet"],
        f"states/cluster={NULL} names no cluster; give files NAME.json",
    ),
    "a_circle": (
        "states",
        ["states/prod.json", "states/again -> ../states"],
        "states/again is a link to a folder that it lies in; remove it",
    ),
    "a_link_to_nothing": (
        "states",
        ["states/prod.json -> nothing"],
        "states holds prod.json next to .json and .parquet files; move",
    ),
    "a_pipe": (
        "prod.json",
        ["prod.json |"],
        "prod.json is not a .json or .parquet file; give files",
    ),
}


@pytest.mark.parametrize("name", NO_STATES)
def test_what_is_no_state_is_said(name: str) -> None:
    path, files, words = NO_STATES[name]
    for file in files:
        make(file)
    (finding,) = said(path)
    assert finding.startswith(words)
    assert said(path, path) == [finding]


def test_what_can_not_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is injected, as who runs tests may be allowed to read everything."""
    put("states/prod.json")

    def refused(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    assert said("states") == ["states can't be read: permission denied; correct its permissions"]


def test_the_order_of_paths_is_no_matter() -> None:
    put("a/prod.json", "b/prod.json", "b/dev.json", "c/cluster=x/p.parquet", "c/read.me")
    answers: list[SavedStates] = [
        find_states(paths)
        for paths in itertools.permutations([Path("a"), Path("b"), Path("c"), Path("d")])
    ]
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0].findings) == 3


def test_a_state_has_the_size_of_its_files() -> None:
    put("cluster=prod/a.parquet", "cluster=prod/b.parquet", text="12345")
    assert [state.size for state in find_states([Path("cluster=prod")]).states] == [10]
