"""The bar of a fleet's tasks."""

import os
import pty
import subprocess
import sys

SHOW = """
import time
from kgitops.cli.fleet.options import task_bar
from kgitops.fleet.spark.engine import TaskProgress
with task_bar("planning", no_color=True) as tell:
    tell(TaskProgress(done=0, active=0, total=40))
    time.sleep(0.3)
    tell(TaskProgress(done=7, active=2, total=40))
    time.sleep(0.3)
"""


def test_a_terminal_shows_how_far_the_tasks_are() -> None:
    outer, inner = pty.openpty()
    with os.fdopen(outer, "rb", buffering=0) as screen:
        with os.fdopen(inner, "wb", buffering=0) as terminal:
            subprocess.run(
                [sys.executable, "-c", SHOW],
                stderr=terminal,
                env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
                check=True,
                timeout=60,
            )
        shown = b""
        try:
            while chunk := screen.read(4096):
                shown += chunk
        except OSError:
            pass  # nobody holds the terminal any more
    assert b"waiting" in shown
    assert b"planning (2 at work)" in shown
    assert b"7/40" in shown


def test_a_file_shows_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"", b"")
