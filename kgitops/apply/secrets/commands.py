"""Programs that print a password, or take one: without a shell, bounded in time and output."""

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from kgitops.model.errors import KgitopsError
from kgitops.model.resources.secrets import Secret

MOST_SECONDS = 20.0
MOST_BYTES = 64 * 1024
_KILLING_S = 1.0


def find_program(command: Sequence[str], base: Path) -> str | None:
    """Return the program's path; None if there is none that may be started.

    A name with a slash is of a file below ``base``, and is not looked for in PATH.
    """
    name = command[0]
    return shutil.which(str((base / name).absolute()) if os.sep in name else name)


def output_of(command: Sequence[str], base: Path, *, seconds: float = MOST_SECONDS) -> Secret:
    """Run the program in the folder ``base`` and return what it prints.

    Raises:
        KgitopsError: it can't be started, fails, prints too much or takes too long. What it says
            of itself is not shown, since it may hold the password.
    """
    return _run(command, base, None, seconds)


def give_to(
    command: Sequence[str], base: Path, given: Secret, *, seconds: float = MOST_SECONDS
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
    deadline = time.monotonic() + seconds
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
    try:
        if process.stdin is not None and given is not None:
            _hand_over(process.stdin, given)
        printed = _output(process, deadline)
        if len(printed.reveal()) <= MOST_BYTES:
            process.wait(max(0.0, deadline - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired):
        _end(process)
        raise _late(process, command[0], seconds) from None
    finally:
        _end(process)
    if len(printed.reveal()) > MOST_BYTES:
        raise KgitopsError(f"the program {command[0]} printed more than a password; correct it")
    if process.returncode:
        raise KgitopsError(
            f"the program {command[0]} failed with exit code {process.returncode}; run it by hand "
            "to see why"
        )
    return printed


def _hand_over(stdin: IO[bytes], given: Secret) -> None:
    """Write a password, which is shorter than the buffer of any pipe."""
    with suppress(BrokenPipeError):
        stdin.write(given.reveal())
        stdin.flush()
    with suppress(BrokenPipeError):
        stdin.close()


def _output(process: "subprocess.Popen[bytes]", deadline: float) -> Secret:
    """Read the output to its end; the end of the program is not enough."""
    if process.stdout is None:
        return Secret(b"")
    return read_to_end(process.stdout.fileno(), deadline)


def _late(process: "subprocess.Popen[bytes]", name: str, seconds: float) -> KgitopsError:
    if process.returncode in (None, -signal.SIGKILL):
        return KgitopsError(f"the program {name} took more than {seconds:g} s; look at it")
    return KgitopsError(
        f"the program {name} ended, but a program that it started kept its output open for more "
        f"than {seconds:g} s; redirect the output of that program, as with >/dev/null"
    )


def read_to_end(file: int, deadline: float) -> Secret:
    """Read until the end of a pipe or file, or until one byte more than a password may have.

    Raises:
        TimeoutError: the end did not come before the ``deadline`` of the monotonic clock.
    """
    content = Secret(b"")
    events = select.poll()
    events.register(file, select.POLLIN)
    while len(content.reveal()) <= MOST_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not events.poll(left_s * 1000):
            raise TimeoutError
        part = Secret(os.read(file, MOST_BYTES + 1 - len(content.reveal())))
        if not part.reveal():
            break
        content = Secret(content.reveal() + part.reveal())
    return content


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program with what it started in its session, and close its output.

    What it started in another session lives on, and so does what the kernel can't end; neither is
    waited for. A program that was waited for is left alone, because its id may be another's.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLING_S)
    if process.stdout is not None:
        process.stdout.close()
