"""Programs that print a password, or take one: without a shell, bounded in time and output."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.model.resources.secrets import Secret

_SECONDS = 20.0
_MOST_BYTES = 64 * 1024


def find_program(command: Sequence[str], base: Path) -> str | None:
    """Return the program's path; None if there is none that may be started.

    A name with a slash is of a file below ``base``, and is not looked for in PATH.
    """
    name = command[0]
    return shutil.which(str((base / name).absolute()) if os.sep in name else name)


def output_of(command: Sequence[str], base: Path, *, seconds: float = _SECONDS) -> Secret:
    """Run the program in the folder ``base`` and return what it prints.

    Raises:
        KgitopsError: it can't be started, fails, prints too much or takes too long. What it says
            of itself is not shown, since it may hold the password.
    """
    return _run(command, base, None, seconds)


def give_to(
    command: Sequence[str], base: Path, given: Secret, *, seconds: float = _SECONDS
) -> None:
    """Run the program in the folder ``base`` with ``given`` as its standard input.

    Raises:
        KgitopsError: as ``output_of``.
    """
    _run(command, base, given, seconds)


def _run(command: Sequence[str], base: Path, given: Secret | None, seconds: float) -> Secret:
    program = find_program(command, base)
    if program is None:
        raise KgitopsError(f"the program {command[0]} can't be found or started; install it")
    try:
        process = subprocess.Popen(  # noqa: S603 (the reviewed command, without a shell)
            [program, *command[1:]],
            cwd=base,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise KgitopsError(
            f"the program {command[0]} can't be started: {error.strerror}; correct the command"
        ) from None
    late = threading.Event()
    timer = threading.Timer(seconds, _end, (process, late))
    timer.start()
    try:
        with process:
            printed = _exchange(process, given)
            if len(printed.reveal()) > _MOST_BYTES:
                _kill(process)
            process.wait()
    finally:
        timer.cancel()
    if late.is_set():
        raise KgitopsError(f"the program {command[0]} took more than {seconds:g} s; look at it")
    if len(printed.reveal()) > _MOST_BYTES:
        raise KgitopsError(f"the program {command[0]} printed more than a password; correct it")
    if process.returncode:
        raise KgitopsError(
            f"the program {command[0]} failed with exit code {process.returncode}; run it by hand "
            "to see why"
        )
    return printed


def _exchange(process: "subprocess.Popen[bytes]", given: Secret | None) -> Secret:
    if process.stdin is not None and given is not None:
        with suppress(BrokenPipeError):
            process.stdin.write(given.reveal())
            process.stdin.flush()
        with suppress(BrokenPipeError):
            process.stdin.close()
    return Secret(process.stdout.read(_MOST_BYTES + 1) if process.stdout is not None else b"")


def _end(process: "subprocess.Popen[bytes]", late: threading.Event) -> None:
    late.set()
    _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program and whatever it started, which may hold its output open."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
