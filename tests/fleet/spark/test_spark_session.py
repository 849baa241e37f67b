"""Tasks on the local session that the tests of a process share."""

import os
import threading
from collections import Counter
from pathlib import Path

import psutil
import pytest
from fleet.spark import spark_work
from patience import eventually

from kgitops.fleet.spark.engine import TaskProgress
from kgitops.fleet.spark.session import Session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.model.errors import KgitopsError, SafetyError

pytestmark = pytest.mark.spark


def test_every_spec_is_answered_once_and_in_order(local_spark: Session) -> None:
    specs = [f"número {number}" for number in range(25)]
    assert list(run_tasks(local_spark, specs, spark_work.echo)) == [f"did {spec}" for spec in specs]


def test_equal_specs_are_tasks_of_their_own(local_spark: Session) -> None:
    assert list(run_tasks(local_spark, ["a", "a", ""], spark_work.echo)) == [
        "did a",
        "did a",
        "did ",
    ]


def test_no_specs_need_no_spark() -> None:
    def never() -> Session:
        raise AssertionError

    unstarted = Session("nowhere", never, 1)  # type: ignore[arg-type]
    assert list(run_tasks(unstarted, [], spark_work.echo)) == []


def test_large_specs_travel_too(local_spark: Session) -> None:
    specs = [str(number) * 2_000_000 for number in range(6)]
    answers = list(run_tasks(local_spark, specs, spark_work.echo))
    assert [len(answer) for answer in answers] == [2_000_004] * 6


def test_a_spec_is_a_task_and_workers_are_used_again(local_spark: Session) -> None:
    seen: list[TaskProgress] = []
    answers = list(run_tasks(local_spark, [""] * 12, spark_work.where, seen.append))
    workers = Counter(answer.split()[0] for answer in answers)
    assert len(workers) <= 2
    # The second answer of a worker knows of the first: its modules live on.
    assert len(set(answers)) == 12
    assert seen[-1] == TaskProgress(done=12, active=0, total=12)
    assert all(0 <= step.done <= step.total == 12 for step in seen)
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert any(step.active for step in seen)


def test_executors_run_this_python(local_spark: Session) -> None:
    workers = {answer.split()[0] for answer in run_tasks(local_spark, [""], spark_work.where)}
    assert workers != {str(os.getpid())}
    assert next(iter(run_tasks(local_spark, ["PYTHONPATH"], spark_work.variable))) != ""


def test_a_task_whose_worker_is_killed_is_done_again(local_spark: Session, tmp_path: Path) -> None:
    specs = [str(tmp_path / name) for name in ("a", "b", "c")]
    (tmp_path / "b").write_text("not this one")
    answers = list(run_tasks(local_spark, specs, spark_work.die_once))
    assert answers == ["did a", "did b", "did c"]
    assert [(tmp_path / name).read_text() for name in "abc"] == ["killed", "not this one", "killed"]


def test_a_task_that_always_dies_ends_the_run(local_spark: Session, tmp_path: Path) -> None:
    with pytest.raises(KgitopsError) as raised:
        run_tasks(local_spark, [str(tmp_path / "attempts")], spark_work.die)
    assert (tmp_path / "attempts").read_text() == "xxxx"
    assert "a task failed on local[2,4]: " in str(raised.value)
    assert "Python worker exited unexpectedly" in str(raised.value)
    assert "\n" not in str(raised.value)
    # The session is fit for the next run.
    assert list(run_tasks(local_spark, ["a"], spark_work.echo)) == ["did a"]


def test_an_error_of_ours_comes_back_as_it_is_and_is_not_tried_again(
    local_spark: Session, tmp_path: Path
) -> None:
    specs = [str(tmp_path / name) for name in ("first", "second")]
    with pytest.raises(SafetyError, match=r"^first is not fit; correct it$"):
        run_tasks(local_spark, specs, spark_work.refuse)
    assert [(tmp_path / name).read_text() for name in ("first", "second")] == ["x", "x"]


def test_any_other_error_is_one_sentence(local_spark: Session, tmp_path: Path) -> None:
    with pytest.raises(KgitopsError) as raised:
        run_tasks(local_spark, [str(tmp_path / "attempts")], spark_work.fail)
    assert str(raised.value).startswith("a task failed on local[2,4]: ValueError: this is")
    assert "\n" not in str(raised.value)
    assert (tmp_path / "attempts").read_text() == "xxxx"


class _Stop(BaseException):
    """As a signal's handler raises it."""


def test_an_interrupt_ends_the_tasks(local_spark: Session, tmp_path: Path) -> None:
    """Also those that wait for something that never comes."""
    specs = [str(tmp_path / name) for name in ("a", "b", "c")]

    def stop_when_at_work(_progress: TaskProgress) -> None:
        if len(_pids(tmp_path)) == 2:
            raise _Stop

    with pytest.raises(_Stop):
        run_tasks(local_spark, specs, spark_work.linger, stop_when_at_work)
    pids = _pids(tmp_path)
    assert len(pids) == 2
    eventually(
        lambda: [pid for pid in pids if psutil.pid_exists(pid)],
        lambda left: not left,
        what="all workers have ended",
    )
    assert not any(thread.name == "spark-run" for thread in threading.enumerate())
    assert list(run_tasks(local_spark, ["a"], spark_work.echo)) == ["did a"]


def _pids(folder: Path) -> list[int]:
    return [int(text) for file in folder.iterdir() if (text := file.read_text())]
