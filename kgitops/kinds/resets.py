"""Resets of a group's offsets: found out when one is due, and resolved to what is committed."""

from collections.abc import Iterable, Iterator, Mapping

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredGroup, OffsetReset, part_json
from kgitops.model.registry import Json
from kgitops.model.resources.groups import CommittedOffsets, FoundGroup, TopicOffsets
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import FieldChange
from kgitops.plan.document.risks import Risk

_EARLIEST = "earliest"


def is_due(group: DesiredGroup, managed: Mapping[str, Json]) -> bool:
    """Return whether the declared reset is another than the last applied one."""
    return group.reset is not None and part_json(group.reset) != managed.get("resetOffsets")


def reset_topics(reset: OffsetReset) -> frozenset[str]:
    """Return the topics whose offsets are set."""
    return frozenset(reset.topics or reset.offsets)


def planned_reset(
    context: PlanContext,
    group: DesiredGroup,
    found: FoundGroup,
    managed: Mapping[str, Json],
) -> tuple[TopicOffsets, ...] | None:
    """Return the offsets to commit, without those that are committed already.

    There are none if no reset is due; None if it can't be resolved, with findings.
    """
    reset = group.reset
    if reset is None or not is_due(group, managed):
        return ()
    topics: list[TopicOffsets] = []
    problems: list[str] = []
    for name in sorted(reset_topics(reset)):
        topic = context.current.topics.get(name)
        if topic is None or topic.topic_id is None:
            problems.append(f"there is no topic {name} on the cluster")
            continue
        offsets: dict[int, int] = {}
        for partition in _partitions(reset, name, topic.num_partitions):
            offset = _resolved(reset, name, partition, topic.num_partitions, context.current)
            if isinstance(offset, str):
                problems.append(offset)
                continue
            key = name, partition
            earlier = None if reset.offsets else context.earlier.offsets.get(group.address)
            wanted = offset if earlier is None else _as_earlier(earlier, found, key, offset)
            if wanted is not None and found.offsets.get(key) != wanted:
                offsets[partition] = wanted
        if offsets:
            topics.append(TopicOffsets(topic=name, topic_id=topic.topic_id, offsets=offsets))
    if problems:
        context.stop(group.address, *_findings(group, problems))
        return None
    return tuple(topics)


def _as_earlier(
    chosen: CommittedOffsets, found: FoundGroup, key: tuple[str, int], offset: int
) -> int | None:
    """Return the offset that an earlier plan commits; starts and ends of partitions only grow.

    What it leaves out was committed already, and consumers may have gone on from there; or the
    partition is new. None for no offset.
    """
    if key not in chosen:
        return found.offsets.get(key)
    return chosen[key] if 0 <= chosen[key] <= offset else offset


def committed(reset: Iterable[TopicOffsets], found: FoundGroup) -> dict[str, str | None]:
    """Return what is committed now for the offsets of a reset, as fields of a precondition."""
    keys = [(item.topic, partition) for item in reset for partition in sorted(item.offsets)]
    offsets = {key: found.offsets.get(key) for key in keys}
    return {
        offset_path(*key): None if offset is None else str(offset)
        for key, offset in offsets.items()
    }


def offset_path(topic: str, partition: int) -> str:
    """Return the path of the field: ``offsets.orders.0``."""
    return f"offsets.{topic}.{partition}"


def offset_field(topic: str, partition: int, before: int | None, after: int) -> FieldChange:
    """Return a partition's offset before and after, with the records that lie between."""
    return FieldChange(
        path=offset_path(topic, partition),
        before=None if before is None else str(before),
        after=str(after),
        risk=_risk(before, after),
        note=None if before is None else _between(before, after),
    )


def _between(before: int, after: int) -> str:
    if after < before:
        return f"at most {before - after:,} records are read again"
    return f"at most {after - before:,} records are skipped"


def _risk(before: int | None, after: int) -> Risk:
    if before is None:
        return risks.OFFSETS_SET
    return risks.OFFSETS_BACK if after < before else risks.OFFSETS_FORWARD


def _partitions(reset: OffsetReset, topic: str, count: int) -> Iterator[int]:
    yield from sorted(reset.offsets[topic]) if reset.offsets else range(count)


def _resolved(
    reset: OffsetReset, topic: str, partition: int, count: int, current: ClusterState
) -> int | str:
    """Return the offset, or the reason why there is none."""
    if partition >= count:
        return f"the topic {topic} has no partition {partition}: it has 0 to {count - 1}"
    usage = current.usage.get(topic)
    start = _at(usage.log_start_offsets if usage else (), partition)
    end = _at(usage.high_watermarks if usage else (), partition)
    if start is None or end is None:
        return f"the offsets of partition {partition} of {topic} can't be read"
    if reset.offsets:
        offset = reset.offsets[topic][partition]
        if not start <= offset <= end:
            return (
                f"partition {partition} of {topic} has the offsets {start} to {end}, "
                f"so {offset} is out of its range"
            )
        return offset
    if reset.timestamp_ms is not None:
        since = current.offsets_since.get(reset.timestamp_ms, {})
        return since.get((topic, partition), end)
    return start if reset.position == _EARLIEST else end


def _at(offsets: tuple[int | None, ...], partition: int) -> int | None:
    return offsets[partition] if partition < len(offsets) else None


def _findings(group: DesiredGroup, problems: Iterable[str]) -> Iterator[Finding]:
    for problem in problems:
        yield Finding(
            source=group.located.at("spec", "resetOffsets"),
            problem=f"the offsets of {group.address} can't be reset: {problem}",
            advice="correct resetOffsets, or plan again once the cluster shows them",
        )
