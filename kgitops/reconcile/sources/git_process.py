"""Runs git as a process that can't ask, hang, fill the disk or show a login."""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.reconcile.sources.git_address import redacted

_GRACE = 2.0
_SHOWN = 300
# In 512-byte blocks. A limit on every file that git writes, kept by the kernel; and no core dumps,
# which would hold the login.
_LIMITED = 'trap "" 25; ulimit -c 0 && ulimit -f "$1" && shift && exec "$@"'
_TOO_LARGE = "File too large"  # instead of the signal 25, XFSZ, which is ignored


class GitResult(Struct, frozen=True):
    """The end of a process of git: its exit code and output, logins taken out of ``error``."""

    code: int
    output: bytes
    error: str


class GitError(KgitopsError):
    """Git could not do what it was told."""


def stopped() -> GitError:
    """The error of asking after the end."""
    return GitError("git is not asked any more, since kgitops is being stopped")


class GitRunner:
    """Git on this machine, one process at a time; ``stop`` ends it from another thread."""

    def __init__(
        self,
        program: str,
        environment: Mapping[str, str],
        folder: Path,
        *,
        timeout: float,
        most_bytes: int,
        secrets: tuple[str, ...] = (),
    ) -> None:
        """Keep the settings; ``folder`` is for temporary files and the working directory."""
        self._program = program
        self._environment = dict(environment)
        self._folder = folder
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._secrets = secrets
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, *arguments: str, extra: Mapping[str, str] | None = None) -> bytes:
        """The output of git with these arguments.

        Raises:
            GitError: it failed, hung or would write more than it may.
        """
        result = self.ask(*arguments, extra=extra)
        if result.code != 0:
            raise GitError(
                f"git {_verb(arguments)} failed: {_one_line(result.error) or result.code}"
            )
        return result.output

    def ask(self, *arguments: str, extra: Mapping[str, str] | None = None) -> GitResult:
        """As ``run``, but failing is an answer.

        Raises:
            GitError: it hung or would write more than it may.
        """
        blocks = str(max(self._most_bytes // 512, 1))
        command = ["/bin/sh", "-c", _LIMITED, "sh", blocks, self._program, *arguments]
        # Files, not pipes: whoever outlives git can't keep this waiting for the end of a pipe.
        with (
            tempfile.TemporaryFile(dir=self._folder) as output,
            tempfile.TemporaryFile(dir=self._folder) as error,
        ):
            with self._lock:
                if self._stopped:
                    raise stopped()
                process = self._running = subprocess.Popen(  # noqa: S603 (git, checked arguments)
                    command,
                    cwd=self._folder,
                    env={**self._environment, **(extra or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=error,
                    start_new_session=True,
                )
            try:
                code = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                raise UnreachableError(
                    f"git {_verb(arguments)} did not answer within {self._timeout:g} s; "
                    "it was ended"
                ) from None
            finally:
                self._end(process)
            output.seek(0)
            error.seek(0)
            said = redacted(error.read(1 << 16).decode(errors="replace"), self._secrets)
            if _TOO_LARGE in said:
                raise GitError(
                    f"git {_verb(arguments)} was ended: a file would be larger than "
                    f"{self._most_bytes >> 20} MiB; raise --git-max-size, or make the repository "
                    "smaller"
                )
            return GitResult(code, output.read(), said)

    @property
    def stopped(self) -> bool:
        """True if nothing is started any more."""
        return self._stopped

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            running = self._running
        if running is not None:
            _signal(running, signal.SIGTERM)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the process and all that it started."""
        if process.returncode is None:
            _signal(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        _signal(process, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._running = None


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _verb(arguments: tuple[str, ...]) -> str:
    return next((item for item in arguments if not item.startswith("-")), "")


def _one_line(text: str) -> str:
    """The error as one sentence of bounded length, without control characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = " / ".join(lines)
    line = "".join(letter if letter.isprintable() else " " for letter in line)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
