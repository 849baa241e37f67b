"""The worker as its parent holds it: started, sent messages, read within limits, and killed."""

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from kgitops.model.errors import KgitopsError
from kgitops.policy.evaluate.bundle import Policy
from kgitops.policy.worker.messages import (
    BROKEN,
    BYTES,
    HEADER,
    NO_POLICY,
    OUT_OF_MEMORY,
    Ban,
    Message,
    ProgressMarker,
    to_bytes,
)
from kgitops.policy.worker.supervisor import TOKEN, end_supervisor


class Limits(Struct, frozen=True, kw_only=True):
    """The resources that policies may take; a policy that takes more is stopped and denies.

    ``seconds`` are for one policy and one request, ``loading_seconds`` for loading one policy.
    ``memory`` is in bytes, above what the process holds before policies run; only Linux enforces
    it. A policy that broke a limit ``violations`` times is not asked any more. Closing all policies
    may take ``closing_seconds``; a process that doesn't answer for ``idle_seconds`` while no policy
    is at work has failed.
    """

    seconds: float = 10.0
    loading_seconds: float = 30.0
    closing_seconds: float = 5.0
    idle_seconds: float = 120.0
    memory: int = 1 << 30
    violations: int = 3


class LimitViolation(Exception):  # noqa: N818 (an event that is counted, not an error of ours)
    """The worker took too long or too much, or is gone.

    ``policy`` was at work, and ``what`` continues a sentence about it; or it is NO_POLICY, and the
    sentence is about the process. ``request`` is the number of the request.
    """

    def __init__(self, what: str, place: tuple[int, int]) -> None:
        super().__init__(what)
        self.what = what
        self.request, self.policy = place


class LimitViolations:
    """The violations of a whole run, over all its processes; ``banned`` has a ban by policy index.

    After too many violations a policy is banned.
    """

    def __init__(self, policies: Sequence[Policy], limits: Limits) -> None:
        self.banned: dict[int, Ban] = {}
        self._policies = policies
        self._limits = limits
        self._count: Counter[int] = Counter()

    def culprit(self, violation: LimitViolation) -> str:
        """The policy at work as sentences name it, or the process where no policy was at work."""
        if self.has_culprit(violation):
            return f"the policy {self._policies[violation.policy].name}"
        return "the process that runs the policies"

    def has_culprit(self, violation: LimitViolation) -> bool:
        """Return whether a policy was at work."""
        return 0 <= violation.policy < len(self._policies)

    def record(self, violation: LimitViolation, address: str) -> str:
        """Count the violation; the result is the sentence by which the policy denies the request.

        ``address`` is the object of that request.
        """
        self._count[violation.policy] += 1
        times = self._count[violation.policy]
        if times >= self._limits.violations:
            reason = f"it broke its limits {times} times in this run and is not asked any more"
            self.banned.setdefault(violation.policy, Ban(violation.request, reason))
        return (
            f"{self.culprit(violation)} {violation.what} while it judged {address}, so it denies; "
            "correct the policy"
        )

    @property
    def happened(self) -> bool:
        """True after the first violation."""
        return self._count.total() > 0

    @property
    def too_many(self) -> bool:
        """True for more violations than all policies together may have: it would never end."""
        return self._count.total() > self._limits.violations * len(self._policies)


_STDERR = 2


class OutputRelay:
    """A pipe whose content goes to stderr; ``write_end`` is for the worker.

    So no process that a policy starts holds a file of kgitops.
    """

    def __init__(self) -> None:
        """Start the thread that reads."""
        self._from, self.write_end = os.pipe()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._from, False)
        self._thread = threading.Thread(
            target=_relay, args=(self._from, self._woken), name="kgitops-policies", daemon=True
        )
        self._thread.start()

    def handed_over(self) -> None:
        """Close ``write_end`` here, after the other process got it."""
        os.close(self.write_end)

    def close(self) -> None:
        """Pass on the output so far; a process that still holds the pipe writes in vain now."""
        os.close(self._wake)
        self._thread.join()
        os.close(self._from)
        os.close(self._woken)


def _relay(source: int, woken: int) -> None:
    events = select.poll()
    for file in (source, woken):
        events.register(file, select.POLLIN)
    while True:
        ready = {file for file, _ in events.poll()}
        while source in ready:
            try:
                output = os.read(source, 1 << 16)
            except BlockingIOError:
                break
            if not output:
                return
            with suppress(OSError):  # kgitops' own stderr may be closed
                _write(output)
        if woken in ready:
            return


def _write(output: bytes) -> None:
    rest = memoryview(output)
    while rest:
        rest = rest[os.write(_STDERR, rest) :]


# The worker finds the modules that this process finds, in whichever folder it is started.
_PROGRAM = (
    "import sys; marker, lifeline, owner = map(int, sys.argv[1:4]); sys.path[:] = sys.argv[4:]; "
    "from kgitops.policy.worker.supervisor import supervise; supervise(lifeline, owner); "
    "from kgitops.policy.worker.server import serve; serve(marker)"
)
_MOST_BYTES = 256 << 20  # a longer answer is nonsense
_ENDED_S = 2.0
_KILLED_S = 5.0


class Process:
    """One worker process; once it raised ``LimitViolation``, kill it."""

    def __init__(self, limits: Limits, hidden_env: frozenset[str] = frozenset()) -> None:
        """Start it; it works while its parent does something else.

        It gets the environment without the variables in ``hidden_env``.

        Raises:
            KgitopsError: the system doesn't let it start.
        """
        self._limits = limits
        self._unsent: deque[memoryview] = deque()
        self._read = bytearray()
        with tempfile.TemporaryFile() as file:
            file.truncate(BYTES)
            self._marker = ProgressMarker(file.fileno())
            self._marker.at_nothing()
            theirs, lifeline = os.pipe()
            relay = OutputRelay()
            arguments = [_PROGRAM, *map(str, (file.fileno(), theirs, os.getpid())), *sys.path]
            token = secrets.token_hex(16)
            environment = {k: v for k, v in os.environ.items() if k not in hidden_env}
            try:
                self._child = subprocess.Popen(  # noqa: S603 (Python itself)
                    [sys.executable, "-P", "-c", *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=relay.write_end,
                    bufsize=0,
                    pass_fds=[file.fileno(), theirs],
                    env={**environment, TOKEN: token},
                    start_new_session=True,  # an interrupt at the terminal isn't for it
                )
            except OSError as error:
                os.close(lifeline)
                relay.handed_over()
                relay.close()
                raise KgitopsError(
                    f"the process that runs the policies can't be started: {error}; free memory or "
                    "processes and run again"
                ) from error
            finally:
                os.close(theirs)
        relay.handed_over()
        # Also without a call of kill().
        held = (self._child, lifeline, relay, token, self._marker)
        self._end = weakref.finalize(self, _kill, os.getpid(), *held)
        assert self._child.stdin is not None  # noqa: S101 (for mypy)
        assert self._child.stdout is not None  # noqa: S101 (for mypy)
        self._to, self._from = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        self._events = select.poll()
        self._events.register(self._from, select.POLLIN)

    def send(self, message: Message) -> None:
        """Send a message; bytes that the pipe can't take now follow while an answer is awaited."""
        self._unsent.append(memoryview(to_bytes(message)))
        self._write()

    def answer(self, seconds: float) -> Any:  # noqa: ANN401 (any JSON)
        """Its next answer; a policy may be at work for ``seconds`` on one request.

        Raises:
            LimitViolation: it took longer, ended, or wrote nonsense.
        """
        place, since = self._marker.place, time.monotonic()
        while (answer := self._next()) is None:
            limit = self._limits.idle_seconds if place[1] <= NO_POLICY else seconds
            left = since + limit - time.monotonic()
            if left <= 0:
                raise LimitViolation(f"took longer than {limit:g} s", place)
            if self._unsent:
                self._events.register(self._to, select.POLLOUT)
            ready = self._events.poll(min(left, 1.0) * 1000)
            if self._unsent:
                self._events.unregister(self._to)
                self._write()
            if any(file == self._from for file, _ in ready):
                self._receive()
            if self._marker.place != place:
                place, since = self._marker.place, time.monotonic()
        return answer

    def nonsense(self) -> LimitViolation:
        """The exception for an answer that can't be read."""
        return LimitViolation("gives answers that can't be read", (0, NO_POLICY))

    def kill(self) -> None:
        """End it and what it started, at once; a second time does nothing."""
        self._end()

    def _write(self) -> None:
        while self._unsent:
            try:
                written = os.write(self._to, self._unsent[0])
            except BlockingIOError:
                return
            except BrokenPipeError:  # it is gone, as the end of its answers will show
                self._unsent.clear()
                return
            if written < len(self._unsent[0]):
                self._unsent[0] = self._unsent[0][written:]
            else:
                self._unsent.popleft()

    def _receive(self) -> None:
        read = os.read(self._from, 1 << 20)
        if not read:
            raise self._ended()
        self._read += read

    def _next(self) -> Any:  # noqa: ANN401 (any JSON)
        if len(self._read) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._read)
        if size > _MOST_BYTES:
            raise self.nonsense()
        end_supervisor = HEADER.size + size
        if len(self._read) < end_supervisor:
            return None
        try:
            answer = json.loads(self._read[HEADER.size : end_supervisor].decode())
        except (ValueError, RecursionError) as error:
            raise self.nonsense() from error
        del self._read[:end_supervisor]
        return answer

    def _ended(self) -> LimitViolation:
        place = self._marker.place
        try:
            status = self._child.wait(_ENDED_S)
        except subprocess.TimeoutExpired:
            return LimitViolation("closed the files of its process", place)
        if status == BROKEN:
            return LimitViolation("broke after they had judged", (0, NO_POLICY))
        if status == OUT_OF_MEMORY:
            return LimitViolation(
                f"took more than {self._limits.memory >> 20:,} MiB of memory", place
            )
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        what = "ended" if place[1] <= NO_POLICY else "ended its process"
        return LimitViolation(f"{what} ({how})", place)


def _kill(
    owner: int,
    child: "subprocess.Popen[bytes]",
    lifeline: int,
    relay: OutputRelay,
    token: str,
    marker: ProgressMarker,
) -> None:
    if os.getpid() != owner:  # a fork of the process that started it
        return

    def wait() -> int | None:
        try:
            return child.wait(_KILLED_S)
        except subprocess.TimeoutExpired:
            return None

    end_supervisor(child.pid, lifeline, wait, token)
    relay.close()
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()
    marker.close()
