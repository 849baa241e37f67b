"""Builds the requests that change a topic, in the order that Kafka needs."""

from collections.abc import Mapping, Sequence

from kgitops.kinds.topics.replicas import TargetReplicas
from kgitops.kinds.topics.throttles import TopicThrottle
from kgitops.model import requests as req
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.values import overlaid
from kgitops.plan.draft import ChainedRequest

_MIN_ISR = "min.insync.replicas"
_NOTHING: Mapping[str, str | None] = {}


def delete_request(state: TopicState, local: LocalName | None) -> req.DeleteTopicRequest:
    """Return a DeleteTopic that is bound to the id of the current topic."""
    return req.DeleteTopicRequest(topic=state.name, topic_id=state.topic_id or "", local=local)


def alter_steps(
    current: TopicState,
    *,
    configs: Mapping[str, str | None],
    replicas: TargetReplicas,
    throttle: TopicThrottle,
    waits: bool,
    generated: bool,
    delete_records: Mapping[int, int],
    local: LocalName | None,
    relink: req.Request | None,
) -> Sequence[ChainedRequest]:
    """Return one request for each step that Kafka executes separately, based on the previous one.

    The order is: configs that must come first, partitions, replicas, remaining configs (contract
    §6), and records last. ``generated``: kgitops placed the replicas. With ``waits`` the plan waits
    for a running reassignment, by requesting the same again. ``relink`` restores the link of a
    topic of a virtual cluster, before anything else.
    """
    builder = _Builder(current, local)
    if relink is not None:
        builder.items.append(ChainedRequest(relink))
    first, remaining = _split_configs(current, configs, replicas.final)
    builder.configs(first)
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
                    local=local,
                )
            )
        )
    return builder.items


class _Builder:
    """Collects requests, each for the state that follows from the previous one."""

    def __init__(self, current: TopicState, local: LocalName | None) -> None:
        self.items: list[ChainedRequest] = []
        self._local = local
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
            local=self._local,
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
