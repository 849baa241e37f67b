"""A server in a child process, which may kill itself."""

import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serve.killing.boundaries import Boundaries, serve
from serve.killing.checks import ViolationError
from serve.raw_client import RawClient, raw_client

from kgitops.serve.nodes import Endpoint


class ServedChild:
    """A child that serves a store, up to a boundary or until it is ended."""

    def __init__(
        self,
        store: Path,
        kill_at: int | None = None,
        *,
        mutant: str | None = None,
        first_id: int = 1,
    ) -> None:
        heard, said = os.pipe()
        self.killed = ""
        assert threading.active_count() == 1
        self.child = os.fork()
        if self.child == 0:
            try:
                serve(store, Boundaries(kill_at, said), first_id=first_id, mutant=mutant)
            except BaseException:  # noqa: BLE001 (the child must not run on as its parent)
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(said)
        self._heard = open(heard)  # noqa: PTH123, SIM115 (a pipe)
        word, _, rest = self._heard.readline().strip().partition(" ")
        self.endpoint = Endpoint("127.0.0.1", int(rest)) if word == "ready" else None
        if word != "ready":
            self.killed = rest
            self.end()

    @contextmanager
    def client(self) -> Iterator[RawClient]:
        """A connection; if there is an error that no kill explains, the child ends too."""
        assert self.endpoint is not None
        try:
            with raw_client(self.endpoint) as client:
                yield client
        except ConnectionError:
            raise
        except BaseException:
            os.kill(self.child, signal.SIGKILL)
            raise

    def end(self) -> None:
        """End the child, unless it has killed itself."""
        if self.endpoint is not None:
            os.kill(self.child, signal.SIGTERM)
        self.wait()

    def kill(self) -> None:
        """Kill the child from outside."""
        os.kill(self.child, signal.SIGKILL)
        self.killed = "from outside"
        self.wait()

    def wait(self) -> None:
        """See that it ended by being told so, or at its boundary."""
        _, status = os.waitpid(self.child, 0)
        with self._heard:
            self.killed = self.killed or self._heard.read().strip().removeprefix("killed ")
        expected = -signal.SIGKILL if self.killed else 0
        if os.waitstatus_to_exitcode(status) != expected:
            raise ViolationError(f"a server ended by itself, status {status}")
