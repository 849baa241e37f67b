"""Errors where no sandbox can start, and that nothing is left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from kafka_clusters import StartKafka
from other_processes import running
from patience import eventually

from kgitops.model.errors import KgitopsError
from kgitops.sandbox import jars, jvm
from kgitops.sandbox import sandbox as sandbox_module
from kgitops.sandbox.jars import Jar, check_jars, libs_folder, pinned_jars
from kgitops.sandbox.jvm import find_java, java_version
from kgitops.sandbox.layout import free_ports, is_free
from kgitops.sandbox.process import find_process

KILLED = """
import sys, time
from pathlib import Path
from kgitops.sandbox.sandbox import start
sandbox = start(Path(sys.argv[1]))
print("started", flush=True)
time.sleep(600)
"""


def test_brokers_die_with_the_process_that_started_them(
    tmp_path: Path, own_kafka: StartKafka
) -> None:
    """Even after SIGKILL, which leaves that process no time to stop anything."""
    home = tmp_path / "home"
    with running(
        [sys.executable, "-c", KILLED, home], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout
        assert starter.stdout.readline() == "started\n"
        broker = psutil.Process(int((home / "broker-1" / "pid").read_text()))
        assert broker.is_running()
        starter.send_signal(signal.SIGKILL)
    broker.wait(timeout=30)


def test_a_property_that_kafka_refuses_is_reported(own_kafka: StartKafka) -> None:
    with pytest.raises(KgitopsError, match=r"Kafka can't format its data: .*log\.retention\.ms"):
        own_kafka(properties={"log.retention.ms": "soon"})


def test_a_broker_that_dies_is_reported_with_the_end_of_its_log(own_kafka: StartKafka) -> None:
    """Formatting does not look for this class."""
    with pytest.raises(KgitopsError, match=r"broker 1 .* died: .*NoSuchClass.* its log is /"):
        own_kafka(properties={"authorizer.class.name": "NoSuchClass"})


@pytest.mark.parametrize(("failures", "works"), [(1, True), (2, False)])
def test_a_start_that_elects_no_leader_is_repeated_once(
    failures: int,
    works: bool,
    own_kafka: StartKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fake for fault injection: the first brokers end as Kafka's do without a leader."""
    real = find_java()
    java = _script(
        tmp_path / "bin" / "java",
        f"""case "$*" in *kafka.Kafka*)
  n=$(cat {tmp_path}/count 2>/dev/null || echo 0); echo $((n + 1)) >{tmp_path}/count
  if [ $n -lt {failures} ]; then
    echo "Shutting down because we were unable to register with the controller quorum."
    exit 1
  fi
esac
exec {real} "$@"
""",
    )
    monkeypatch.setattr(sandbox_module, "find_java", lambda: java)
    monkeypatch.setattr(sandbox_module, "with_archive", lambda plain, _: plain)
    stages: list[str] = []
    if works:
        assert own_kafka(on_stage=stages.append).running == (1,)
    else:
        with pytest.raises(KgitopsError, match="unable to register"):
            own_kafka(on_stage=stages.append)
    assert stages.count("Kafka did not start; trying once more") == 1


def test_without_any_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jvm, "packaged_java", lambda: None)
    with pytest.raises(KgitopsError, match=r"no Java 17 or newer .*sandbox, which"):
        find_java()


def test_an_old_java_and_a_broken_one_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = _script(tmp_path / "home" / "bin" / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    broken = _script(tmp_path / "path" / "java", "exit 1")
    assert (java_version(old), java_version(broken)) == (11, 0)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{broken.parent}:/bin")
    assert find_java() == jvm.packaged_java()


def test_javas_own_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = _script(tmp_path / "bin" / "java", "echo 'openjdk version \"21\" 2023' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == mine


def _script(path: Path, line: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def test_without_maven_and_jgo_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(jars, "find_spec", lambda _: None)
    with pytest.raises(KgitopsError, match=r"install Maven, or .*sandbox, which"):
        jars.fetch_jars(pinned_jars(), tmp_path / "libs", "Kafka", lambda _: None)
    assert not (tmp_path / "libs").exists()


def test_a_jar_that_is_another_one_is_refused(tmp_path: Path, own_kafka: StartKafka) -> None:
    jar = next(jar for jar in pinned_jars() if jar.name == "kafka-clients")
    _check(tmp_path, jar, (libs_folder() / jar.file).read_bytes())
    changed = (libs_folder() / jar.file).read_bytes()[:-1] + b"?"
    with pytest.raises(KgitopsError, match=r"kafka-clients-.*\.jar is not the file"):
        _check(tmp_path, jar, changed)
    (tmp_path / jar.file).unlink()
    with pytest.raises(KgitopsError, match=r"brought no kafka-clients"):
        check_jars([jar], tmp_path)


def _check(folder: Path, jar: Jar, content: bytes) -> None:
    (folder / jar.file).write_bytes(content)
    check_jars([jar], folder)


def test_a_port_in_use_is_not_free() -> None:
    (port,) = free_ports(1)
    assert is_free(port)
    with running(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            eventually(lambda: not is_free(port), what="the server has the port")
            assert free_ports(1, [port]) != [port]
        finally:
            server.terminate()


def test_wanted_ports_come_first() -> None:
    (first,) = free_ports(1)
    assert free_ports(1, [first]) == [first]


def test_a_process_is_found_from_its_first_moment_on() -> None:
    """Its command line is empty until the kernel has read it, which once hid the process."""
    for number in range(100):
        mark = f"mark-{number}"
        with running([sys.executable, "-c", "input()", mark], stdin=subprocess.PIPE) as process:
            found = find_process(process.pid, mark)
            process.kill()
            assert found, number
