"""Passwords from the environment, files and programs; nothing that is said shows one."""

import os
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest

from kgitops.apply import secrets
from kgitops.apply.secrets import generate, output_of, read_secret, source_problem
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.users import GeneratedPassword, PasswordSource

WORD = "correct horse battery"


def printing(text: str) -> PasswordSource:
    return PasswordSource(command=(sys.executable, "-c", f"print({text!r}, end='')"))


def test_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = PasswordSource(env="APP_PASSWORD")
    monkeypatch.delenv("APP_PASSWORD", raising=False)
    assert source_problem(source, tmp_path) == (
        "the environment variable APP_PASSWORD is not set or empty"
    )
    with pytest.raises(KgitopsError, match="holds no password"):
        read_secret(source, tmp_path)
    monkeypatch.setenv("APP_PASSWORD", f"{WORD} ü")
    assert source_problem(source, tmp_path) is None
    assert read_secret(source, tmp_path).reveal() == f"{WORD} ü".encode()


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_file_with_and_without_a_line_break(tmp_path: Path, end: str) -> None:
    (tmp_path / "pw").write_bytes(f"{WORD}{end}".encode())
    source = PasswordSource(file="pw")
    assert source_problem(source, tmp_path) is None
    assert read_secret(source, tmp_path).reveal() == WORD.encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no password"),
        (b"\n", "holds no password"),
        (f"{WORD}\n{WORD}\n".encode(), "holds more than one line"),
        (b"a\0b", "holds more than one line"),
        (b"\xff\xfe" + WORD.encode(), "is not UTF-8"),
        (b"x" * 70_000, "holds more than a password"),
    ],
)
def test_a_file_without_a_password(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "pw").write_bytes(content)
    source = PasswordSource(file="pw")
    assert said in (source_problem(source, tmp_path) or "")
    with pytest.raises(KgitopsError, match=said) as raised:
        read_secret(source, tmp_path)
    assert WORD not in str(raised.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    source = PasswordSource(file="gone")
    assert source_problem(source, tmp_path) == "the file gone does not exist"
    (tmp_path / "gone").mkdir()
    assert source_problem(source, tmp_path) == "the file gone is a folder"


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = PasswordSource(file="pipe")
    assert source_problem(source, tmp_path) is None
    writer = threading.Thread(target=pipe.write_bytes, args=(WORD.encode(),))
    writer.start()
    assert read_secret(source, tmp_path).reveal() == WORD.encode()
    writer.join()


def test_a_program_prints_it(tmp_path: Path) -> None:
    assert source_problem(printing(WORD), tmp_path) is None
    assert read_secret(printing(WORD), tmp_path).reveal() == WORD.encode()


def test_a_program_beside_the_project(tmp_path: Path) -> None:
    script = tmp_path / "get"
    script.write_text(f"#!/bin/sh\nprintf '%s' '{WORD}'\n")
    source = PasswordSource(command=("./get",))
    assert "can't be found or started" in (source_problem(source, tmp_path) or "")
    script.chmod(0o700)
    assert source_problem(source, tmp_path) is None
    assert read_secret(source, tmp_path).reveal() == WORD.encode()


@pytest.mark.parametrize("base", [".", "payments"])
def test_a_program_is_found_beside_the_project_wherever_kgitops_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    """A relative base is what a project in the present folder has; PATH is not looked at."""
    for folder, word in ((tmp_path / base, WORD), (tmp_path / "elsewhere", "of another")):
        folder.mkdir(exist_ok=True)
        (folder / "get").write_text(f"#!/bin/sh\nprintf '%s' '{word}'\n")
        (folder / "get").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'elsewhere'}{os.pathsep}{os.environ['PATH']}")
    source = PasswordSource(command=("./get",))
    assert source_problem(source, Path(base)) is None
    assert read_secret(source, Path(base)).reveal() == WORD.encode()
    (tmp_path / base / "get").unlink()
    assert "can't be found or started" in (source_problem(source, Path(base)) or "")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"import sys; sys.exit({WORD!r})", "failed with exit code 1"),
        (f"print({WORD!r}); raise SystemExit(3)", "failed with exit code 3"),
        ("while True: print('x' * 1000)", "printed more than a password"),
        ("pass", "holds no password"),
    ],
)
def test_a_program_that_fails_says_nothing(tmp_path: Path, code: str, said: str) -> None:
    source = PasswordSource(command=(sys.executable, "-c", code))
    with pytest.raises(KgitopsError, match=said) as raised:
        read_secret(source, tmp_path)
    assert "Traceback" not in str(raised.value)
    if said != "holds no password":
        assert WORD not in str(raised.value)


def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    code = "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
    with pytest.raises(KgitopsError, match="took more than"):
        output_of((sys.executable, "-c", code), tmp_path, seconds=0.5)


def test_a_program_that_left_another_behind_is_not_waited_for_longer(tmp_path: Path) -> None:
    """The one left behind is in another session, so it is not killed, and holds the output open."""
    (tmp_path / "left.py").write_text(
        "import os, time\n"
        "print('word', flush=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    open('left', 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    try:
        with pytest.raises(KgitopsError, match="a program that it started kept its output open"):
            output_of((sys.executable, "left.py"), tmp_path, seconds=3.0)
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_pipe_that_nobody_writes_is_not_waited_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "MOST_SECONDS", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(KgitopsError, match=r"is a pipe that did not end within 0\.2 s"):
        read_secret(PasswordSource(file="pipe"), tmp_path)


def test_a_generated_password_goes_to_its_file_alone(tmp_path: Path) -> None:
    secret = generate(GeneratedPassword(length=40, file="out"), tmp_path)
    file = tmp_path / "out"
    assert file.read_bytes() == secret.reveal()
    assert len(secret.reveal()) == 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = generate(GeneratedPassword(length=40, file="out"), tmp_path)
    assert again.reveal() != secret.reveal()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_process_left_beside_a_generated_password_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        generate(GeneratedPassword(file="out"), tmp_path)
    (left,) = tmp_path.iterdir()
    assert left.name != "out"
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    monkeypatch.undo()
    generate(GeneratedPassword(file="out"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_generated_password_goes_to_a_programs_input(tmp_path: Path) -> None:
    code = "import sys, pathlib; pathlib.Path('got').write_text(sys.stdin.read())"
    secret = generate(GeneratedPassword(command=(sys.executable, "-c", code)), tmp_path)
    assert (tmp_path / "got").read_bytes() == secret.reveal()
    with pytest.raises(KgitopsError, match="failed with exit code 9"):
        generate(GeneratedPassword(command=(sys.executable, "-c", "raise SystemExit(9)")), tmp_path)


def test_a_sink_that_can_t_be_written_is_told(tmp_path: Path) -> None:
    generated = GeneratedPassword(file="no/such/folder/out")
    assert "can't be written to" in (
        source_problem(PasswordSource(generate=generated), tmp_path) or ""
    )
    with pytest.raises(KgitopsError, match="can't be written to"):
        generate(generated, tmp_path)
