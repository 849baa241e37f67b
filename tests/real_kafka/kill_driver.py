"""Kills a real process with SIGKILL at each boundary of an apply to a real cluster.

Usage: kill_driver.py SERVERS. Round after round (see rounds.py) a child applies and dies at the
next boundary: before or after a wire request, an append or the fencing of the registry. Another
child resumes, or applies where nothing was begun, and sees that the round is done. Prints how many
boundaries there are; one more round is done than that.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from apply.faults import FaultyCluster
from patience import eventually
from real_kafka.rounds import Rounds

from kgitops.apply.context import ApplySettings
from kgitops.apply.result import ApplyResult
from kgitops.cluster.connect import connect
from kgitops.model.errors import LockedError
from kgitops.model.verdict import ExitCode

# Whoever comes next waits for the dead one's lease and for one more timeout.
SETTINGS = ApplySettings(lease_ms=3_000, timeout_ms=1_500)


def main(servers: str) -> None:
    boundary = 0
    while _killed(_apply_until, servers, boundary):
        if _killed(_finish, servers, boundary):
            raise SystemExit(f"the resume after boundary {boundary} was killed")
        boundary += 1
    print(boundary)


def _killed(work: Callable[[str, int], None], servers: str, boundary: int) -> bool:
    """Whether the child was; one that fails by itself ends everything."""
    child = os.fork()  # nothing is connected in this process
    if child == 0:
        try:
            work(servers, boundary)
        except BaseException:  # noqa: BLE001 (the child must not run on as its parent)
            print(f"boundary {boundary}", file=sys.stderr)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status):
        raise SystemExit(1)
    return False


def _apply_until(servers: str, boundary: int) -> None:
    left = boundary

    def pass_boundary(*_: object) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    cluster = FaultyCluster(
        connect(f"kafka://{servers}", base=Path()),
        before_send=pass_boundary,
        after_send=pass_boundary,
        before_append=pass_boundary,
        after_append=pass_boundary,
        before_fence=pass_boundary,
    )
    result = Rounds(cluster=cluster, settings=SETTINGS).apply(boundary + 1)
    assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
    cluster.close()


def _finish(servers: str, boundary: int) -> None:
    cluster = connect(f"kafka://{servers}", base=Path())
    rounds = Rounds(cluster=cluster, settings=SETTINGS)

    def finished() -> ApplyResult | LockedError:
        try:
            # Where it is None, either nothing was begun, or all was done and written down.
            return rounds.resume() or rounds.apply(boundary + 1)
        except LockedError as locked:
            return locked

    result = eventually(
        finished,
        lambda found: not isinstance(found, LockedError),
        what="the dead one's lease ends",
    )
    assert not isinstance(result, LockedError)
    assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
    rounds.assert_done(boundary + 1)
    cluster.close()


if __name__ == "__main__":
    main(sys.argv[1])
