"""How much disk a topic will take, as far as its retention and its size tell."""

from collections.abc import Mapping

import pytest

from kgitops.model.registry import Json
from kgitops.plan.usage import disk_estimate

DAY = 86_400_000


def view(partitions: int = 2, replicas: int = 3, **configs: object) -> Mapping[str, Json]:
    named = {key.replace("_", "."): str(value) for key, value in configs.items()}
    return {"partitions": partitions, "replicationFactor": replicas, "configs": named}


CASES: list[tuple[Mapping[str, Json] | None, Mapping[str, Json] | None, int | None, object]] = [
    # A new topic with a limit: the segment that is written comes on top.
    (None, view(retention_bytes=1000, segment_bytes=100), None, {"bytes_at_most": "6600"}),
    (None, view(), None, {}),
    (None, view(retention_bytes=-1), None, {}),
    (None, view(retention_bytes=1000, cleanup_policy="compact"), None, {}),
    (None, view(retention_bytes=1000, remote_storage_enable="true"), None, {}),
    (view(), None, 10, {}),
    # Twice the retention of 1,000 bytes in 3 replicas.
    (view(retention_ms=DAY), view(retention_ms=2 * DAY), 1000, {"bytes_expected": "6000"}),
    (view(retention_ms=2 * DAY), view(retention_ms=DAY), 1000, {"bytes_expected": "1500"}),
    # 7 days are Kafka's default.
    (view(), view(retention_ms=14 * DAY), 1000, {"bytes_expected": "6000"}),
    (view(retention_ms=DAY), view(retention_ms=-1), 1000, {}),
    (view(retention_ms=-1), view(retention_ms=DAY), 1000, {}),
    (view(retention_ms=DAY), view(retention_ms=2 * DAY), None, {}),
    (view(retention_ms=DAY), view(retention_ms=2 * DAY), 0, {}),
    # A limit caps what is expected.
    (
        view(retention_ms=DAY),
        view(retention_ms=2 * DAY, retention_bytes=100, segment_bytes=50),
        1000,
        {"bytes_at_most": "900", "bytes_expected": "900"},
    ),
]


@pytest.mark.parametrize(("before", "after", "held", "expected"), CASES)
def test_an_estimate_is_what_retention_leaves(
    before: Mapping[str, Json] | None,
    after: Mapping[str, Json] | None,
    held: int | None,
    expected: object,
) -> None:
    assert disk_estimate(before, after, {}, held) == expected


def test_the_brokers_defaults_count() -> None:
    defaults = {"retention.bytes": "1000", "segment.bytes": "0"}
    assert disk_estimate(None, view(), defaults) == {"bytes_at_most": "6000"}
