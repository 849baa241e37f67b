"""A server of Spark Connect on loopback."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fleet.spark import spark_work
from fleet.spark.spark_clusters import connect_server
from fleet.spark_sessions import Driver, bare_environment
from patience import eventually

from kgitops.fleet.spark.engine import TaskProgress
from kgitops.fleet.spark.session import Session, session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.model.errors import KgitopsError, SafetyError, UsageError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture(scope="module")
def remote(url: str) -> Iterator[Session]:
    with session(None, url, {}) as remote:
        yield remote


def test_it_runs_by_one_option_and_without_java(url: str, tmp_path: Path) -> None:
    specs = [f"spec {number}" for number in range(9)]
    env = bare_environment(tmp_path)
    driven = Driver(tmp_path, spark_work.echo, specs, remote=url, env=env).finish()
    assert (driven.error, driven.stdout, driven.stderr) == (None, "", "")
    assert driven.answers == tuple(f"did {spec}" for spec in specs)


def test_progress_is_told(remote: Session) -> None:
    seen: list[TaskProgress] = []
    answers = list(run_tasks(remote, [""] * 60, spark_work.where, seen.append))
    assert len(set(answers)) == 60
    assert seen[-1] == TaskProgress(done=60, active=0, total=60)
    assert any(0 < step.done < 60 for step in seen)


def test_large_specs_travel_too(remote: Session) -> None:
    specs = [str(number) * 2_000_000 for number in range(6)]
    answers = list(run_tasks(remote, specs, spark_work.echo))
    assert [answer[-1] for answer in answers] == [str(number) for number in range(6)]


def test_a_task_whose_worker_is_killed_is_done_again(remote: Session, tmp_path: Path) -> None:
    specs = [str(tmp_path / name) for name in ("a", "b")]
    assert list(run_tasks(remote, specs, spark_work.die_once)) == ["did a", "did b"]


def test_errors_are_sentences(remote: Session, tmp_path: Path) -> None:
    with pytest.raises(SafetyError, match=r"^file is not fit; correct it$"):
        run_tasks(remote, [str(tmp_path / "file")], spark_work.refuse)
    with pytest.raises(KgitopsError) as raised:
        run_tasks(remote, [str(tmp_path / "file")], spark_work.fail)
    assert str(raised.value).startswith(f"a task failed on {remote.url}: ValueError: this is")
    assert "\n" not in str(raised.value)


def test_only_settings_of_sessions_can_be_given(url: str) -> None:
    with session(None, url, {"spark.sql.ansi.enabled": "false"}) as remote:
        assert list(run_tasks(remote, ["a"], spark_work.echo)) == ["did a"]
    refused = r"^--conf spark\.executor\.memory=2g can't be set: .*; set up the server with it$"
    with (
        session(None, url, {"spark.executor.memory": "2g"}) as remote,
        pytest.raises(UsageError, match=refused),
    ):
        remote.engine()


class _Stop(BaseException):
    """As a signal's handler raises it."""


def test_an_interrupt_ends_the_tasks(remote: Session, tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    def stop_when_at_work(_progress: TaskProgress) -> None:
        if marker.exists() and marker.read_text():
            raise _Stop

    with pytest.raises(_Stop):
        run_tasks(remote, [str(marker)], spark_work.linger, stop_when_at_work)
    worker = int(marker.read_text())
    eventually(lambda: not psutil.pid_exists(worker), what=f"the worker {worker} has ended")
