"""``kgitops fleet`` where it can't be meant: one sentence each, and nothing is replaced.

None of these starts Spark: what is wrong is told before, or is about a unit alone.
"""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders import a_topic, applied
from cli.conftest import Kgitops
from cli.projects import UID, Project, as_yaml, topic
from fleet.output.fleet_results import committed, unit
from report.plans import no_changes

from kgitops.cluster.snapshot import write_snapshot
from kgitops.fleet import pipeline
from kgitops.fleet.tables.state_rows import write_state

GIVEN = "fleet plan --desired shop --state states --out"
MISTAKES = {
    "fleet": "a command is missing; give one of ",
    "fleet plan": "missing option '--desired'; see kgitops fleet plan --help",
    "fleet plan --desired shop": "missing option '--state'",
    "fleet plan --desired shop --state states": "missing option '-o' / '--out'",
    GIVEN: "option '--out' requires an argument",
    "fleet plan --desired --state states --out new": "option '--desired' requires an argument",
    "fleet plan --desired shop --state --out new": "option '--state' requires an argument",
    "fleet plan --desired shop --out new --state": "option '--state' requires an argument",
    f"{GIVEN} new --policies": "option '--policies' requires an argument",
    "fleet plan --desired shp --state states --out new": "shp does not exist; correct the path",
    "fleet plan --desired shop --state stats --out new": "stats does not exist; correct the path",
    f"{GIVEN} new --policies rules": "rules does not exist; correct the path",
    "fleet plan --desired loop --state states --out new": "loop does not exist; correct the path",
    "fleet plan --desired shop --state nothing --out new": "nothing does not exist",
    'fleet plan --desired "" --state states --out new': "an argument is empty",
    'fleet plan --desired shop --state states --out ""': "an argument is empty",
    f"{GIVEN} states": "--out states lies in states, which is read; name a folder next to it",
    f"{GIVEN} states/new": "--out states/new lies in states, which is read",
    f"{GIVEN} shop/../states/new": "lies in states, which is read",
    f"{GIVEN} to-states/new": "--out to-states/new lies in states, which is read",
    "fleet plan --desired loose --state states --out loose/new": "lies in loose, which is read",
    f"{GIVEN} file": "--out file is a file; name a folder",
    f"{GIVEN} mine": "--out mine holds notes.txt and no fleet.json, so it is not a result",
    f"{GIVEN} shop": "--out shop holds .kgitops and no fleet.json, so it is not a result",
    f"{GIVEN} mixed": "--out mixed holds notes.txt, which kgitops fleet plan did not write",
    f"{GIVEN} .": "--out . is the folder you are in; name a folder in it",
    f"{GIVEN} ..": "--out .. is the folder you are in; name a folder in it",
    f"{GIVEN} /": "--out / is the folder you are in; name a folder in it",
    f"{GIVEN} a/b": "there is no folder",
    f"{GIVEN} file/new": "there is no folder",
    f"{GIVEN} new --format xml": "'xml' is not one of 'text', 'json'",
    f"{GIVEN} new --format sarif": "--format sarif shows the plan of one cluster",
    f"{GIVEN} new --conf nonsense": "--conf nonsense: write KEY=VALUE",
    f"{GIVEN} new --conf =x": "--conf =x: write KEY=VALUE",
    f"{GIVEN} new --conf a=1 --conf a=2": "--conf a is given twice; keep one of them",
    f"{GIVEN} new --master local --remote sc://x": "--master and --remote are two ways",
    f"{GIVEN} new --master nonsense": "--master nonsense is not a master of Spark; give local[N]",
    f"{GIVEN} new --remote nonsense": "--remote nonsense is not a server of Spark Connect; give sc://",
    f'{GIVEN} new --master ""': "an argument is empty",
    f"{GIVEN} new shop": "this is too much: shop; drop it",
    f"{GIVEN} new --polices x": "no such option: --polices; did you mean --policies?",
    "fleet compile": "missing argument 'PROJECT…'",
    "fleet compile shop": "missing option '-o' / '--out'",
    "fleet compile shp -o new": "shp does not exist; correct the path",
    "fleet compile loose -o new": "loose is not a whole project; give folders that hold a kgitops",
    "fleet compile shop -o file": "--out file is a file; name a folder",
    "fleet compile shop -o mine": "holds notes.txt, which kgitops fleet compile did not write",
    "fleet compile shop -o old": "holds changes, which kgitops fleet compile did not write",
    "fleet compile shop -o shop": "holds .kgitops, which kgitops fleet compile did not write",
    "fleet compile shop -o edited": "holds project=shop/cluster=local/notes.txt, which kgitops",
    "fleet compile shop -o .": "--out . is the folder you are in; name a folder in it",
    "fleet compile shop -o a/b": "there is no folder",
    "fleet snapshot": "missing option '-o' / '--out'",
    "fleet snapshot shp -o new": "shp does not exist; correct the path",
    "fleet snapshot loose -o new": "no project file names a cluster; give the folder of one",
    "fleet snapshot shop -o new -c lcal": "no project has a cluster 'lcal'; did you mean local?",
    "fleet snapshot shop -o file": "--out file: file is a file; name a folder",
    "fleet snapshot shop -o file/a/b": "--out file/a/b: ",
    "fleet summary": "missing argument 'DIR'",
    'fleet summary ""': "an argument is empty",
    "fleet summary nowhere": "nowhere can't be read: no such file or directory; name a folder",
    "fleet summary file": "file can't be read: not a directory; name a folder",
    "fleet summary loop": "loop can't be read: too many levels of symbolic links",
    "fleet summary mine": "mine holds no fleet.json, and no folder in it does",
    "fleet summary old --cluster pord": "old has no plan for a cluster pord; did you mean prod?",
    "fleet summary old --cluster ../prod": "old has no plan for a cluster ../prod",
    "fleet summary old -c prod --project x": "old has no plan of a project x for prod",
    "fleet summary old --project payments": "--project is about the plan of one cluster",
    "fleet summary old -o plan.json": "-o is about the plan of one cluster; name it with --cluster",
    "fleet summary old -c prod -o mine": "-o mine is a folder; name a file in it",
    "fleet summary old -c prod -o no/plan.json": "there is no folder no; make it first",
    "fleet summary old --format junit": "--format junit shows the plan of one cluster",
    "fleet summary old old": "this is too much: old; drop it",
}


def put_state(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    state = applied(a_topic("orders"), project=UID)
    if path.suffix == ".json":
        path.write_text(write_snapshot(state), encoding="utf-8")
    else:
        write_state(state, path)


@pytest.fixture
def world(here: Path) -> Path:
    """A project, a state of its cluster, an old result, and much that is neither."""
    return made(here)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for words that change nothing in it."""
    return made(tmp_path_factory.mktemp("world"))


def made(here: Path) -> Path:
    Project(here / "shop").write(topic())
    (here / "shop" / ".kgitops").mkdir()
    (here / "loose").mkdir()
    (here / "loose" / "all.yaml").write_text(as_yaml([topic()]))
    put_state(here / "states" / "local.parquet")
    committed(here / "old", (unit("prod"), no_changes()))
    committed(here / "mixed", (unit("prod"), no_changes()))
    for folder in ("mixed", "mine"):
        (here / folder).mkdir(exist_ok=True)
        (here / folder / "notes.txt").write_text("mine")
    edited = here / "edited" / "project=shop" / "cluster=local"
    edited.mkdir(parents=True)
    (edited / "notes.txt").write_text("mine")
    (here / "file").write_text("x")
    (here / "loop").symlink_to("loop")
    (here / "nothing").symlink_to("nowhere")
    (here / "to-states").symlink_to("states")
    return here


def content(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``, but for locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("kgitops-lock")
    }


@pytest.mark.parametrize("words", MISTAKES)
def test_a_command_line_that_cannot_be_meant_is_told_so(
    words: str, kept: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kept)
    before = content(kept)
    ran = kgitops(*shlex.split(words))
    assert MISTAKES[words] in ran.said
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.count("kgitops:") == 1
    assert "Traceback" not in ran.err
    assert content(kept) == before


class NoSpark:
    """Stands in for Spark where only the outcome of each unit matters."""

    def engine(self) -> None:
        """Nothing to start."""


@contextmanager
def _no_session(*_: object, **__: object) -> Iterator[NoSpark]:
    yield NoSpark()


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan each unit in this process."""
    monkeypatch.setattr(pipeline, "session", _no_session)
    monkeypatch.setattr(
        pipeline, "run_tasks", lambda _, specs, work, __: [work(spec) for spec in specs]
    )


INPUTS = {
    "empty": "empty holds no state of a cluster; save states there with kgitops fleet snapshot",
    "file": "file is not a .json or .parquet file; give files NAME.json or NAME.parquet",
    "mine": "mine holds notes.txt next to .json and .parquet files; move what is something else",
    "shop": "shop holds kgitops.yaml next to .json and .parquet files",
    "folder": "folder/local.json is a folder, though it is named like a file; rename it",
    "twice": "the state of the cluster local is in twice/a/local.parquet and in twice/b/local",
    "states json": "the state of the cluster local is in json/local.json and in states/local",
    "elsewhere": "there is no state of the cluster local, which the project payments is for",
    "newline": "names no cluster; give files NAME.json or NAME.parquet",
    "nul": "nul/cluster=%00 names no cluster",
    "null": "null/cluster=__HIVE_DEFAULT_PARTITION__ names no cluster",
    "circle": "circle/up is a link to a folder that it lies in; remove it",
}


@pytest.fixture
def states(world: Path) -> Path:
    """Folders that hold no state that could be meant."""
    for name in ("empty", "newline", "nul", "circle"):
        (world / name).mkdir()
    put_state(world / "json" / "local.json")
    put_state(world / "elsewhere" / "$(x).parquet")
    put_state(world / "newline" / "a\nb.parquet")
    put_state(world / "nul" / "cluster=%00" / "part.parquet")
    put_state(world / "null" / "cluster=__HIVE_DEFAULT_PARTITION__" / "part.parquet")
    (world / "folder" / "local.json").mkdir(parents=True)
    (world / "circle" / "up").symlink_to(world / "circle")
    for name in ("a", "b"):
        put_state(world / "twice" / name / "local.parquet")
    return world


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("given", INPUTS)
def test_a_state_that_cannot_be_meant_leaves_the_old_result(
    given: str, states: Path, kgitops: Kgitops
) -> None:
    before = content(states)
    ran = kgitops("fleet", "plan", "--desired", "shop", "--state", *given.split(), "--out", "old")
    assert INPUTS[given] in ran.said
    assert (ran.code, ran.out) == (1, "")
    assert "Traceback" not in ran.err
    assert content(states) == before


@pytest.mark.usefixtures("without_spark")
def test_projects_given_twice_are_told(states: Path, kgitops: Kgitops) -> None:
    shutil.copytree(states / "shop", states / "copy")
    words = ("fleet", "plan", "--state", "states", "--out", "old", "--desired")
    twins = kgitops(*words, "shop", "copy")
    assert (twins.code, "two projects have the name payments" in twins.said) == (1, True)
    part = kgitops(*words, "shop", "shop/manifests")
    assert (part.code, "is part of the project payments, which is" in part.said) == (1, True)


SNAPSHOTS = {
    "no bytes": (b"", "it is not complete JSON"),
    "another tool's": (b'{"kafka": {"topics": []}}', 'it has no "kind": "kgitops.snapshot"'),
    "a list": (b"[1, 2]", 'it has no "kind": "kgitops.snapshot"'),
    "not UTF-8": (b"\xff\xfe\x00", "it is not UTF-8"),
    "endless": (b"[" * 100_000, "it is not complete JSON"),
}


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("given", SNAPSHOTS)
def test_a_state_that_is_none_is_a_unit_without_a_plan(
    given: str, form: str, states: Path, kgitops: Kgitops
) -> None:
    text, sentence = SNAPSHOTS[given]
    (states / "bad").mkdir()
    (states / "bad" / f"local.{form}").write_bytes(text)
    ran = kgitops("fleet", "plan", "--desired", "shop", "--state", "bad", "--out", "new")
    assert ran.code == 8
    assert (sentence if form == "json" else "it is not a whole Parquet file") in ran.said
    assert "Traceback" not in ran.said


ODD_NAMES = ("..", "a/b", "$(x)", "%2F", "-x", "a b", "ü", "~", "*")


@pytest.mark.usefixtures("without_spark")
def test_clusters_may_have_odd_names(states: Path, kgitops: Kgitops) -> None:
    """Each is a folder of the result, none lies outside of it, and each is found by its name."""
    for name in ODD_NAMES:
        folder = name.replace("%", "%25").replace("/", "%2F").replace("*", "%2A")
        put_state(states / "odd" / f"cluster={folder}" / "part.parquet")
    before = set(content(states))
    kgitops("fleet", "plan", "--desired", "loose", "--state", "odd", "--out", "new")
    assert all(name.startswith("new/") for name in set(content(states)) - before)
    for name in ODD_NAMES:
        ran = kgitops("fleet", "summary", "new", f"--cluster={name}")
        assert f"cluster={name} " in ran.said
        assert "Traceback" not in ran.said
