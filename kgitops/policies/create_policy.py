"""A policy that holds a rule on creation against later changes, too."""

from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.policies.topic_rule import check_change
from kgitops.policy import (
    AlterTopicRequest,
    ClusterState,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    TopicManagementPolicy,
)
from kgitops.policy.importing import import_from
from kgitops.policy.settings import Configured, Setting


def topic_policy(text: str) -> type[TopicManagementPolicy]:
    """The class of a topic policy, by ``module:Class``."""
    module, colon, name = text.partition(":")
    if not (module and colon):
        raise ValueError(f"{text!r} names no class (write module:Class)")
    try:
        class_ = getattr(import_from(None, module), name, None)
    except ImportError as error:
        raise ValueError(f"{text!r} can't be loaded: {error}") from None
    if not (isinstance(class_, type) and issubclass(class_, TopicManagementPolicy)):
        raise ValueError(f"{text!r} is not a topic policy (name one that judges topics)")  # noqa: TRY004
    return class_


class NeverLeaveCreatePolicy(Configured, TopicManagementPolicy):
    """A topic stays as another policy demands of new topics, whatever is changed later.

    The other policy may judge creation only, as those that were written for KIP-108 do. All
    configs but ``policy`` are its own.
    """

    remediation = "Change the topic only into what could be created."

    policy = Setting(topic_policy, "the other policy, as module:Class")

    def unknown(self, key: str) -> str | None:
        """Leave the other configs to the other policy."""
        return None

    def settle(self) -> None:
        """Make the other policy and configure it."""
        self._other = self.policy()
        self._other.configure({key: text for key, text in self.configs.items() if key != "policy"})

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the other policy."""
        self._other.validate_create_topic(request, cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Ask the other policy about a creation of the topic as it is to be."""
        after = request.requested_state
        before = cluster_state.topic_state(request.topic)
        moved = before is None or before.assignment != after.assignment
        by_hand = moved and not after.generated_replica_assignments

        def check(topic: TopicState) -> None:
            created = CreateTopicRequest(
                topic=request.topic,
                principal=request.principal,
                local=request.local,
                labels=request.labels,
                requested_state=_created(topic, generated=topic is before or not by_hand),
            )
            self._other.validate_create_topic(created, cluster_state)

        check_change(check, before, after)

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the other policy."""
        self._other.validate_delete_topic(request, cluster_state)

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the other policy."""
        self._other.validate_delete_records(request, cluster_state)

    def close(self) -> None:
        """Close the other policy."""
        self._other.close()


def _created(topic: TopicState, *, generated: bool) -> RequestedTopicState:
    """The topic as a request to create it would ask for it."""
    return RequestedTopicState(
        name=topic.name,
        topic_id=None,
        assignment=topic.assignment,
        configs=topic.configs,
        requested_configs=topic.configs,
        generated_replica_assignments=generated,
    )
