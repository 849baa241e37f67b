"""``fleet compile`` replaces its folder as a whole or not at all, and nothing of anybody else's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from manifests.loading import topic, write

from kgitops.fleet import compiling
from kgitops.fleet.compiling import FleetCompileOptions, compile_fleet
from kgitops.fleet.output.replacing import private_folder
from kgitops.fleet.tables.desired_rows import open_desired
from kgitops.model.errors import FindingsError, KgitopsError, LockedError, UsageError

Answers = Sequence[str]
FILE = "part-0.parquet"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each task runs in this process: where it runs makes no difference to the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compiling, "session", no_session)
    run_tasks(monkeypatch, lambda work, specs: [work(spec) for spec in specs])
    return tmp_path


@contextmanager
def no_session(*_: object, **__: object) -> Iterator[None]:
    """Stands in for Spark."""
    yield


def run_tasks(
    monkeypatch: pytest.MonkeyPatch,
    tasks: Callable[[Callable[[str], str], Answers], Answers],
) -> None:
    monkeypatch.setattr(compiling, "run_tasks", lambda _, specs, work, __: tasks(work, specs))


def project(*clusters: str, topics: str = topic("a")) -> None:
    named = "".join(f'    {name}: {{url: "kafka://{name}:9092"}}\n' for name in clusters)
    head = "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: pay, uid: u}\n"
    spec = f"spec:\n  clusters:\n{named}"
    write(Path("pay"), {"kgitops.yaml": head + spec, "manifests/a.yaml": topics})


def compiled() -> int:
    return compile_fleet(FleetCompileOptions(projects=(Path("pay"),), out=Path("rows")))


def content() -> dict[str, int]:
    """Each file below the folder, and how many rows it declares; beside it is nothing."""
    left = {path.name for path in Path().iterdir()} - {"pay", ".rows.kgitops-lock"}
    assert left <= {"rows"}
    return {
        path.parent.name.removeprefix("cluster="): open_desired(
            (path,), "pay", path.parent.name.removeprefix("cluster=")
        ).count
        for path in sorted(Path("rows").glob(f"project=pay/*/{FILE}"))
    }


def test_a_second_run_replaces_the_first_as_a_whole() -> None:
    project("dev", "prod")
    assert compiled() == 2
    assert content() == {"dev": 1, "prod": 1}
    project("dev", topics=topic("a") + "---\n" + topic("b"))
    assert compiled() == 1
    assert content() == {"dev": 2}


@pytest.mark.parametrize("topics", [topic("a") + "---\n" + topic("a"), "kind: Topik\n"])
def test_what_can_not_be_compiled_leaves_what_was_there(topics: str) -> None:
    project("dev", "prod")
    compiled()
    project("dev", topics=topics)
    with pytest.raises(FindingsError):
        compiled()
    assert content() == {"dev": 1, "prod": 1}


def test_a_file_that_a_task_did_not_leave_here_leaves_what_was_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where executors write to file systems of their own."""
    project("dev")
    compiled()
    run_tasks(monkeypatch, lambda _, specs: ["[]" for _ in specs])
    with pytest.raises(KgitopsError, match=r"cluster=dev/part-0.parquet of the run is missing"):
        compiled()
    assert content() == {"dev": 1}


def test_what_a_killed_task_left_is_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(work: Callable[[str], str], specs: Answers) -> Answers:
        (private,) = Path().glob(".rows.kgitops-run-*")
        write(private, {f"project=pay/cluster=dev/.{FILE}.0.tmp": "half"})
        return [work(spec) for spec in specs]

    project("dev")
    run_tasks(monkeypatch, twice)
    compiled()
    assert [path.name for path in Path("rows").rglob("*") if path.is_file()] == [FILE]


@pytest.mark.parametrize(
    "file", ["notes.txt", ".notes", "project=pay/notes.txt", f"project=pay/cluster=dev/x/{FILE}"]
)
def test_what_is_somebody_elses_is_never_replaced(file: str) -> None:
    project("dev")
    compiled()
    write(Path("rows"), {file: "mine"})
    with pytest.raises(UsageError, match=r"which kgitops fleet compile did not write.*move that"):
        compiled()
    assert Path("rows", file).read_text() == "mine"


@pytest.mark.parametrize("file", ["_SUCCESS", f"project=pay/cluster=dev/.{FILE}.crc"])
def test_what_spark_leaves_where_it_wrote_the_rows_anew_is_replaced(file: str) -> None:
    project("dev")
    compiled()
    write(Path("rows"), {file: ""})
    compiled()
    assert not Path("rows", file).exists()
    assert content() == {"dev": 1}


def test_one_run_at_a_time() -> None:
    project("dev")
    compiled()
    with (
        private_folder(Path("rows"), compiling._ROWS),
        pytest.raises(LockedError, match="another run of kgitops fleet compile writes to"),
    ):
        compiled()
    assert content() == {"dev": 1}


def test_a_cut_swap_is_put_right_by_the_next_run() -> None:
    """Its other cuts are those of every folder: output/test_publish.py kills at each."""
    project("dev", "prod")
    compiled()
    Path("rows").rename(".rows.kgitops-old")
    project("dev", topics="nonsense: [")
    with pytest.raises(FindingsError):
        compiled()
    assert content() == {"dev": 1, "prod": 1}
