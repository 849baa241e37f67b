"""The files that a gateway may open, against the connections that it would take."""

import subprocess
import sys

SCRIPT = """
import resource
from kgitops.gateway.running.process import raise_open_files
for hard in (5000, 900):
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    raise_open_files(500, print)
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def test_it_opens_as_many_as_it_needs_and_tells_what_too_low_a_limit_is_enough_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "1200",
        "this process may open 900 files, enough for 350 of the 500 connections that it would "
        "take; raise the limit (LimitNOFILE of systemd), or give a smaller --max-connections",
        "900",
    ]
