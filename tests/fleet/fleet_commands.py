"""``kgitops fleet`` as a user types it, on the Spark that the tests of a process share."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Document, Project, acl, quota, topic
from msgspec import Struct

from kgitops.cli.main import main
from kgitops.cluster.snapshot import read_snapshot
from kgitops.fleet import auditing, compiling, pipeline, snapshotting
from kgitops.fleet.spark.session import Session
from kgitops.fleet.tables.state_rows import write_state
from kgitops.model.registry import Json

CLUSTERS = ("east", "north", "west")
BROKEN = "north"
NO_ROWS = "none.parquet"
DECLARED = (
    topic("orders", deletionPolicy="Delete"),
    topic("refunds", deletionPolicy="Delete"),
    acl("billing"),
    quota("billing"),
)
EDITED = (*DECLARED[1:], topic("orders", deletionPolicy="Delete", configs={"retention.ms": "1000"}))


class Fleet(Struct, frozen=True):
    """A project on three clusters, applied to all; its manifests have changed one topic since.

    ``states`` has a state of each, ``out`` is where results go.
    """

    folder: Path

    @property
    def project(self) -> Project:
        return Project(self.folder / "payments")

    @property
    def states(self) -> Path:
        return self.folder / "states"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def write(self, *documents: Document) -> None:
        project = self.project.write(*documents)
        clusters: Json = {
            name: {"url": f"embedded:.kgitops/{name}.db", "brokers": 3} for name in CLUSTERS
        }
        project.write_file(clusters=clusters)

    def as_rows(self) -> None:
        """Let all states be Parquet."""
        for name in CLUSTERS:
            text = self.states / f"{name}.json"
            write_state(read_snapshot(text.read_text(), name), text.with_suffix(".parquet"))
            text.unlink()

    def result(self) -> dict[str, Json]:
        return dict(json.loads((self.out / "fleet.json").read_text()))

    def unit(self, cluster: str) -> dict[str, Json]:
        (found,) = (unit for unit in self.result()["units"] if unit["cluster"] == cluster)
        return dict(found)

    def files(self, cluster: str) -> list[str]:
        """Which tables have rows of the cluster."""
        found = set(self.out.glob(f"*/cluster={cluster}/*")) - set(self.out.rglob(NO_ROWS))
        return sorted({file.parents[1].name for file in found})

    def placeholders(self) -> set[str]:
        """The files that let an engine find the columns of a table without rows."""
        return {str(file.relative_to(self.out)) for file in self.out.rglob(NO_ROWS)}


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Ran:
    capsys.readouterr()
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return Ran(code, out, err)


@pytest.fixture
def kgitops(capsys: pytest.CaptureFixture[str]) -> Kgitops:
    """Runs a command in this process."""
    return lambda *words: run(capsys, *words)


@pytest.fixture(scope="session")
def applied_fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """To be copied, never changed."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.write(*DECLARED)
    fleet.states.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(fleet.folder)
        for name in CLUSTERS:
            assert main(["apply", "payments", "-c", name, "--auto-approve"]) == 0
            assert main(["snapshot", "payments", "-c", name, "-o", f"states/{name}.json"]) == 0
    fleet.write(*EDITED)
    return fleet


@pytest.fixture
def fleet(applied_fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A copy of it, in the current folder."""
    folder = shutil.copytree(applied_fleet.folder, tmp_path / "company")
    monkeypatch.chdir(folder)
    return Fleet(folder)


@pytest.fixture
def on_shared_spark(local_spark: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process find a Spark that is there already, and leave it there."""

    @contextmanager
    def shared(*_: object, **__: object) -> Iterator[Session]:
        yield local_spark

    monkeypatch.setattr(pipeline, "session", shared)
    monkeypatch.setattr(compiling, "session", shared)
    monkeypatch.setattr(auditing, "session", shared)
    monkeypatch.setattr(snapshotting, "session", shared)


Plans = Callable[..., Ran]


@pytest.fixture
def plans(fleet: Fleet, kgitops: Kgitops, on_shared_spark: None) -> Plans:
    """Plans the fleet by command: its project and its states, if nothing else is given."""
    del on_shared_spark

    def plan(*words: object, desired: Sequence[object] = ("payments",)) -> Ran:
        given = ("--desired", *desired, "--state", "states", "--out", "out", *words)
        return kgitops("fleet", "plan", *given)

    del fleet
    return plan
