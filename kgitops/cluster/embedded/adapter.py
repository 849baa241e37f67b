"""The embedded cluster behind the port: logical requests in, controllers' decisions out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from kgitops.cluster.authors import Authors
from kgitops.cluster.embedded import (
    acl_control,
    config_control,
    partition_control,
    quota_control,
    reassignment_control,
    records_control,
    topic_control,
)
from kgitops.cluster.embedded.acl_filter import exactly
from kgitops.cluster.embedded.broker_control import fence_brokers
from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.image import TopicImage
from kgitops.cluster.embedded.options import Faults
from kgitops.cluster.embedded.records import BROKER, TOPIC
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.cluster.embedded.registry_log import EmbeddedRegistryLog
from kgitops.cluster.embedded.state import BACKEND, build_cluster_state, build_usage
from kgitops.cluster.embedded.waiting import TIMED_OUT
from kgitops.model.capabilities import Capabilities, Validation
from kgitops.model.clock import to_text
from kgitops.model.cluster_state import ClusterState, Usage
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.results import OK, ErrorCode, RequestResult

CAPABILITIES = Capabilities(
    backend=BACKEND,
    validation={
        "CreateTopic": Validation.BROKER,
        "AlterTopic": Validation.BROKER,
        "DeleteTopic": Validation.BROKER,
        "DeleteRecords": Validation.BROKER,
        "CreateAcl": Validation.NOT_SUPPORTED,
        "DeleteAcl": Validation.NOT_SUPPORTED,
        "AlterClientQuota": Validation.BROKER,
        "AlterBroker": Validation.BROKER,
    },
)


class EmbeddedCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` on one open store."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    @property
    def capabilities(self) -> Capabilities:
        """Everything, validated by the brokers wherever Kafka's APIs have such a flag."""
        return CAPABILITIES

    @property
    def registry(self) -> EmbeddedRegistryLog:
        """The registry in the same store."""
        return self.controller.registry

    @property
    def faults(self) -> Faults:
        """Delays and failures to simulate, for tests."""
        return self.controller.faults

    def read_state(self, topics: frozenset[str] | None = None) -> ClusterState:
        """The cluster now, the registry at the same moment."""
        with self.controller.moment() as image:
            return build_cluster_state(
                image,
                self.controller.options,
                cluster_id=self.controller.cluster_id,
                topics=topics,
                registry=self.registry.read_state(),
                captured_at=to_text(self.controller.surroundings.now()),
            )

    def read_usage(
        self,
        topics: frozenset[str],
        *,
        offsets_only: bool = False,  # noqa: ARG002 (all of it is at hand)
    ) -> Usage:
        """What these topics hold now."""
        with self.controller.moment() as image:
            return build_usage(image, topics)

    def read_authors(self) -> Authors:
        """Who last wrote each field: the metadata log knows."""
        return self.controller.authors()

    def execute(
        self, requests: Sequence[Request], *, validate_only: bool, principal: str
    ) -> Sequence[RequestResult]:
        """Decide the batch and append what was decided; one result each, in order."""

        def decide(draft: Draft) -> list[RequestResult]:
            held = not validate_only
            results = [attempt(_decide, draft, request) for request in requests]
            return [
                TIMED_OUT if held and result.ok and _is_held(draft, request) else result
                for request, result in zip(requests, results, strict=True)
            ]

        try:
            return self.controller.decide(decide, principal=principal, validate_only=validate_only)
        except ExcessivelyLargeBatchError:
            return [TOO_LARGE for _ in requests]

    def cancel_moves(self, moves: Mapping[str, Sequence[int]]) -> None:
        """Cancel reassignments; what has arrived meanwhile stays."""

        def decide(draft: Draft) -> Mapping[tuple[str, int], RequestResult]:
            cancelling = {(topic, item): None for topic in moves for item in moves[topic]}
            return reassignment_control.alter_partition_reassignments(draft, cancelling)

        for (topic, _), result in self.controller.decide(decide).items():
            if not result.ok and result.code is not ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                raise KgitopsError(
                    f"topic/{topic}: the broker would not cancel its reassignment: {result}"
                )

    def produce(self, topic: str, partition: int, records: int, bytes_each: int) -> None:
        """Simulate producers, for tests and demonstrations: a partition grows by ``records``."""
        self.controller.decide(
            lambda draft: records_control.produce(
                draft, topic, partition, records=records, bytes_each=bytes_each
            )
        )

    def fence(self, *brokers: int) -> None:
        """Simulate that exactly these brokers are dead, for tests."""
        self.controller.decide(lambda draft: fence_brokers(draft, frozenset(brokers)))

    def release(self) -> None:
        """Lift all simulated faults, and let what they held up be finished."""
        self.controller.faults = Faults()
        self.controller.decide(reassignment_control.finish_reassignments)
        self.controller.decide(topic_control.finish_deletions)

    def close(self) -> None:
        """Close the store."""
        self.controller.close()


def _is_held(draft: Draft, request: Request) -> bool:
    """Whether a simulated fault keeps the request from being finished in time (A4-42, A4-65)."""
    match request:
        case CreateTopicRequest():
            return request.topic in draft.faults.leaderless_topics
        case DeleteTopicRequest():
            return draft.delta.topics.by_id(request.topic_id) is not None
        case _:
            return False


def _decide(draft: Draft, request: Request) -> RequestResult | None:
    match request:
        case CreateTopicRequest():
            return _create_topic(draft, request)
        case AlterTopicRequest():
            return _alter_topic(draft, request, _known(draft, request.topic_id))
        case DeleteTopicRequest():
            return topic_control.delete_topic_ids(draft, [request.topic_id])[request.topic_id]
        case DeleteRecordsRequest():
            return _delete_records(draft, request, _known(draft, request.topic_id))
        case CreateAclRequest():
            return acl_control.create_acls(draft, [request.binding])[0]
        case DeleteAclRequest():
            return acl_control.delete_acls(draft, [exactly(request.binding)])[0].result
        case AlterClientQuotaRequest():
            alteration = quota_control.QuotaAlteration(
                entity=request.entity, operations=tuple(request.quotas.items())
            )
            return attempt(quota_control.alter, draft, alteration)
        case AlterBrokerRequest():
            resource = config_control.ConfigResource(type=BROKER, name=str(request.broker))
            return attempt(config_control.alter, draft, resource, _operations(request.configs))
        case _:
            assert_never(request)


def _known(draft: Draft, topic_id: str) -> TopicImage:
    topic = draft.delta.topics.by_id(topic_id)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return topic


def _create_topic(draft: Draft, request: CreateTopicRequest) -> RequestResult:
    # Also where kgitops placed the replicas it is this placement that was reviewed (P201-34).
    state = request.requested_state
    topic = topic_control.NewTopic(
        name=request.topic, assignments=tuple(enumerate(state.assignment)), configs=state.configs
    )
    return topic_control.create_topics(draft, [topic])[request.topic]


def _alter_topic(
    draft: Draft, request: AlterTopicRequest, topic: TopicImage
) -> RequestResult | None:
    state = request.requested_state
    match request.step:
        case AlterStep.CONFIGS:
            resource = config_control.ConfigResource(type=TOPIC, name=topic.name)
            operations = _operations(state.requested_configs)
            return attempt(config_control.alter, draft, resource, operations)
        case AlterStep.PARTITIONS:
            item = partition_control.NewPartitions(
                topic=topic.name,
                count=len(state.assignment),
                assignments=state.assignment[len(topic.assignment) :],
            )
            return attempt(partition_control.create, draft, item)
        case AlterStep.REPLICAS:
            return _reassign(draft, request, topic)
        case _:
            assert_never(request.step)


def _operations(requested: Mapping[str, str | None]) -> list[config_control.AlterConfig]:
    ops = config_control.ConfigOp
    return [
        config_control.AlterConfig(
            key=key, value=value, op=ops.DELETE if value is None else ops.SET
        )
        for key, value in requested.items()
    ]


def _reassign(draft: Draft, request: AlterTopicRequest, topic: TopicImage) -> RequestResult:
    wanted = request.requested_state.assignment
    changed = {
        (topic.name, partition): replicas
        for partition, replicas in enumerate(wanted)
        if topic.target_assignment[partition : partition + 1] != (replicas,)
    }
    rows = reassignment_control.alter_partition_reassignments(draft, changed)
    return _first_failure(rows.values())


def _delete_records(
    draft: Draft, request: DeleteRecordsRequest, topic: TopicImage
) -> RequestResult:
    offsets = {
        (topic.name, partition): offset
        for partition, offset in request.deleted_message_offsets.items()
    }
    rows = records_control.delete_records(draft, offsets)
    return _first_failure(row.result for row in rows.values())


def _first_failure(results: Iterable[RequestResult]) -> RequestResult:
    """Kafka answers for each partition; a logical request is done when all of them are."""
    return next((result for result in results if not result.ok), OK)
