"""The blast radius of a change to a topic, as far as the cluster could tell."""

from collections.abc import Mapping

from kgitops.model.cluster_state import TopicUsage
from kgitops.model.registry import Json
from kgitops.model.resources.topics import TopicState


def topic_impact(
    state: TopicState, usage: TopicUsage | None, records: Mapping[int, int] | None = None
) -> Mapping[str, Json]:
    """Partitions, bytes and records that the topic holds, and the records that go.

    A number is left out where any partition's share is unknown: a part would read as the whole.
    """
    impact: dict[str, Json] = {"partitions": state.num_partitions}
    if usage is None:
        return impact
    size = _total(usage.size_bytes, state.num_partitions)
    if size is not None:
        impact["bytes"] = str(size)
    starts, ends = usage.log_start_offsets, usage.high_watermarks
    held = _total(
        tuple(
            None if start is None or end is None else end - start
            for start, end in zip(starts, ends, strict=False)
        ),
        state.num_partitions,
    )
    if held is not None:
        impact["records"] = str(held)
    if usage.active_groups is not None:
        impact["active_groups"] = list(usage.active_groups)
    if records:
        lost = _total(
            tuple(
                None
                if partition >= len(starts) or (start := starts[partition]) is None
                else offset - start
                for partition, offset in records.items()
            ),
            len(records),
        )
        if lost is not None:
            impact["records_deleted"] = str(lost)
    return impact


def _total(values: tuple[int | None, ...], expected: int) -> int | None:
    if len(values) != expected or None in values:
        return None
    return sum(value for value in values if value is not None)
