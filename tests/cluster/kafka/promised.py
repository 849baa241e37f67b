"""The time that connecting may take: the timeout that it has, not that of a busy machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

from kgitops.cluster.kafka.transport import wire
from kgitops.cluster.kafka.transport.connections import Connections

PROMISED_S = 10.0  # what users are promised, with the two seconds that a process takes to start
_STARTING_S = 2.0


@contextmanager
def patience() -> Iterator[None]:
    """In this block a wire that connects waits for what users are promised, and no longer.

    What it may wait is counted from the first look at its clock, so that it holds however slow
    the machine is.
    """
    looks: list[float] = []
    deadlines: list[float] = []
    to_any, has_controller = Connections.to_any, wire.has_controller

    def looking() -> float:
        looks.append(time.monotonic())
        return looks[-1]

    def noting_to_any(self: Connections, deadline: float) -> object:
        if len(looks) == 1:
            deadlines.append(deadline)
        return to_any(self, deadline)

    def noting_has_controller(ask: object, deadline: float) -> bool:
        deadlines.append(deadline)
        return has_controller(ask, deadline)  # type: ignore[arg-type]

    clock = SimpleNamespace(monotonic=looking, sleep=time.sleep)
    with (
        mock.patch.object(wire, "time", clock),
        mock.patch.object(Connections, "to_any", noting_to_any),
        mock.patch.object(wire, "has_controller", noting_has_controller),
    ):
        yield
    assert deadlines
    assert max(deadlines) <= looks[0] + PROMISED_S - _STARTING_S
