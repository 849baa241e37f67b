"""Plans an existing topic: adopts it, or alters it by requests in the order that Kafka needs."""

from collections.abc import Mapping, Sequence

from kgitops.kinds.topics.configs import ConfigDiff, config_conflicts, diff_configs
from kgitops.kinds.topics.replicas import (
    TargetReplicas,
    TopicThrottle,
    plan_replicas,
    topic_throttle,
)
from kgitops.model import requests as req
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.registry import Json
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import effective_default, normal_value
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.source import Finding
from kgitops.model.values import overlaid
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Drift
from kgitops.plan.draft import ChainedRequest
from kgitops.plan.normal_form import assignment_text, topic_view
from kgitops.plan.ownership import OwnershipStatus
from kgitops.plan.usage import measured

_NOTHING: Mapping[str, str | None] = {}


_MIN_ISR = "min.insync.replicas"


def delete_request(state: TopicState) -> req.DeleteTopicRequest:
    """Return a DeleteTopic that is bound to the id of the current topic."""
    return req.DeleteTopicRequest(topic=state.name, topic_id=state.topic_id or "")


def alter_steps(
    current: TopicState,
    *,
    configs: Mapping[str, str | None],
    replicas: TargetReplicas,
    throttle: TopicThrottle,
    waits: bool,
    generated: bool,
    delete_records: Mapping[int, int],
    first: Sequence[req.Request] = (),
) -> Sequence[ChainedRequest]:
    """Return one request for each step that Kafka executes separately, based on the previous one.

    The order is: the requests ``first``, configs that must precede others, partitions, replicas,
    remaining configs (contract §6), and records last. ``generated``: kgitops placed the replicas.
    With ``waits`` the plan waits for a running reassignment, by requesting the same again.
    """
    builder = _Builder(current, first)
    early, remaining = _split_configs(current, configs, replicas.final)
    builder.configs(early)
    builder.partitions(replicas.grown, generated=generated)
    set_at = builder.configs(throttle.marks)
    builder.replicas(replicas.final, generated=generated, waits=waits)
    builder.configs(throttle.restored, undoes=set_at)
    builder.configs(remaining)
    if delete_records:
        builder.items.append(
            ChainedRequest(
                req.DeleteRecordsRequest(
                    topic=current.name,
                    topic_id=current.topic_id or "",
                    deleted_message_offsets=dict(delete_records),
                )
            )
        )
    return builder.items


class _Builder:
    """Collects requests, each for the state that follows from the previous one."""

    def __init__(self, current: TopicState, first: Sequence[req.Request]) -> None:
        self.items = [*map(ChainedRequest, first)]
        self._current = current
        self._assignment = current.assignment
        self._configs = current.configs

    def configs(self, requested: Mapping[str, str | None], *, undoes: int | None = None) -> int:
        """Add a request for these configs, if any; return the index of the last request."""
        if requested:
            self._configs = dict(sorted(overlaid(self._configs, requested).items()))
            self._step(req.AlterStep.CONFIGS, asked=dict(sorted(requested.items())), undoes=undoes)
        return len(self.items) - 1

    def partitions(self, grown: Assignment, *, generated: bool) -> None:
        if len(grown) > len(self._assignment):
            self._assignment = grown
            self._step(req.AlterStep.PARTITIONS, generated=generated)

    def replicas(self, wanted: Assignment, *, generated: bool, waits: bool) -> None:
        if waits or wanted != self._assignment:
            self._assignment = wanted
            self._step(req.AlterStep.REPLICAS, generated=generated)

    def _step(
        self,
        step: req.AlterStep,
        *,
        asked: Mapping[str, str | None] = _NOTHING,
        generated: bool = False,
        undoes: int | None = None,
    ) -> None:
        request = req.AlterTopicRequest(
            topic=self._current.name,
            topic_id=self._current.topic_id or "",
            step=step,
            requested_state=RequestedTopicState(
                name=self._current.name,
                topic_id=self._current.topic_id,
                assignment=self._assignment,
                configs=self._configs,
                requested_configs=asked,
                generated_replica_assignments=generated,
            ),
        )
        self.items.append(ChainedRequest(request, undoes))


def _split_configs(
    current: TopicState, requested: Mapping[str, str | None], assignment: Assignment
) -> tuple[Mapping[str, str | None], Mapping[str, str | None]]:
    # With fewer replicas than min.insync.replicas no producer with acks=all gets through, so a
    # value that goes down with the replication factor goes first; one that goes up goes last.
    if _MIN_ISR not in requested or len(assignment[0]) >= current.replication_factor:
        return _NOTHING, requested
    first = {_MIN_ISR: requested[_MIN_ISR]}
    return first, {key: value for key, value in requested.items() if key not in first}


def plan_alteration(
    context: PlanContext,
    topic: DesiredTopic,
    state: TopicState,
    first: Sequence[req.Request] = (),
) -> None:
    """Add the change that brings ``state`` to what ``topic`` declares, if any is needed.

    The requests ``first`` come before those of the topic.
    """
    owner = context.ownership.owner(topic.address)
    # A topic that was re-created under the name is not the one that was applied.
    same_topic = owner is not None and not owner.spent and owner.topic_id == state.topic_id
    last = context.ownership.last_applied(topic.address) if same_topic else {}
    adopts = not same_topic or context.ownership.status(topic.address) is not OwnershipStatus.MINE
    configs = diff_configs(topic, state.configs, last.get("configs", {}))
    context.draft.drift += (*_shape_drift(topic, state, last), *configs.drift)
    replicas = plan_replicas(context, topic, state)
    effective = _Effective(state, configs, context.current.broker_defaults)
    records = records_to_delete(context, topic, state, effective.value("cleanup.policy"))
    conflicts = effective.conflicts(topic) if configs.requested else []
    context.stop(topic.address, *conflicts)
    if replicas is None or records is None or conflicts:
        return
    assignment = replicas.final
    stale = context.stale_throttles.topics.get(topic.address, {})
    rate = context.desired.safety.replication_throttle
    throttle = topic_throttle(state, replicas, rate=rate, stale=stale)
    # Producers would be refused while too few replicas are in sync.
    waits = state.reassigning and bool(stale or _MIN_ISR in configs.requested)
    waits = waits or topic.address in context.earlier.waits
    requests = alter_steps(
        state,
        configs=configs.requested,
        replicas=replicas,
        throttle=throttle,
        waits=waits,
        generated=topic.assignment is None,
        delete_records=records,
        first=first,
    )
    owner_after = context.record_after(topic, adopts=adopts, topic_id=state.topic_id)
    if not requests and owner == owner_after:  # most topics of a fleet
        return
    context.change(
        topic,
        Kind.TOPIC,
        requests,
        owner_after=owner_after,
        before=topic_view(state),
        expects=context.expect(
            topic.address,
            topic_id=state.topic_id,
            fields=_expected(state, configs, assignment, throttle, waits=waits),
        ),
        basis=Basis(
            measured=measured(context.current.usage.get(state.name)),
            affects=context.links.affected(state.name, besides=context.local),
        )
        if requests
        else Basis(),
    )


class _Effective:
    """The topic's configs once the plan is applied."""

    def __init__(self, state: TopicState, diff: ConfigDiff, defaults: Mapping[str, str]) -> None:
        self.configs = overlaid(state.configs, diff.requested)
        self._existing = state.configs
        self._defaults = defaults

    def value(self, key: str) -> str | None:
        """Return the effective value, including defaults."""
        return self.configs.get(key) or effective_default(key, self._defaults)[0]

    def conflicts(self, topic: DesiredTopic) -> list[Finding]:
        """Return a finding for each conflict between the configs."""
        return config_conflicts(topic, self.configs, self._existing, self._defaults)


def _shape_drift(topic: DesiredTopic, state: TopicState, last: Mapping[str, Json]) -> list[Drift]:
    """Return the drift of the shape since it was last applied."""
    if not last:
        return []
    pairs: list[tuple[str, str, str, str]] = [
        ("partitions", str(last["partitions"]), str(state.num_partitions), str(topic.partitions)),
        (
            "replicationFactor",
            str(last["replicationFactor"]),
            str(state.replication_factor),
            str(topic.replication_factor),
        ),
    ]
    if last["assignments"] is not None:
        applied = tuple(tuple(replicas) for replicas in last["assignments"])
        wanted = assignment_text(topic.assignment) if topic.assignment else ""
        pairs.append(
            ("assignments", assignment_text(applied), assignment_text(state.assignment), wanted)
        )
    return [
        Drift(
            address=topic.address,
            path=path,
            last_applied=applied,
            found=current,
            rule=_rule(path, current, wanted),
        )
        for path, applied, current, wanted in pairs
        if applied != current
    ]


def _rule(path: str, current: str, wanted: str) -> str:
    if wanted in (current, ""):
        return "accepted"
    # Kafka only adds partitions: the plan stops, and restores nothing.
    return "stays" if path == "partitions" and int(current) > int(wanted) else "restored"


def _expected(
    state: TopicState,
    configs: ConfigDiff,
    wanted: Assignment,
    throttle: TopicThrottle,
    *,
    waits: bool,
) -> Mapping[str, str | None]:
    """Return the fields that the change reads or writes, for its precondition."""
    fields = dict(configs.expected)
    for key in throttle.marks:
        value = state.configs.get(key)
        fields[f"configs.{key}"] = None if value is None else normal_value(key, value)
    if len(wanted) > len(state.assignment):
        fields["partitions"] = str(state.num_partitions)
    if waits or wanted[: len(state.assignment)] != state.assignment:
        fields["partitions"] = str(state.num_partitions)
        fields["assignments"] = assignment_text(state.assignment)
    return fields


def records_to_delete(
    context: PlanContext, topic: DesiredTopic, state: TopicState, cleanup_policy: str | None
) -> Mapping[int, int] | None:
    """Return the first offset to keep of each partition that has records below it (P201-60).

    ``cleanup_policy`` is the effective value after the plan. None if the records may not or can't
    be deleted; the draft has the reason. Those that an earlier plan deletes may be gone by now.
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
        earlier = context.earlier.records.get(topic.address, {}).get(partition) == offset
        if start is not None and offset <= start and not earlier:
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
