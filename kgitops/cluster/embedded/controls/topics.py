"""Decides CreateTopics (spec §3.4)."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.broker_messages import name_refusal
from kgitops.cluster.embedded.controls.assignments import (
    ManualAssignment,
    check_assignment,
    place_replicas,
)
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.checks import check_topic_configs
from kgitops.cluster.embedded.image.records import TopicRecord
from kgitops.cluster.embedded.image.state import create_topic_request
from kgitops.cluster.embedded.options import uuid_text
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.cluster.embedded.rights import check_right, check_virtual_clusters_enabled
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.virtual_clusters import (
    MAX_LOCAL_NAME,
    LocalName,
    generated_topic_name,
    placeholder_topic_name,
)
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.links import check_link_free
from kgitops.virtual_clusters.records import VirtualClusterTopicLinkRecord
from kgitops.virtual_clusters.refusals import VirtualClusterRefusal

UNSET = -1
MAX_PARTITIONS = 10_000
"""In one CreateTopics request; KRaft counts them before it counts records (A4-03)."""
_TOO_MANY_PARTITIONS = RequestResult(
    code=ErrorCode.POLICY_VIOLATION, message="Excessively large number of partitions per request."
)
_METADATA_TOPIC = "__cluster_metadata"
_log = logging.getLogger(__name__)


class NewTopic(Struct, frozen=True, kw_only=True):
    """A topic to create: with an assignment, or with the two counts.

    ``generated``: the given assignment was made by kgitops, not by the user (P201-34).
    ``virtual_cluster``: ``name`` is a local name, and the topic gets a generated one (VC-056).
    """

    name: str
    num_partitions: int = UNSET
    replication_factor: int = UNSET
    assignments: ManualAssignment = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)
    generated: bool = False
    virtual_cluster: str | None = None


def create_topics(draft: Draft, topics: Sequence[NewTopic]) -> dict[str, RequestResult]:
    """One result for each name; policies see topics created earlier in the batch (P201-41)."""
    times = Counter(topic.name for topic in topics)
    if not draft.options.seed and sum(map(_partitions, topics)) > MAX_PARTITIONS:
        return dict.fromkeys(times, _TOO_MANY_PARTITIONS)
    results: dict[str, RequestResult] = {}
    for topic in topics:
        if times[topic.name] == 1:
            results[topic.name] = attempt(_create, draft, topic)
        elif topic.name not in results:
            _log.info("topic %r is in one CreateTopics request more than once", topic.name)
            results[topic.name] = duplicate("Duplicate topic name.")
    return results


# The checks are in KRaft's order, so that a request that breaks two rules gets the same error
# (A4-48).
def _create(draft: Draft, topic: NewTopic) -> RequestResult:
    # KRaft refuses uncreatable topics before it checks the right to create.
    if draft.options.seed:
        _check_may_create(draft, topic)
    registry = topic.name == REGISTRY_TOPIC and not draft.options.registry_topic
    if topic.name == _METADATA_TOPIC or registry:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Creation of internal topic {topic.name} is prohibited.",
        )
    if not draft.options.seed:
        _check_may_create(draft, topic)
    if topic.virtual_cluster is None:
        _check_name(draft, topic.name)
    else:
        _check_local_name(draft, topic.virtual_cluster, topic.name)
    configs = {key: value for key, value in topic.configs.items() if value is not None}
    if len(configs) < len(topic.configs):
        nulls = sorted(topic.configs.keys() - configs.keys())
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {', '.join(nulls)}",
        )
    check_topic_configs(draft, configs, before={})
    assignment = _assignment(draft, topic)
    generated = topic.generated or not topic.assignments
    if topic.virtual_cluster is not None:
        return _create_in(draft, topic, topic.virtual_cluster, assignment, configs, generated)
    request = create_topic_request(
        topic.name, assignment=assignment, configs=configs, generated=generated
    )
    draft.judge(request)
    topic_id = draft.new_id()
    draft.write(
        TopicRecord(name=topic.name, topic_id=topic_id, assignment=assignment, configs=configs)
    )
    made = replace(request.requested_state, topic_id=topic_id)
    draft.accept(replace(request, requested_state=made))
    return RequestResult(topic_id=topic_id)


def _create_in(
    draft: Draft,
    topic: NewTopic,
    virtual_cluster: str,
    assignment: Assignment,
    configs: Mapping[str, str],
    generated: bool,
) -> RequestResult:
    """Create topic and link together (VC-321); the topic's id is in its name (VC-059)."""
    local = LocalName(virtual_cluster, topic.name)
    planned = create_topic_request(
        generated_topic_name(NEW_UUID, topic.name),
        assignment=assignment,
        configs=configs,
        generated=generated,
        local=local,
    )
    draft.judge(planned)
    if draft.validate_only:
        # No id is generated for a dry run (VC-064); later items of the batch still see the topic.
        name, topic_id = placeholder_topic_name(local), f"{NEW_UUID} {local}"
    else:
        minted = draft.new_uuid()
        name, topic_id = generated_topic_name(str(minted), topic.name), uuid_text(minted)
    draft.write(
        TopicRecord(name=name, topic_id=topic_id, assignment=assignment, configs=configs),
        VirtualClusterTopicLinkRecord(
            virtual_cluster=virtual_cluster, link_name=topic.name, topic=name, topic_id=topic_id
        ),
    )
    made = replace(planned.requested_state, name=name, topic_id=topic_id)
    draft.accept(replace(planned, topic=name, requested_state=made))
    return RequestResult(topic_id=None if draft.validate_only else topic_id)


def _partitions(topic: NewTopic) -> int:
    return len(topic.assignments) or max(topic.num_partitions, 0)


def _check_may_create(draft: Draft, topic: NewTopic) -> None:
    name = topic.name
    if topic.virtual_cluster is not None:
        check_virtual_clusters_enabled(draft)
        check_right(draft, Operation.CREATE, topic.virtual_cluster)  # VC-062
        return
    if draft.authorizer.allows_cluster(Operation.CREATE):
        return
    if draft.options.seed:
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    if not draft.authorizer.allows_topic(Operation.CREATE, name):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")


def _check_name(draft: Draft, name: str) -> None:
    refusal = name_refusal(name)
    if refusal:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, refusal)
    other = draft.delta.topics.colliding(name)
    if other is not None:
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other}",
        )
    # A topic whose deletion is not finished still exists (A4-69c).
    if draft.delta.topics.get(name) is not None:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def _check_local_name(draft: Draft, virtual_cluster: str, name: str) -> None:
    refusal = name_refusal(name)
    if refusal:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, refusal)
    if len(name) > MAX_LOCAL_NAME:
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: '{name}' has {len(name)} characters, {MAX_LOCAL_NAME} are "
            "allowed in a virtual cluster",
        )
    try:
        check_link_free(draft.delta.virtual_clusters, LocalName(virtual_cluster, name))
    except VirtualClusterRefusal as refused:
        raise Refusal(refused.code, str(refused)) from None


def _assignment(draft: Draft, topic: NewTopic) -> Assignment:
    partitions, replication_factor = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        if replication_factor != UNSET:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but replication factor was not set "
                "to -1.",
            )
        if partitions != UNSET:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        return check_assignment(draft, topic.assignments)
    if UNSET in (partitions, replication_factor) and draft.options.seed:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "Either an assignment or both the number of partitions and the replication factor "
            "must be given.",
        )
    defaults = draft.options.static_configs
    if replication_factor == UNSET:
        replication_factor = int(defaults.get("default.replication.factor", "1"))
    if partitions == UNSET:
        partitions = int(defaults.get("num.partitions", "1"))
    if replication_factor < 1:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions < 1:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    return place_replicas(
        draft, topic.name, partitions=partitions, replication_factor=replication_factor
    )
