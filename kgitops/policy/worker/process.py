"""The worker as its parent holds it: started, told, listened to with a limit, and killed."""

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections import deque
from typing import Any

from kgitops.model.errors import KgitopsError
from kgitops.policy.worker.limits import Limits
from kgitops.policy.worker.marks import BYTES, NOBODY, Marks
from kgitops.policy.worker.messages import BROKEN, HEADER, OUT_OF_MEMORY, Message, to_bytes
from kgitops.policy.worker.relaying import Relay
from kgitops.policy.worker.supervisor import TOKEN, end

# The worker finds the modules that this process would find, whatever folder it is started in.
_PROGRAM = (
    "import sys; marks, lifeline, owner = map(int, sys.argv[1:4]); sys.path[:] = sys.argv[4:]; "
    "from kgitops.policy.worker.supervising import supervise; supervise(lifeline, owner); "
    "from kgitops.policy.worker.serving import serve; serve(marks)"
)
_MOST_BYTES = 256 << 20  # what claims to be a longer answer is none
_ENDED_S = 2.0
_KILLED_S = 5.0


class Breach(Exception):  # noqa: N818 (of the limits)
    """The worker took too long or too much, or is gone.

    ``policy`` was at work, and ``what`` continues a sentence about it; or it is NOBODY, and the
    sentence is about the process. ``request`` is the number of the request.
    """

    def __init__(self, what: str, place: tuple[int, int]) -> None:
        super().__init__(what)
        self.what = what
        self.request, self.policy = place


class Process:
    """One worker process; once it raised ``Breach``, kill it."""

    def __init__(self, limits: Limits) -> None:
        """Start it; it works while its parent does other things.

        Raises:
            KgitopsError: the system doesn't let it start.
        """
        self._limits = limits
        self._unsent: deque[memoryview] = deque()
        self._read = bytearray()
        with tempfile.TemporaryFile() as file:
            file.truncate(BYTES)
            self._marks = Marks(file.fileno())
            self._marks.at_nothing()
            theirs, lifeline = os.pipe()
            relay = Relay()
            words = [_PROGRAM, *map(str, (file.fileno(), theirs, os.getpid())), *sys.path]
            token = secrets.token_hex(16)
            try:
                self._child = subprocess.Popen(  # noqa: S603 (Python itself)
                    [sys.executable, "-P", "-c", *words],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=relay.write_end,
                    bufsize=0,
                    pass_fds=[file.fileno(), theirs],
                    env={**os.environ, TOKEN: token},
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
        # Also where nobody remembers to close it.
        held = (self._child, lifeline, relay, token)
        self._end = weakref.finalize(self, _kill, os.getpid(), *held)
        assert self._child.stdin is not None  # noqa: S101 (for mypy)
        assert self._child.stdout is not None  # noqa: S101 (for mypy)
        self._to, self._from = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        self._events = select.poll()
        self._events.register(self._from, select.POLLIN)

    def send(self, message: Message) -> None:
        """Tell it; what the pipe can't take now is sent while an answer is awaited."""
        self._unsent.append(memoryview(to_bytes(message)))
        self._write()

    def answer(self, seconds: float) -> Any:  # noqa: ANN401 (any JSON)
        """Its next answer; a policy may be at work for ``seconds`` on one request.

        Raises:
            Breach: it took longer, ended, or wrote nonsense.
        """
        place, since = self._marks.place, time.monotonic()
        while (answer := self._next()) is None:
            limit = self._limits.idle_seconds if place[1] <= NOBODY else seconds
            left = since + limit - time.monotonic()
            if left <= 0:
                raise Breach(f"took longer than {limit:g} s", place)
            if self._unsent:
                self._events.register(self._to, select.POLLOUT)
            ready = self._events.poll(min(left, 1.0) * 1000)
            if self._unsent:
                self._events.unregister(self._to)
                self._write()
            if any(file == self._from for file, _ in ready):
                self._receive()
            if self._marks.place != place:
                place, since = self._marks.place, time.monotonic()
        return answer

    def nonsense(self) -> Breach:
        """To raise where an answer isn't one."""
        return Breach("gives answers that can't be read", (0, NOBODY))

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
        end = HEADER.size + size
        if len(self._read) < end:
            return None
        try:
            answer = json.loads(self._read[HEADER.size : end].decode())
        except (ValueError, RecursionError) as error:
            raise self.nonsense() from error
        del self._read[:end]
        return answer

    def _ended(self) -> Breach:
        place = self._marks.place
        try:
            status = self._child.wait(_ENDED_S)
        except subprocess.TimeoutExpired:
            return Breach("closed the files of its process", place)
        if status == BROKEN:
            return Breach("broke after they had judged", (0, NOBODY))
        if status == OUT_OF_MEMORY:
            return Breach(f"took more than {self._limits.memory >> 20:,} MiB of memory", place)
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        what = "ended" if place[1] <= NOBODY else "ended its process"
        return Breach(f"{what} ({how})", place)


def _kill(
    owner: int, child: "subprocess.Popen[bytes]", lifeline: int, relay: Relay, token: str
) -> None:
    if os.getpid() != owner:  # a fork of whoever started it
        return

    def wait() -> int | None:
        try:
            return child.wait(_KILLED_S)
        except subprocess.TimeoutExpired:
            return None

    end(child.pid, lifeline, wait, token)
    relay.close()
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()
