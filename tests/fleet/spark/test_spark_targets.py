"""Which Spark is meant, how it is set up, and what it says: nothing of this starts one."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kgitops.fleet.spark import targets
from kgitops.fleet.spark.classic import java_home
from kgitops.fleet.spark.engine import Engine
from kgitops.fleet.spark.error_messages import error_from_run, error_from_spark, jvm_error_line
from kgitops.fleet.spark.session import Session
from kgitops.fleet.spark.targets import (
    Master,
    Remote,
    check_packages,
    check_reachable,
    classic_environment,
    classic_settings,
    parse_target,
)
from kgitops.model.errors import KgitopsError, UnreachableError, UsageError
from kgitops.sandbox.jvm import packaged_java


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (None, "local[*,4]"),
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local[2, 7]", "local[2,7]"),
        ("yarn", "yarn"),
        ("k8s://https://host:443", "k8s://https://host:443"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
    ],
)
def test_a_local_master_tries_tasks_again(given: str | None, url: str) -> None:
    target = parse_target(given, None, {})
    assert isinstance(target, Master)
    assert target.url == url


@pytest.mark.parametrize(
    "url", ["", "nonsense", "local[x]", "spark://host", "spark://", "sc://a:1"]
)
def test_no_master(url: str) -> None:
    with pytest.raises(UsageError, match="is not a master of Spark; give local"):
        parse_target(url, None, {})


@pytest.mark.parametrize("url", ["", "host:1", "sc://", "sc://host:port", "spark://host:1"])
def test_no_server_of_connect(url: str) -> None:
    with pytest.raises(UsageError, match="is not a server of Spark Connect; give sc://HOST:PORT"):
        parse_target(None, url, {})


def test_conf_wins() -> None:
    assert parse_target("local[2]", None, {"spark.master": "yarn"}) == Master(url="yarn")
    remote = parse_target(None, None, {"spark.remote": "sc://host"})
    assert remote == Remote(url="sc://host", host="host:15002")
    settings = classic_settings(Master(url="local[2,4]"), {"spark.ui.enabled": "true", "a": "b"})
    assert (settings["spark.ui.enabled"], settings["a"]) == ("true", "b")


def test_only_local_masters_are_kept_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    for url, here in [
        ("local[2]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://127.0.0.1:7077,far:7077", False),
        ("spark://far:7077", False),
        ("yarn", False),
    ]:
        master = parse_target(url, None, {})
        assert isinstance(master, Master)
        address = classic_settings(master, {}).get("spark.driver.bindAddress")
        variables = classic_environment(master, {})
        assert address == ("127.0.0.1" if here else None)
        assert variables["SPARK_LOCAL_IP"] == address
        assert variables["PYSPARK_PYTHON"] == (sys.executable if here else None)


def test_the_users_python_is_not_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "theirs")
    local = Master(url="local[1,4]")
    assert classic_environment(local, {})["PYSPARK_PYTHON"] == "theirs"
    conf = {"spark.pyspark.python": "set"}
    assert classic_environment(local, conf)["PYSPARK_PYTHON"] == "set"


def test_without_a_java_a_sentence_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("kgitops.sandbox.jvm.packaged_java", lambda: None)
    with pytest.raises(KgitopsError, match=r"^Spark needs Java 17 or newer, .*fleet, which"):
        java_home(tmp_path)


def test_the_shim_passes_all_words_but_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    printf = shutil.which("printf")
    assert printf
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("kgitops.sandbox.jvm.shutil.which", lambda *_, **__: None)
    home = java_home(tmp_path / "a folder")
    assert home == tmp_path / "a folder"
    shim = home / "bin" / "java"
    assert str(packaged_java()) in shim.read_text()
    shim.write_text(shim.read_text().replace(str(packaged_java()), printf))
    words = ["%s|", "-Da=b c", "--add-modules=jdk.incubator.vector", "*", ""]
    said = subprocess.run([shim, *words], capture_output=True, text=True, check=True).stdout
    assert said == "-Da=b c|*||"


def test_without_pyspark_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "find_spec", lambda name: None if name == "pyspark" else name)
    with pytest.raises(
        KgitopsError, match=r"pyspark can't be imported; run uv sync --inexact --extra fleet"
    ):
        check_packages()


def test_a_name_that_is_none() -> None:
    with pytest.raises(UnreachableError, match=r"^Spark at spark://no\.invalid:1 can't be reached"):
        check_reachable("spark://no.invalid:1", ["no.invalid:1"])


def test_one_of_two_masters_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as there:
        check_reachable("spark://", ["127.0.0.1:1", f"127.0.0.1:{there.getsockname()[1]}"])


def test_a_session_starts_by_itself_and_is_waited_for_no_longer_than_said() -> None:
    at_work, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def start() -> Engine:
        at_work.set()
        go_on.wait(30)
        ended.set()
        raise KgitopsError("it does not start")

    started = Session("nowhere", start, 0.2)
    assert at_work.wait(10)
    with pytest.raises(UnreachableError, match=r"^Spark on nowhere did not start within 0 s; "):
        started.engine()
    started.close(at_once=True)
    assert not ended.is_set()
    go_on.set()
    started.close(at_once=False)
    assert ended.is_set()
    with pytest.raises(KgitopsError, match=r"^it does not start$"):
        started.engine()


PYTHON_SAID = """
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "a.py", line 1, in work
    boom()
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 1, in work
kgitops.odd.OddError: second
"""
JAVA_SAID = """An error occurred while calling o1.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: no luck.
\tat org.apache.spark.X.y(Z.scala:1)
"""
NO_KGITOPS = """Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'kgitops'
"""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (PYTHON_SAID, "it failed: OddError: second"),
        (JAVA_SAID, "it failed: SparkException: Job aborted due to stage failure: no luck"),
        ("[SOME_CLASS] what it is. More", "it failed: what it is. More"),
        ("", "it failed: ValueError"),
        (
            NO_KGITOPS,
            "it failed: ModuleNotFoundError: No module named 'kgitops'; install kgitops[fleet] "
            "for the Python of the executors (PYSPARK_PYTHON)",
        ),
        ("x" * 1000, f"it failed: {'x' * 399}…"),
    ],
)
def test_many_lines_become_one(said: str, sentence: str) -> None:
    assert str(error_from_spark(ValueError(said), "it failed")) == sentence


def test_a_lost_server_is_no_failed_task() -> None:
    lost = '<Rendezvous:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "refused"\n>'
    failure = error_from_run(ValueError(lost), "sc://a:1")
    assert isinstance(failure, UnreachableError)
    assert str(failure) == "Spark on sc://a:1 was lost: refused; look at its logs, and run again"
    assert not isinstance(error_from_run(ValueError(JAVA_SAID), "sc://a:1"), UnreachableError)


def test_what_a_java_says_that_does_not_start() -> None:
    log = "WARNING: Using incubator modules\nError: Could not find it\n\tat a.b\nmore\n"
    assert jvm_error_line(log) == "Error: Could not find it"
    assert jvm_error_line(f"WARNING: Using{os.linesep}") is None
    assert jvm_error_line("Unrecognized option: -x\n") == "Unrecognized option: -x"
