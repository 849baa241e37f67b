"""Plans deleteRecordsBefore, which is bound to the topic id that it was first applied to."""

from collections.abc import Mapping

from kgitops.model.json.declared import DesiredTopic
from kgitops.model.resources.topics import TopicState
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext


def records_to_delete(
    context: PlanContext, topic: DesiredTopic, state: TopicState, cleanup_policy: str | None
) -> Mapping[int, int] | None:
    """Return the first offset to keep of each partition that has records below it (P201-60).

    ``cleanup_policy`` is the effective value after the plan. None if the records may not or can't
    be deleted; the draft has the reason.
    """
    declared = topic.delete_records_before
    if not declared:
        return {}
    if not _same_topic(context, topic, state):
        return None
    due = {}
    problems = []
    for partition, offset in sorted(declared.items()):
        start, end = _bounds(context, topic, state, partition)
        if start is not None and offset <= start:
            continue
        if end is not None and offset > end:
            problems.append(
                Finding(
                    source=topic.located.at("spec", "deleteRecordsBefore", partition),
                    problem=f"partition {partition} of the topic {topic.name!r} ends at offset "
                    f"{end}, so records below {offset} can't be deleted",
                    advice=f"write an offset of at most {end}",
                )
            )
            continue
        due[partition] = offset
    if due and "delete" not in (cleanup_policy or "").split(","):
        problems.append(
            Finding(
                source=topic.located.at("spec", "deleteRecordsBefore"),
                problem=f"Kafka deletes records only where cleanup.policy contains delete, and "
                f"that of the topic {topic.name!r} is {cleanup_policy or 'empty'}",
                advice="remove deleteRecordsBefore, or add delete to cleanup.policy",
            )
        )
    context.stop(topic.address, *problems)
    return None if problems else due


def _bounds(
    context: PlanContext, topic: DesiredTopic, state: TopicState, partition: int
) -> tuple[int | None, int | None]:
    """Return the first offset and the one past the last, each None if it is unknown."""
    if partition >= state.num_partitions:
        return 0, 0
    usage = context.current.usage.get(state.name)
    start = _item(usage.log_start_offsets, partition) if usage else None
    end = _item(usage.high_watermarks, partition) if usage else None
    if start is None:
        # Not every principal may read offsets; records that were deleted before never return.
        last = context.ownership.last_applied(topic.address)
        applied = last.get("deleteRecordsBefore", {}).get(str(partition))
        start = None if applied is None else int(applied)
    return start, end


def _same_topic(context: PlanContext, topic: DesiredTopic, state: TopicState) -> bool:
    owner = context.ownership.owner(topic.address)
    applied = bool(owner and owner.last_applied.get("deleteRecordsBefore"))
    if owner is None or not applied or owner.topic_id == state.topic_id:
        return True
    refuse_records(context, topic, state)
    return False


def refuse_records(context: PlanContext, topic: DesiredTopic, state: TopicState | None) -> None:
    """Refuse offsets that were meant for another topic of the same name."""
    owner = context.ownership.owner(topic.address)
    applied_to = owner.topic_id if owner else None
    now = f"the topic now has {state.topic_id}" if state else "which is gone from the cluster"
    context.refuse(
        topic.address,
        f"{topic.located.at('spec', 'deleteRecordsBefore')}: deleteRecordsBefore of "
        f"{topic.address} was applied to the topic id {applied_to}, {now}; remove it, or write it "
        "again after the new topic was applied",
    )


def _item(values: tuple[int | None, ...], partition: int) -> int | None:
    return values[partition] if partition < len(values) else None
