"""Makes this process fit to run policies: what they print or close can't hurt the answers."""

import logging
import os
import resource
import signal
import sys
import threading
import time

_CLOSING_S = 2.0
"""So long policies may take to close once the parent is gone."""


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


def live_no_longer_than(parent: int) -> None:
    """End soon after the parent, also where a policy runs and runs; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def leave_no_core() -> None:
    """A policy that crashes the process leaves no file behind."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def log_everything() -> None:
    """Log as ``--log-level debug`` does in the parent; else only warnings are shown."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form)
    logging.getLogger("kgitops").setLevel(logging.DEBUG)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    time.sleep(_CLOSING_S)
    os.kill(os.getpid(), signal.SIGKILL)
