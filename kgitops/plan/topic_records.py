"""deleteRecordsBefore: which records must go, bound to the topic id it was first applied to."""

from collections.abc import Mapping

from kgitops.desired.state import DesiredTopic
from kgitops.model.source import Finding
from kgitops.model.topics import TopicState
from kgitops.plan.planning import Planning


def records_to_delete(
    planning: Planning, topic: DesiredTopic, state: TopicState
) -> Mapping[int, int] | None:
    """Partition to first kept offset, only where records are left below it (P201-60).

    None when it may not, or can't, be done; the outcome says why.
    """
    declared = topic.delete_records_before
    if not declared:
        return {}
    if not _same_topic(planning, topic, state):
        return None
    usage = planning.current.usage.get(topic.name)
    due = {}
    problems = []
    for partition, offset in sorted(declared.items()):
        start = _item(usage.log_start_offsets, partition) if usage else None
        end = _item(usage.high_watermarks, partition) if usage else None
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
    planning.outcome.findings += problems
    return None if problems else due


def _same_topic(planning: Planning, topic: DesiredTopic, state: TopicState) -> bool:
    owner = planning.ownership.owner(topic.address)
    applied = bool(owner and owner.last_applied.get("deleteRecordsBefore"))
    if owner is None or not applied or owner.topic_id == state.topic_id:
        return True
    planning.outcome.refuse(
        f"{topic.located.at('spec', 'deleteRecordsBefore')}: deleteRecordsBefore of "
        f"{topic.address} was applied to the topic id {owner.topic_id}, the topic now has "
        f"{state.topic_id}; remove it, or write it anew after the new topic was applied"
    )
    return False


def _item(values: tuple[int | None, ...], partition: int) -> int | None:
    return values[partition] if partition < len(values) else None
