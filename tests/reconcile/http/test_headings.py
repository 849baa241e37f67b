"""The few words that say how a loop is, for each state that can be the worst."""

from datetime import UTC, datetime

import pytest
from reconcile.loop_states import PENDING, SUSPENSION, failed, loop, turn, unit

from kgitops.reconcile.http.page.content import status_page
from kgitops.reconcile.loop_status import UnitStatus

GOOD = unit(cluster="apac")
NEW = unit(cluster="us", turns=(), last_success=None)
SUSPENDED = unit(cluster="dr", suspended=True, suspension=SUSPENSION)
DRIFTED = unit(cluster="emea", turns=(turn(3, drift={"Topic": 1}, drifting={"Topic": 1}),))
WAITING = unit(pending=PENDING)
FAILED = unit(cluster="staging", turns=(failed(),))


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ([GOOD], "As declared"),
        ([GOOD, NEW], "First turns are under way"),
        ([GOOD, NEW, SUSPENDED], "1 of 3 suspended"),
        ([GOOD, NEW, SUSPENDED, DRIFTED], "1 of 4 drifted"),
        ([GOOD, NEW, SUSPENDED, DRIFTED, WAITING], "1 plan waits for somebody"),
        ([GOOD, NEW, SUSPENDED, DRIFTED, WAITING, FAILED], "1 of 6 can't be reconciled"),
    ],
)
def test_the_worst_state_is_told(units: list[UnitStatus], words: str) -> None:
    now = datetime(2026, 11, 24, 10, 2, tzinfo=UTC)
    assert status_page(loop(*units), now, 1000.0, refresh=False).status == words
    assert status_page(loop(*units), now, 10_000.0, refresh=False).status == "The loop does not run"
