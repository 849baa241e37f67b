"""Fault injection: a unit's plan_task that ends badly; these run in Spark's Python workers."""

import json
import os
import resource
import signal
from pathlib import Path

from kgitops.fleet.planning import plan_task

_ROOM = 512
"""In bytes: no table of rows fits."""


def without_room(spec: str) -> str:
    """Files can't grow any more, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, hard))
    try:
        return plan_task(spec)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def killed_once_with_rows_written(spec: str) -> str:
    """Is killed when all of the unit is written and nobody knows of it yet, the first time."""
    answer = plan_task(spec)
    marker = Path(f"killed-{json.loads(spec)['unit']['cluster']}")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
