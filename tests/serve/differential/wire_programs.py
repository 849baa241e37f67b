"""Random programs of admin requests, each from a seed."""

from collections.abc import Sequence

import msgspec
from serve.differential import (
    random_groups,
    random_replicas,
    random_rights,
    random_settings,
    random_topics,
)
from serve.differential.random_choices import ADMIN, ALICE, Choices, Step

AREAS = (random_topics, random_settings, random_rights, random_replicas, random_groups)
STEPS = 14


def program(seed: int) -> Sequence[Step]:
    """Topics to begin with, then requests of one area or of all, some of Alice, who has no rights.

    Other programs' objects have other names.
    """
    choices = Choices(seed)
    areas = AREAS if seed % 6 == 5 else [AREAS[seed % 6]]
    return [_first_topics(choices), *(_step(choices, areas) for _ in range(STEPS))]


def _step(choices: Choices, areas: Sequence[object]) -> Step:
    area = choices.one(*areas)
    step: Step = choices.one(*choices.one(area.READS, area.WRITES))(choices)
    return msgspec.structs.replace(step, user=ALICE) if choices.rarely() else step


def _first_topics(choices: Choices) -> Step:
    rows = [
        {
            "name": f"{choices.prefix}{name}",
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": [1, 2]}],
        }
        for name in ("a", "d")
    ]
    return Step("CreateTopics", {"topics": rows, "timeout_ms": 30_000}, writes=True, user=ADMIN)
