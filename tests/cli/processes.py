"""A ``kgitops apply`` in a process of its own, stopped in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from patience import eventually

SCRIPT = Path(__file__).with_name("paused_apply.py")
TESTS = Path(__file__).parents[1]


class PausedApply:
    """Its first change is done and the answer is held back; see paused_apply.py."""

    def __init__(self, gate: Path, *words: object) -> None:
        self.gate = gate
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, gate, *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        eventually(self._has_reached_its_gate, what="the first change is made")

    def _has_reached_its_gate(self) -> bool:
        assert self.process.poll() is None, self.ended()
        return self.gate.with_suffix(".reached").exists()

    def interrupt(self, number: signal.Signals) -> None:
        """Send the signal, and go on when it will have been noted."""
        self.process.send_signal(number)
        time.sleep(0.3)

    def open(self) -> tuple[int, str, str]:
        """Let it go on; how it ended."""
        self.gate.with_suffix(".open").touch()
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def stop(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
