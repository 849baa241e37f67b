"""Where a process that has passwords could leave them: core dumps, command lines, tracebacks."""

import os
import resource
import signal
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from traceback import TracebackException

import pytest
from secret_search import SecretSearch

from kgitops.apply.secrets import PasswordSettings, salt, with_password
from kgitops.cluster.kafka.write.users import alter_users
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.requests import AlterUserScramCredentialsRequest, SaltedCredentialsRequest
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import GeneratedPassword, PasswordSource, ScramMechanism

TESTS = Path(__file__).parents[2]
ABORTING = Path(__file__).with_name("aborting_command.py")
WORD = "-".join(["correct", "horse", "battery", "staple"])
PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
spec:
  manifests: [user.yaml]
  clusters: {local: {url: "embedded:local.db", brokers: 1}}
"""
USER = """\
apiVersion: kgitops/v1
kind: User
metadata: {name: sales-app}
spec: {scram: [{mechanism: SCRAM-SHA-512, password: %s, version: "%s"}]}
"""
APPLY = ("apply", "--auto-approve")
VERIFY = ("drift", "--verify-users")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kgitops.yaml").write_text(PROJECT)
    (tmp_path / "user.yaml").write_text(USER % ("{env: APP_PASSWORD}", "1"))
    return tmp_path


def started(folder: Path, *command: object) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(TESTS), *sys.path])
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**os.environ, "APP_PASSWORD": WORD, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def applied(folder: Path) -> None:
    with started(folder, "-m", "kgitops", *APPLY) as process:
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out


def died(folder: Path, guarded: str, *words: str) -> tuple[str, bool]:
    """What an aborting command said, and whether the kernel has dumped its core."""
    with started(folder, ABORTING, guarded, *words) as process:
        assert process.stdout is not None
        said = process.stdout.read().decode()
        _, status = os.waitpid(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGABRT, said
    return said.splitlines()[-1], os.WCOREDUMP(status)


@pytest.mark.parametrize("words", [APPLY, VERIFY], ids=["apply", "verify"])
def test_a_process_that_dies_with_a_password_leaves_no_core_dump(
    folder: Path, words: tuple[str, ...]
) -> None:
    if words is VERIFY:
        applied(folder)
    said, dumped = died(folder, "guarded", *words)
    assert not dumped
    assert said.split()[-1] == "0"
    if sys.platform == "linux":
        assert said == "0 0", "a handler at the end of a pipe gets nothing either"
    assert not list(folder.glob("*core*"))

    if words is APPLY:  # its lock is held for another minute
        for store in folder.rglob("local.db*"):
            store.unlink()
    said, dumped = died(folder, "mutant", *words)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    assert said == f"1 {hard}"
    cores = list(folder.glob("*core*"))
    assert bool(cores) <= dumped
    assert all(WORD.encode() in core.read_bytes() for core in cores), "what would be in it"


def test_a_plan_leaves_the_process_as_it_is(folder: Path) -> None:
    """It needs no secret, and a core dump of it may be of use to those who look for a bug."""
    code = (
        "import resource; from kgitops.cli.main import main; main(['plan']); "
        "print(resource.getrlimit(resource.RLIMIT_CORE))"
    )
    before = resource.getrlimit(resource.RLIMIT_CORE)
    with started(folder, "-c", code) as process:
        out, _ = process.communicate(timeout=120)
    assert out.decode().splitlines()[-1] == str(before)


SEES = """\
#!/bin/sh
for line in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$line; echo; done >"$1.cmdlines" 2>/dev/null
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_no_command_line_shows_a_password(folder: Path) -> None:
    """Those of all processes on this machine, as a program that is given one can see them."""
    for name, does in {"taking": 'exec cat >"$1"', "giving": f"printf '%s' '{WORD}'"}.items():
        (folder / name).write_text(SEES + does + "\n")
        (folder / name).chmod(0o700)
    sources = {
        "made": "{generate: {length: 40, to: {command: [./taking, made]}}}",
        "read": "{command: [./giving, read]}",
    }
    for version, (name, source) in enumerate(sources.items(), start=1):
        (folder / "user.yaml").write_text(USER % (source, version))
        applied(folder)
        seen = (folder / f"{name}.cmdlines").read_bytes()
        assert b"kgitops apply --auto-approve" in seen
        search = SecretSearch()
        word = WORD.encode() if name == "read" else (folder / "made").read_bytes()
        search.add_password("the password", word)
        assert search.found_in({"command lines": seen}) == []


# Tracebacks: some tools show the variables of every frame.


def shown(error: BaseException) -> bytes:
    """The traceback with all variables, but those of the test itself."""
    assert error.__traceback__ is not None
    error = error.with_traceback(error.__traceback__.tb_next)
    return "".join(TracebackException.from_exception(error, capture_locals=True).format()).encode()


@pytest.mark.parametrize(
    "source",
    [
        PasswordSource(env="APP_PASSWORD"),
        PasswordSource(file="pw"),
        PasswordSource(command=(sys.executable, "print.py")),
        PasswordSource(command=(sys.executable, "fail.py")),
        PasswordSource(command=(sys.executable, "flood.py")),
        PasswordSource(generate=GeneratedPassword(command=(sys.executable, "fail.py"))),
        PasswordSource(generate=GeneratedPassword(file="folder")),
    ],
    ids=["env", "file", "command", "failing", "flood", "failing sink", "sink"],
)
def test_no_variable_in_a_traceback_shows_a_password(
    source: PasswordSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = cycle(WORD)
    monkeypatch.setattr("kgitops.apply.secrets.secrets.choice", lambda _: next(letters))
    word = f"{WORD}\nand another"
    monkeypatch.setenv("APP_PASSWORD", word)
    (tmp_path / "pw").write_text(word)
    (tmp_path / "folder").mkdir()
    (tmp_path / "print.py").write_text("print(open('pw').read())")
    (tmp_path / "fail.py").write_text("print(open('pw').read()); raise SystemExit(1)")
    (tmp_path / "flood.py").write_text("print(open('pw').read() * 9000)")
    plan = AlterUserScramCredentialsRequest(
        user="sales-app", mechanism=ScramMechanism.SHA_512, iterations=4096, password=source
    )
    with pytest.raises(KgitopsError) as raised:
        with_password(plan, PasswordSettings(base=tmp_path))
    traceback = shown(raised.value)
    assert b"source = " in traceback, "variables are shown"
    assert WORD.encode() not in traceback


class SilentWire:
    """A fake that never answers, to have a traceback through the place that sends passwords."""

    def send(self, request: object, **_: object) -> None:
        raise UnreachableError(f"no answer to {request!r}")


def test_no_variable_in_a_traceback_of_sending_shows_what_is_sent() -> None:
    """Nor does the request that kafka-python sends, wherever that is logged."""
    mechanism = ScramMechanism.SHA_512
    salted = salt(Secret(WORD.encode()), mechanism, 4096)
    request = SaltedCredentialsRequest(
        user="sales-app", mechanism=mechanism, iterations=4096, salted=salted
    )
    with pytest.raises(UnreachableError) as raised:
        alter_users(SilentWire(), [request])  # type: ignore[arg-type]
    search = SecretSearch()
    search.add_password("the password", WORD.encode())
    search.add_salted("the password", mechanism.hash_name, *salted.reveal())
    traceback = shown(raised.value)
    assert b"ScramCredentialUpsertion" in traceback
    assert search.found_in({"traceback": traceback}) == []
