"""Where text goes and what it never holds: pipes, terminals, full disks, secrets."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, as_yaml, quota, topic
from installed import BASH

from kgitops.model.registry import Json

KGITOPS = [sys.executable, "-m", "kgitops"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SECRET = "hunter2-is-no-good"  # noqa: S105 (a made-up one)


@pytest.fixture
def long(project: Project) -> Project:
    """A project whose plan is longer than what a pipe takes in at once."""
    return project.write(*(topic(f"topic-{number}") for number in range(400)), acl())


def on_a_terminal(*words: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command whose two streams are terminals of their own."""
    out, err = Terminal(), Terminal()
    process = subprocess.Popen(
        [*KGITOPS, *words],
        stdin=subprocess.DEVNULL,
        stdout=out.inner,
        stderr=err.inner,
        env={**os.environ, "TERM": "xterm-256color", **(env or {})},
    )
    code = process.wait(60)
    return code, out.text(), err.text()


class Terminal:
    """A terminal that remembers what was shown on it."""

    def __init__(self) -> None:
        self._outer, self.inner = pty.openpty()
        self._heard = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def text(self) -> str:
        os.close(self.inner)
        self._reader.join()
        os.close(self._outer)
        return self._heard.decode().replace("\r\n", "\n")

    def _read(self) -> None:
        while True:
            try:
                heard = os.read(self._outer, 65536)
            except OSError:
                return
            self._heard += heard


# Colour and progress.


def test_a_terminal_gets_colour_and_a_pipe_does_not(project: Project, process: Kgitops) -> None:
    project.write(topic())
    _, out, _ = on_a_terminal("plan", "payments")
    piped = process("plan", "payments")
    assert COLOUR.search(out)
    assert not COLOUR.search(piped.out)
    assert "\x1b" not in piped.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "env"),
    [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})],
    ids=["--no-color", "NO_COLOR", "TERM=dumb"],
)
def test_colour_can_be_turned_off(
    words: tuple[str, ...], env: dict[str, str], project: Project
) -> None:
    project.write(topic())
    code, out, err = on_a_terminal("apply", "payments", "--auto-approve", *words, env=env)
    assert (code, "1 done" in out) == (0, True)
    assert not re.search(r"\x1b\[[0-9;]*[1-9][0-9;]*m", out + err)


def test_a_terminal_sees_what_goes_on_and_nothing_of_it_is_left(project: Project) -> None:
    project.write(topic())
    _, out, err = on_a_terminal("plan", "payments")
    stages = ("loading the", "checking the", "reading the", "comparing", "asking the brokers")
    assert any(stage in err for stage in stages)
    assert not any(stage in out for stage in stages)
    assert err.rstrip().endswith("\x1b[2K"), "the line is cleared in the end"


def test_an_apply_shows_a_bar_on_a_terminal(project: Project) -> None:
    project.write(topic())
    code, out, err = on_a_terminal("apply", "payments", "--auto-approve")
    assert code == 0
    assert "applying" in COLOUR.sub("", err)
    assert "applying" not in out


@pytest.mark.parametrize(
    "words", [("plan",), ("apply", "--auto-approve"), ("drift",), ("validate",)]
)
def test_a_pipe_sees_no_progress(
    words: tuple[str, ...], project: Project, kgitops: Kgitops
) -> None:
    project.write(topic())
    command, *options = words
    ran = kgitops(command, "payments", *options)
    assert (ran.code, ran.err) == (0, "")


# Readers that go away, and streams that can't be written.


@pytest.mark.slow
@pytest.mark.parametrize("words", [("plan", "--full"), ("plan", "--format", "json"), ("snapshot",)])
def test_piping_to_head_is_no_failure(words: tuple[str, ...], long: Project, here: Path) -> None:
    command, *options = words
    line = " ".join([*KGITOPS, command, "payments", *options])
    done = subprocess.run(
        [BASH, "-c", f"{line} | head -1; echo ${{PIPESTATUS[0]}}"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_an_apply_whose_reader_goes_away_is_finished(long: Project, kgitops: Kgitops) -> None:
    words = ["apply", "payments", "--auto-approve", "--format", "json"]
    process = subprocess.Popen(
        [*KGITOPS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert json.loads(process.stdout.readline())["type"] == "apply_started"
    process.stdout.close()
    assert process.stderr
    assert process.stderr.read() == ""
    assert process.wait(60) == 0
    process.stderr.close()
    assert kgitops("plan", "payments", "--detailed-exitcode").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_stop_an_apply(closed: str, project: Project, here: Path) -> None:
    project.write(topic())
    line = " ".join([*KGITOPS, "apply", "payments", "--auto-approve", closed])
    done = subprocess.run([BASH, "-c", line], cwd=here, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert project.records()


if Path("/dev/full").exists():  # a device of Linux

    def test_a_full_disk_below_stdout_fails_a_plan_but_not_an_apply_that_is_done(
        project: Project, kgitops: Kgitops
    ) -> None:
        project.write(topic())
        for words, code in (
            (("plan", "payments"), 1),
            (("apply", "payments", "--auto-approve", "--format", "json"), 0),
        ):
            with Path("/dev/full").open("w") as full:
                done = subprocess.run(
                    [*KGITOPS, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
                )
            assert done.returncode == code
            assert "kgitops: stdout can't be written: no space left on device" in done.stderr
            assert "Traceback" not in done.stderr
        assert kgitops("plan", "payments", "--detailed-exitcode").code == 0


def test_a_terminal_without_unicode_gets_escapes(project: Project, process: Kgitops) -> None:
    project.write(quota("Zoë"), acl("Zoë"))
    ran = process("plan", "payments", "--full", env={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, "Zo\\xeb" in ran.out) == (0, True)


def test_debug_adds_the_traceback_of_a_failure_of_kgitops_itself(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by design")

    project.write(topic())
    monkeypatch.setattr("kgitops.workflow.pipeline.make_plan", fail)
    plain = kgitops("plan", "payments")
    assert plain.code == 1
    assert plain.err.startswith("kgitops: kgitops failed where it should not: ZeroDivisionError")
    assert "Traceback" not in plain.err
    assert "Traceback" in kgitops("--debug", "plan", "payments").err


# Secrets.


def secretive(project: Project) -> Project:
    """A project that takes everything it can from the environment."""
    project.write(topic(configs={"retention.ms": "${var:retention}"}))
    return project.write_file(
        clusters={
            "local": {
                "url": "embedded:.kgitops/local.db",
                "configs": {"sasl.password": "${env:PASSWORD}", "sasl.username": "${env:USERNAME}"},
                "variables": {"retention": "1000", "secret": "${env:PASSWORD}"},
            },
            "broken": {"url": "embedded:.kgitops/x.db?${env:PASSWORD}"},
            "strange": {"url": "${env:PASSWORD}"},
            "kafka": {"url": "kafka://u:${env:PASSWORD}@b1:9092"},
            "folder": {"url": "embedded:${env:PASSWORD}/local.db"},
            "brokers": {"url": "embedded:", "brokers": "${env:PASSWORD}"},
        },
        defaultCluster="local",
    )


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch, here: Path) -> str:
    monkeypatch.setenv("PASSWORD", SECRET)
    monkeypatch.setenv("USERNAME", f"user-of-{SECRET}")
    (here / "payments").mkdir()
    (here / "payments" / SECRET).write_text("a file where a folder should be")
    return SECRET


@pytest.mark.parametrize("cluster", ["local", "broken", "strange", "kafka", "folder", "brokers"])
@pytest.mark.parametrize("command", ["plan", "validate", "drift", "snapshot", "apply"])
def test_no_output_holds_what_came_from_the_environment(
    command: str, cluster: str, project: Project, secret: str, kgitops: Kgitops, here: Path
) -> None:
    secretive(project)
    options = {"plan": ("-o", "plan.json", "--format", "json"), "apply": ("--auto-approve",)}
    ran = kgitops("--debug", command, "payments", "-c", cluster, *options.get(command, ()))
    assert ran.code == 0 or cluster != "local"
    assert ran.code != 0 or cluster == "local" or command == "validate"
    assert secret not in ran.said
    for path in here.rglob("*"):
        assert path.is_dir() or path.name == secret or secret.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "spec",
    [
        {"partitions": "${env:PASSWORD}"},
        {"configs": {"retention.ms": "${env:PASSWORD}"}},
        {"configs": {"retention.ms": "x ${var:secret}"}},
        {"configs": {"cleanup.policy": "delete,${var:secret}"}},
    ],
    ids=str,
)
def test_a_finding_names_the_variable_and_not_its_value(
    spec: dict[str, Json], project: Project, secret: str, kgitops: Kgitops
) -> None:
    secretive(project)
    (project.folder / "manifests" / "all.yaml").write_text(as_yaml([topic(**spec)]))
    ran = kgitops("plan", "payments")
    assert ran.code == 1
    assert secret not in ran.said
    assert "${env:PASSWORD}" in ran.err
