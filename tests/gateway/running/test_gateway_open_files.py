"""The files that a gateway may open, against the connections that it would take."""

import subprocess
import sys

SCRIPT = """
import resource
from kgitops.gateway.running.process import raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (100, {hard}))
raise_open_files(500, print)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def told(hard: int) -> list[str]:
    """The lines of a process that may open up to so many files."""
    command = [sys.executable, "-c", SCRIPT.format(hard=hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_it_opens_as_many_as_it_needs() -> None:
    assert told(5000) == ["1200"]


def test_too_low_a_limit_is_told_with_the_connections_that_it_is_enough_for() -> None:
    sentence, opened = told(900)
    assert opened == "900"
    assert sentence == (
        "this process may open 900 files, enough for 350 of the 500 connections that it would "
        "take; raise the limit (LimitNOFILE of systemd), or give a smaller --max-connections"
    )
