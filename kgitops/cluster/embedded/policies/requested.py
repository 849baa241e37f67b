"""What brokers' requests are to policies: logical requests, with the topic as it would become."""

from collections.abc import Mapping

from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.model.requests import AlterStep, AlterTopicRequest, CreateTopicRequest
from kgitops.model.resources.topics import Assignment, RequestedTopicState
from kgitops.model.resources.virtual_clusters import LocalName


def creation(
    name: str,
    *,
    assignment: Assignment,
    configs: Mapping[str, str],
    generated: bool,
    local: LocalName | None = None,
) -> CreateTopicRequest:
    """A new topic; ``generated``: its replicas were placed for who asks (P201-23)."""
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=assignment,
        configs=configs,
        requested_configs=configs,
        generated_replica_assignments=generated,
    )
    return CreateTopicRequest(topic=name, requested_state=state, local=local)


def alteration(
    topic: TopicImage,
    step: AlterStep,
    *,
    assignment: Assignment | None = None,
    configs: Mapping[str, str] | None = None,
    requested_configs: Mapping[str, str | None] | None = None,
    generated: bool = False,
) -> AlterTopicRequest:
    """The whole topic afterwards; what is not given stays as it is (P201-31)."""
    state = RequestedTopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=topic.target_assignment if assignment is None else assignment,
        configs=topic.configs if configs is None else configs,
        marked_for_deletion=topic.marked_for_deletion,
        requested_configs=requested_configs or {},
        generated_replica_assignments=generated,
    )
    return AlterTopicRequest(
        topic=topic.name, topic_id=topic.topic_id, step=step, requested_state=state
    )
