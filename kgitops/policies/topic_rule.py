"""What the pack's policies on topics have in common: whom they judge, and creation like change."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace

from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topics import TopicState
from kgitops.policy import (
    AlterTopicRequest,
    BaseTopicPolicy,
    ClusterState,
    CreateTopicRequest,
    PolicyViolation,
)
from kgitops.policy.api.requests import TopicRequest
from kgitops.policy.readers import patterns, principals
from kgitops.policy.settings import Configured, Setting, optional


class TopicPolicy(Configured, BaseTopicPolicy):
    """A policy on topics and principals that the configs select; never on internal topics."""

    topics = Setting(patterns, "patterns of the topics that it judges", "*")
    except_principals = optional(principals, "patterns of principals whom it never refuses")

    def judges(self, request: TopicRequest) -> bool:
        """Whether it is this policy's business; patterns match the name in a virtual cluster."""
        return (
            request.name in self.topics
            and not is_internal(request.topic)
            and not (self.except_principals and str(request.principal) in self.except_principals)
        )


class TopicRule(TopicPolicy):
    """What must be true of a topic when it is created, and stay true whatever is changed.

    An alteration is refused for what it breaks, and for what it touches without mending it. What
    was wrong before and stays as it was is no reason to refuse it: else nobody could mend a topic
    that breaks two rules, one step after the other.
    """

    @abstractmethod
    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Refuse the topic by raising PolicyViolation; its words say what is wrong and how much."""

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Check the new topic."""
        if self.judges(request):
            self.check(called(request.requested_state, request), cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Check the topic as it would be."""
        if self.judges(request):
            check_change(
                lambda topic: self.check(called(topic, request), cluster_state),
                cluster_state.topic_state(request.topic),
                request.requested_state,
            )


def called(topic: TopicState, request: TopicRequest) -> TopicState:
    """The topic by the name that its users know, which messages name."""
    return topic if request.local is None else replace(topic, name=request.name)


def check_change(
    check: Callable[[TopicState], None], before: TopicState | None, after: TopicState
) -> None:
    """Refuse the change to ``after`` unless ``check`` says the very same of ``before``."""
    try:
        check(after)
    except PolicyViolation as violation:
        if before is None or _words(check, before) != violation.message:
            raise


def _words(check: Callable[[TopicState], None], topic: TopicState) -> str | None:
    try:
        check(topic)
    except PolicyViolation as violation:
        return violation.message
    return None
