"""The kgitops command with a short lease of the lock, so that tests need not wait for a long one.

Usage: short_lease.py WORD... Where KGITOPS_TEST_MUTANT is set, nothing looks at the lease once an
intent is written: the mutant that test_lost_lock.py must catch.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from unittest.mock import patch

from kgitops.apply.context import ApplySettings
from kgitops.apply.lock import LeaseKeeper
from kgitops.cli.main import run

LEASE_MS, TIMEOUT_MS = 2_000, 900


def with_short_lease() -> AbstractContextManager[object]:
    """Let every apply in this process have one."""
    short: Callable[..., ApplySettings] = partial(_short, ApplySettings)
    return patch("kgitops.cli.running.execute.ApplySettings", short)


def _short(real: type[ApplySettings], **settings: int) -> ApplySettings:
    return real(**settings | {"lease_ms": LEASE_MS, "timeout_ms": TIMEOUT_MS})


if __name__ == "__main__":
    with ExitStack() as stack:
        stack.enter_context(with_short_lease())
        if os.environ.get("KGITOPS_TEST_MUTANT"):
            stack.enter_context(patch.object(LeaseKeeper, "keep_lock", lambda _: None))
        run()
