"""Two projects that claim each other: nothing changes hands without consent, nothing is deleted."""

import random

import pytest
from apply.faults import FakeClock
from apply.plans import Apply, open_cluster
from laws.takeover_rounds import Round

ROUNDS, CHUNKS, STEPS = 200, 4, 14


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_object_changes_hands_without_consent(chunk: int) -> None:
    taken = refused = 0
    for seed in range(chunk, ROUNDS, CHUNKS):
        clock = FakeClock()
        cluster = open_cluster(clock=clock)
        one = Round(
            cluster=cluster,
            prefix="",
            draw=random.Random(seed),  # noqa: S311 (reproducible)
            clock=clock,
            new_apply=lambda cluster=cluster, clock=clock: Apply(cluster=cluster, clock=clock),
        )
        one.run(STEPS)
        taken, refused = taken + one.taken, refused + one.refused
    # Else the rounds would prove nothing.
    assert taken > 10
    assert refused > 50
