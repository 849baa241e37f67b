"""The requests that take a topic from one state to another, in the order Kafka needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgitops.model.requests import (
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan.normal_form import assignment_text
from kgitops.plan.plan import PlannedRequest, Precondition
from kgitops.plan.throttles import TopicThrottle
from kgitops.plan.topic_replicas import Replicas

_MIN_ISR = "min.insync.replicas"
_NOTHING: Mapping[str, str | None] = {}


def create_steps(
    state: RequestedTopicState, expects: Precondition, local: LocalName | None
) -> tuple[PlannedRequest, ...]:
    """One CreateTopic."""
    request = CreateTopicRequest(topic=state.name, requested_state=state, local=local)
    return chain([request], expects)


def delete_steps(
    state: TopicState, expects: Precondition, local: LocalName | None
) -> tuple[PlannedRequest, ...]:
    """One DeleteTopic, bound to the topic id that the plan saw."""
    request = DeleteTopicRequest(topic=state.name, topic_id=state.topic_id or "", local=local)
    return chain([request], expects)


def chain(requests: Sequence[Request], expects: Precondition) -> tuple[PlannedRequest, ...]:
    """Requests about one object, each after the one before."""
    return _chain([_Item(request) for request in requests], expects)


def alter_steps(
    current: TopicState,
    *,
    configs: Mapping[str, str | None],
    replicas: Replicas,
    throttle: TopicThrottle,
    waits: bool,
    generated: bool,
    delete_records: Mapping[int, int],
    expects: Precondition,
    local: LocalName | None,
    relink: Request | None,
) -> tuple[PlannedRequest, ...]:
    """One request per step that Kafka executes separately, each building on the one before.

    Configs that must come first, partitions, replicas, remaining configs (contract §6), and
    records last. ``generated`` says that replicas were placed for the user. ``waits`` for a
    reassignment that runs already, by asking for the same once more. ``relink`` gives a topic of a
    virtual cluster its link back, before anything else.
    """
    builder = _Builder(current, local)
    if relink is not None:
        builder.items.append(_Item(relink))
    first, remaining = _split_configs(current, configs, replicas.final)
    builder.configs(first)
    builder.partitions(replicas.grown, generated=generated)
    set_at = builder.configs(throttle.marks)
    builder.replicas(replicas.final, generated=generated, waits=waits)
    builder.configs(throttle.restored, undoes=set_at)
    builder.configs(remaining)
    if delete_records:
        builder.items.append(
            _Item(
                DeleteRecordsRequest(
                    topic=current.name,
                    topic_id=current.topic_id or "",
                    deleted_message_offsets=dict(delete_records),
                    local=local,
                )
            )
        )
    return _chain(builder.items, expects)


@dataclass(frozen=True, slots=True)
class _Item:
    """A request, and the place of the one that it takes back."""

    request: Request
    undoes: int | None = None


class _Builder:
    """Gathers requests while the requested state moves on."""

    def __init__(self, current: TopicState, local: LocalName | None) -> None:
        self.items: list[_Item] = []
        self._local = local
        self._current = current
        self._assignment = current.assignment
        self._configs = current.configs

    def configs(self, requested: Mapping[str, str | None], *, undoes: int | None = None) -> int:
        """The place of the request, if there is one."""
        if requested:
            merged = {**self._configs, **requested}
            kept = {key: merged[key] for key in sorted(merged)}
            self._configs = {key: value for key, value in kept.items() if value is not None}
            self._step(AlterStep.CONFIGS, asked=dict(sorted(requested.items())), undoes=undoes)
        return len(self.items) - 1

    def partitions(self, grown: Assignment, *, generated: bool) -> None:
        if len(grown) > len(self._assignment):
            self._assignment = grown
            self._step(AlterStep.PARTITIONS, generated=generated)

    def replicas(self, wanted: Assignment, *, generated: bool, waits: bool) -> None:
        if waits or wanted != self._assignment:
            self._assignment = wanted
            self._step(AlterStep.REPLICAS, generated=generated)

    def _step(
        self,
        step: AlterStep,
        *,
        asked: Mapping[str, str | None] = _NOTHING,
        generated: bool = False,
        undoes: int | None = None,
    ) -> None:
        request = AlterTopicRequest(
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
            local=self._local,
        )
        self.items.append(_Item(request, undoes))


def _split_configs(
    current: TopicState, requested: Mapping[str, str | None], assignment: Assignment
) -> tuple[Mapping[str, str | None], Mapping[str, str | None]]:
    # With fewer replicas than min.insync.replicas no producer with acks=all gets through, so a
    # value that goes down with the replication factor goes first; one that goes up goes last.
    if _MIN_ISR not in requested or len(assignment[0]) >= current.replication_factor:
        return _NOTHING, requested
    first = {_MIN_ISR: requested[_MIN_ISR]}
    return first, {key: value for key, value in requested.items() if key not in first}


def _chain(items: list[_Item], expects: Precondition) -> tuple[PlannedRequest, ...]:
    """Each request depends on the one before and expects what that one leaves behind.

    What takes another back looks at that one's fields alone, and nobody looks at them after it:
    whoever changed them meanwhile may keep them.
    """
    planned: list[PlannedRequest] = []
    for number, item in enumerate(items, start=1):
        mine = expects
        if item.undoes is not None:
            written = _after(items[item.undoes].request, replace(expects, fields={})).fields
            mine = replace(expects, fields=written)
            rest = {path: text for path, text in expects.fields.items() if path not in written}
            expects = replace(expects, fields=rest)
        elif number < len(items):
            expects = _after(item.request, expects)
        planned.append(
            PlannedRequest(
                id=f"{expects.object}#{number}",
                request=item.request,
                depends_on=(planned[-1].id,) if planned else (),
                undoes=None if item.undoes is None else planned[item.undoes].id,
                expects=mine,
            )
        )
    return tuple(planned)


def _after(request: Request, expects: Precondition) -> Precondition:
    if (
        isinstance(request, AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
    ):
        return replace(expects, exists=True, fields={"adopts": request.adopts})
    if not isinstance(request, AlterTopicRequest):
        return expects
    state = request.requested_state
    fields = dict(expects.fields)
    match request.step:
        case AlterStep.CONFIGS:
            fields |= {f"configs.{key}": value for key, value in state.requested_configs.items()}
        case AlterStep.PARTITIONS | AlterStep.REPLICAS:
            now = {
                "partitions": str(state.num_partitions),
                "assignments": assignment_text(state.assignment),
            }
            fields |= {path: text for path, text in now.items() if path in fields}
    return replace(expects, fields=fields)
