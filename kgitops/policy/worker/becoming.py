"""Makes this process fit to run policies: what they print or close can't hurt the answers."""

import logging
import os
import signal
import sys
import threading
import time


def take_pipes() -> tuple[int, int]:
    """The two ends of our parent, moved to where no policy finds them by chance.

    What policies print goes to stderr, and there is nothing that they can read.
    """
    messages, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    # A policy that forks must not answer twice.
    os.register_at_fork(after_in_child=lambda: os.closerange(messages, answers + 1))
    return messages, answers


def live_no_longer_than_the_supervisor() -> None:
    """End soon after it, also where a policy runs and runs; leave Ctrl-C to the parent.

    On Linux the system sees to the end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "linux":
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def log_everything() -> None:
    """Log as ``--log-level debug`` does in the parent; else only warnings are shown."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form)
    logging.getLogger("kgitops").setLevel(logging.DEBUG)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
