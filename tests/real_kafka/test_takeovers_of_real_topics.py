"""Two projects that claim each other on real brokers: nothing changes hands without consent."""

import random

import pytest
from apply.plans import Apply
from laws.takeover_rounds import Round

from kgitops.apply.context import ApplySettings
from kgitops.cluster.port import Cluster
from kgitops.model.clock import SystemClock

pytestmark = pytest.mark.kafka

ROUNDS, STEPS = 20, 12


def test_no_object_changes_hands_without_consent(kafka_cluster: Cluster) -> None:
    taken = refused = 0
    for seed in range(ROUNDS):
        clock = SystemClock()
        one = Round(
            cluster=kafka_cluster,
            prefix=f"k{seed}-",
            draw=random.Random(1_000 + seed),  # noqa: S311 (reproducible)
            clock=clock,
            new_apply=lambda clock=clock: Apply(
                cluster=kafka_cluster, clock=clock, settings=ApplySettings()
            ),
        )
        one.run(STEPS)
        taken, refused = taken + one.taken, refused + one.refused
    # Else the rounds would prove nothing.
    assert taken > 0
    assert refused > 10
