"""Drivers in processes of their own: what they say, what they need, how they end."""

import signal
import socket
from pathlib import Path

import psutil
import pytest
from fleet.spark import spark_work
from fleet.spark_sessions import LOCAL, Driver, bare_environment
from patience import eventually

from kgitops.fleet.spark.session import session
from kgitops.model.errors import KgitopsError, UnreachableError, UsageError

pytestmark = pytest.mark.spark


def test_nothing_is_said_even_where_tasks_fail_and_print(tmp_path: Path) -> None:
    specs = [str(tmp_path / "marker")]
    driven = Driver(tmp_path, spark_work.die_once, specs, master=LOCAL).finish()
    assert driven.answers == ("did marker",)
    assert (driven.stdout, driven.stderr) == ("", "")
    printing = Driver(tmp_path, spark_work.shout, ["a"], master="local").finish()
    assert (printing.answers, printing.stdout, printing.stderr) == (("a",), "", "")


def test_a_failed_run_says_one_sentence(tmp_path: Path) -> None:
    specs = [str(tmp_path / "attempts")]
    driven = Driver(tmp_path, spark_work.fail, specs, master=LOCAL).finish()
    assert driven.kind == "KgitopsError"
    assert driven.error == "a task failed on local[2,4]: ValueError: this is"
    assert (driven.stdout, driven.stderr) == ("", "")


def test_without_a_java_of_the_machine_it_runs_on_the_packaged_one(tmp_path: Path) -> None:
    env = bare_environment(tmp_path)
    driven = Driver(tmp_path, spark_work.echo, ["a", "b"], master=LOCAL, env=env).finish()
    assert (driven.error, driven.answers) == (None, ("did a", "did b"))
    assert (driven.stdout, driven.stderr) == ("", "")


def test_what_the_user_sets_wins(tmp_path: Path) -> None:
    conf = {"spark.master": "local[1]", "spark.executorEnv.OURS": "theirs"}
    driven = Driver(tmp_path, spark_work.variable, ["OURS"], master="local[7]", conf=conf).finish()
    assert (driven.error, driven.answers) == (None, ("theirs",))


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"spark.driver.memory": "lots"}, "Spark's Java does not start: "),
        ({"spark.driver.memory": "1m"}, "Spark's Java does not start: Too small maximum heap; "),
        ({"spark.driver.memory": "64m"}, "[2,4]: Insufficient driver memory: System memory"),
        ({"spark.pyspark.python": "/no/python"}, "/no/python"),
    ],
)
def test_a_setting_that_can_not_be_meant(conf: dict[str, str], said: str, tmp_path: Path) -> None:
    driven = Driver(tmp_path, spark_work.echo, ["a"], master=LOCAL, conf=conf).finish()
    assert driven.kind == "KgitopsError"
    assert driven.error is not None
    assert said in driven.error
    assert "\n" not in driven.error
    assert (driven.stdout, driven.stderr) == ("", "")


@pytest.mark.parametrize(
    ("master", "remote", "kind"),
    [
        ("nonsense", None, UsageError),
        ("spark://127.0.0.1:1", None, UnreachableError),
        (None, "nonsense", UsageError),
        (None, "sc://127.0.0.1:1", UnreachableError),
        ("local", "sc://127.0.0.1:1", UsageError),
    ],
)
def test_a_wrong_url(
    master: str | None,
    remote: str | None,
    kind: type[KgitopsError],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is noticed before any Java starts, so no process of its own is needed."""
    with pytest.raises(kind) as raised, session(master, remote, {}) as spark:
        spark.engine()
    assert type(raised.value) is kind
    assert "\n" not in str(raised.value)
    assert "did not start within" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


def test_a_server_that_is_none_of_spark_connect(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        remote = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        driven = Driver(tmp_path, spark_work.echo, ["a"], remote=remote).finish()
    assert driven.kind == "UnreachableError"
    assert driven.error is not None
    assert "it does not speak gRPC within" in driven.error
    assert (driven.stdout, driven.stderr) == ("", "")


def test_workers_are_there_before_the_work_is(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    conf = {"spark.executorEnv.NOTE_IMPORT": str(notes)}
    driven = Driver(tmp_path, spark_work.echo, [], master=LOCAL, conf=conf, warm=True).finish()
    assert (driven.error, driven.stdout, driven.stderr) == (None, "", "")
    assert 1 <= len(notes.read_text().split()) <= 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(number: signal.Signals, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    driver = Driver(tmp_path, spark_work.linger, [str(marker)], master=LOCAL)
    eventually(lambda: marker.exists() and marker.read_text(), what="the task has begun")
    family = psutil.Process(driver.process.pid).children(recursive=True)
    assert family
    driver.interrupt(number)
    driven = driver.finish()
    assert driven.kind == "InterruptedRunError"
    assert (driven.stdout, driven.stderr) == ("", "")
    _gone, left = psutil.wait_procs(family, timeout=30)
    assert not left
    assert not psutil.pid_exists(int(marker.read_text()))


def test_policies_are_configured_and_closed_once_in_each_worker(tmp_path: Path) -> None:
    """Spark ends workers without a word; the policies' own process notices and closes them."""
    diary = tmp_path / "diary"
    driven = Driver(tmp_path, spark_work.judge, [str(diary)] * 8, master=LOCAL).finish()
    assert (driven.error, driven.answers) == (None, ("False",) * 8)

    def is_complete(text: str) -> bool:
        return text.count("closed") == text.count("configured")

    eventually(diary.read_text, is_complete, what="every policy is closed")
    notes = [line.split() for line in diary.read_text().splitlines()]
    by_process = {pid: [word for other, word in notes if other == pid] for pid, _ in notes}
    assert 1 <= len(by_process) <= 2
    assert all(words == ["configured", "closed"] for words in by_process.values())
