"""Commands of kgitops in processes of their own, killed at a given boundary or broken on purpose.

Usage: recorded_commands.py, and a line of JSON for each command on its standard input (Command);
the answer is a line too (Ended). Or: recorded_commands.py FILE WORD..., for one command that runs
until somebody stops it.

The salts and salted passwords that go to a cluster, and the passwords that kgitops generates, are
noted in a file, so that a test can search for them afterwards. A boundary is before or after a
request, an append to the registry, the fencing and unfencing of its only writer, and the write of a
generated password. A mutant is a kgitops that tells what it must not, or does less than it says.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from real_kafka.user_mutants import MUTANTS

from kgitops.apply import secrets
from kgitops.apply.context import ApplySettings
from kgitops.cli.main import run
from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.model.requests import SaltedCredentialsRequest

FAILED = 70
_USED = (
    "kgitops.cli.apply",
    "kgitops.cli.plan",
    "kgitops.cli.running.apply_flow",
    "kgitops.cluster.connect",
    "kgitops.manifests.load",
    "kgitops.report.json.plans",
    "kgitops.report.text.plan",
    "kgitops.workflow.drift",
)
"""Imported once, and not by each command anew."""


class Command(msgspec.Struct, frozen=True):
    """One command; what it prints goes to the files ``output``.out and ``output``.err."""

    words: list[str]
    folder: str
    output: str
    environ: dict[str, str]
    secrets: str
    boundary: int | None = None
    mutant: str | None = None
    settings: dict[str, int] = {}


class Ended(msgspec.Struct, frozen=True):
    """How a command ended, and the boundaries that it passed; it was killed at the last of them."""

    killed: bool
    code: int
    passed: list[str]


class SentPassword(msgspec.Struct, frozen=True, tag=True):
    """What went to the cluster of a password."""

    user: str
    mechanism: str
    salt: str
    salted: str


class MadePassword(msgspec.Struct, frozen=True, tag=True):
    """A password that kgitops generated."""

    password: str


def main() -> None:
    if len(sys.argv) > 1:
        secrets = Path(sys.argv.pop(1))
        with noting_secrets(secrets):
            run()
    for module in _USED:
        import_module(module)
    for line in sys.stdin:
        command = msgspec.json.decode(line, type=Command)
        passed = Path(f"{command.output}.passed")
        passed.touch()
        child = os.fork()  # nothing is connected in this process
        if child == 0:
            _run_and_exit(command, passed)
        _, status = os.waitpid(child, 0)
        ended = Ended(
            killed=os.WIFSIGNALED(status),
            code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status),
            passed=passed.read_text().splitlines(),
        )
        passed.unlink()
        print(msgspec.json.encode(ended).decode(), flush=True)


def _run_and_exit(command: Command, passed: Path) -> None:
    code: object = FAILED
    try:
        os.chdir(command.folder)
        os.environ.update(command.environ)
        for number, name in (
            (0, os.devnull),
            (1, f"{command.output}.out"),
            (2, f"{command.output}.err"),
        ):
            file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
            os.close(file)
        sys.argv = ["kgitops", *command.words]
        with ExitStack() as stack:
            stack.enter_context(noting_secrets(Path(command.secrets)))
            settings = partial(_with_settings, ApplySettings, command.settings)
            stack.enter_context(patch("kgitops.cli.running.execute.ApplySettings", settings))
            stack.enter_context(boundaries(_Countdown(command.boundary, passed)))
            if command.mutant:
                stack.enter_context(MUTANTS[command.mutant]())
            run()
    except SystemExit as done:
        code = done.code
    except BaseException:  # noqa: BLE001 (the child must not run on as its parent)
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else FAILED)


class _Countdown:
    """Notes each boundary, and kills this process at the one of this number."""

    def __init__(self, left: int | None, passed: Path) -> None:
        self._left = left
        self._file = os.open(passed, os.O_WRONLY | os.O_APPEND)

    def __call__(self, name: str) -> None:
        os.write(self._file, f"{name}\n".encode())
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left is not None:
            self._left -= 1


@contextmanager
def noting_secrets(file: Path) -> Iterator[None]:
    """Add what is sent of passwords, and those that are generated, to the file."""
    execute, write, give_to = KafkaCluster.execute, secrets._write, secrets.give_to

    def note(secret: SentPassword | MadePassword) -> None:
        with file.open("ab") as opened:
            opened.write(msgspec.json.encode(secret) + b"\n")

    def note_sent(self: KafkaCluster, requests: Sequence[Any], **options: Any) -> Any:  # noqa: ANN401
        for request in requests:
            if isinstance(request, SaltedCredentialsRequest):
                salt, salted = request.salted.reveal()
                note(SentPassword(request.user, request.mechanism, salt.hex(), salted.hex()))
        return execute(self, requests, **options)

    def note_written(path: Any, secret: Any) -> None:  # noqa: ANN401
        note(MadePassword(secret.reveal().decode()))
        write(path, secret)

    def note_given(command: Any, base: Any, secret: Any) -> None:  # noqa: ANN401
        note(MadePassword(secret.reveal().decode()))
        give_to(command, base, secret)

    with (
        patch.object(KafkaCluster, "execute", note_sent),
        patch.object(secrets, "_write", note_written),
        patch.object(secrets, "give_to", note_given),
    ):
        yield


def read_secrets(file: Path) -> Iterator[SentPassword | MadePassword]:
    """Read what commands noted."""
    for line in file.read_bytes().splitlines():
        yield msgspec.json.decode(line, type=SentPassword | MadePassword)


def _with_settings(
    real: type[ApplySettings], other: Mapping[str, int], **settings: int
) -> ApplySettings:
    return real(**settings | other)


@contextmanager
def boundaries(passing: Callable[[str], None]) -> Iterator[None]:
    """Call ``passing`` with a name before and after each step that others can see."""
    execute, unfence = KafkaCluster.execute, KafkaRegistryLog.unfence
    around = partial(_around, passing)

    def execute_between(self: KafkaCluster, requests: Sequence[Any], **options: Any) -> Any:  # noqa: ANN401
        if options["validate_only"]:
            return execute(self, requests, **options)
        return around("request", execute)(self, requests, **options)

    def unfence_between(self: KafkaRegistryLog) -> None:
        if self._writer is not None:
            around("unfencing", unfence)(self)

    with ExitStack() as stack:
        for patched in (
            patch.object(KafkaCluster, "execute", execute_between),
            patch.object(KafkaRegistryLog, "append", around("append", KafkaRegistryLog.append)),
            patch.object(KafkaRegistryLog, "fence", around("fencing", KafkaRegistryLog.fence)),
            patch.object(KafkaRegistryLog, "unfence", unfence_between),
            patch.object(secrets, "_write", around("password's file", secrets._write)),
            patch("kgitops.apply.secrets.os.fsync", around("sync of it", os.fsync)),
            patch.object(secrets, "give_to", around("password's program", secrets.give_to)),
        ):
            stack.enter_context(patched)
        yield


def _around(
    passing: Callable[[str], None], name: str, real: Callable[..., Any]
) -> Callable[..., Any]:
    def between(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        passing(f"before {name}")
        result = real(*arguments, **options)
        passing(f"after {name}")
        return result

    return between


if __name__ == "__main__":
    main()
