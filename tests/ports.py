"""Ports of this worker's own, for a process that is told its port.

They are apart from the sandbox's, and from those that the system gives to connections.
"""

import os
from itertools import count

from kgitops.sandbox.layout import is_free

_FIRST, _EACH = 10_000, 1_000
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 9
_BEGIN = _FIRST + _WORKER * _EACH
_given = count(os.getpid())  # two runs side by side begin elsewhere


def first_port(row: int = 1) -> int:
    """The first of so many free ports in a row, others with each call."""
    for _ in range(_EACH):
        ports = [_BEGIN + next(_given) % _EACH for _ in range(row)]
        if ports[-1] - ports[0] == row - 1 and all(map(is_free, ports)):
            return ports[0]
    raise OSError(f"no {row} ports in a row from {_BEGIN} on are free")
