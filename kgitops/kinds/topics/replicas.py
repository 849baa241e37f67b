"""Plans the replicas of a topic: declared ones, those that stay, and new placements."""

from msgspec import Struct

from kgitops.model.cluster_state import Broker
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.placement import PlacementError, place, reassign
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext


class TargetReplicas(Struct, frozen=True, kw_only=True):
    """A topic's whole assignment with new partitions (``grown``), and after moves (``final``).

    A new partition starts with as many replicas as partition 0 has, as Kafka requires (A4-72).
    """

    grown: Assignment
    final: Assignment


def plan_replicas(
    context: PlanContext, topic: DesiredTopic, state: TopicState | None
) -> TargetReplicas | None:
    """Return the assignment after the plan; None, with findings, if Kafka can't do it.

    A declared replication factor is reached by moving as few replicas as possible; it does not
    matter on which brokers they are, so a topic with that factor has no difference.
    """
    problems = _problems(context, topic, state)
    if problems:
        context.stop(topic.address, *problems)
        return None
    now: Assignment = state.assignment if state else ()
    try:
        return _place(context.current.brokers, topic, now)
    except PlacementError as error:
        context.stop(
            topic.address,
            Finding(
                source=topic.located.at("spec", "replicationFactor"),
                problem=f"the topic {topic.name!r} can't be placed: {error}",
                advice="lower replicationFactor, or add brokers",
            ),
        )
        return None


def _place(brokers: tuple[Broker, ...], topic: DesiredTopic, now: Assignment) -> TargetReplicas:
    factor = topic.replication_factor
    factor_now = len(now[0]) if now else factor
    if topic.assignment is not None:
        added = topic.assignment[len(now) :]
        if any(len(replicas) != factor_now for replicas in added):
            added = reassign(brokers, added, replication_factor=factor_now)
        return TargetReplicas(grown=now + added, final=topic.assignment)
    grown = now
    if len(now) < topic.partitions:
        grown += place(
            brokers,
            partitions=topic.partitions,
            replication_factor=factor_now,
            existing=now,
            seed=topic.name,
        )
    if all(len(replicas) == factor for replicas in grown):
        return TargetReplicas(grown=grown, final=grown)
    return TargetReplicas(grown=grown, final=reassign(brokers, grown, replication_factor=factor))


def _problems(context: PlanContext, topic: DesiredTopic, state: TopicState | None) -> list[Finding]:
    located = topic.located
    declared = "assignments" if topic.assignment is not None else "partitions"
    problems = []
    if state is not None and topic.partitions < state.num_partitions:
        problems.append(
            Finding(
                source=located.at("spec", declared),
                problem=f"the topic {topic.name!r} can't shrink from {state.num_partitions} to "
                f"{topic.partitions} partitions, because Kafka only adds partitions",
                advice=f"write {state.num_partitions} partitions, or declare a new topic and move "
                "its producers and consumers",
            )
        )
    if topic.assignment is not None:
        brokers = {broker.id for broker in context.current.brokers}
        unknown = sorted({broker for row in topic.assignment for broker in row} - brokers)
        if unknown:
            problems.append(
                Finding(
                    source=located.at("spec", "assignments"),
                    problem=f"the topic {topic.name!r} is assigned to unknown brokers "
                    f"{', '.join(map(str, unknown))}",
                    advice=f"use the brokers {', '.join(map(str, sorted(brokers)))}",
                )
            )
    if state is not None and state.reassigning and _moves(topic, state):
        problems.append(
            Finding(
                source=located.at("spec"),
                problem=f"the replicas of the topic {topic.name!r} are being reassigned already",
                advice="wait until that reassignment has ended, then plan again",
            )
        )
    return problems


def _moves(topic: DesiredTopic, state: TopicState) -> bool:
    if topic.assignment is not None:
        return topic.assignment[: state.num_partitions] != state.assignment
    return any(len(replicas) != topic.replication_factor for replicas in state.assignment)
