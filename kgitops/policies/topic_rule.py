"""The bases of the pack's policies on topics, and helpers for their ranges."""

import math
from abc import abstractmethod
from collections.abc import Callable

from msgspec.structs import replace

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


def require_order(
    least: float | None, most: float | None, *, names: tuple[str, str] = ("min", "max")
) -> None:
    """Refuse an empty range.

    Raises:
        ValueError: the least is more than the most.
    """
    if least is not None and most is not None and least > most:
        raise ValueError(f"{names[0]} is more than {names[1]}, so that nothing would be allowed")


def require_range(least: float | None, most: float | None, example: str) -> None:
    """Refuse a range without ends, or an empty one.

    Raises:
        ValueError: both are missing, or the least is more than the most.
    """
    if least is None and most is None:
        raise ValueError(f"min and max are missing (write one of them, such as {example})")
    require_order(least, most)


def wanted(
    value: float, least: int | None, most: int | None, text: Callable[[int], str] = str
) -> str | None:
    """The limit that a value breaks: ``at least 3``, ``at most 48``; None within the range."""
    if least is not None and value < least:
        return f"at least {text(least)}"
    if most is not None and value > most:
        return f"at most {text(most)}"
    return None


def number_of(topic: TopicState, key: str, cluster_state: ClusterState) -> int:
    """The value that holds for a number among the topic's configs."""
    value = cluster_state.effective_config(topic, key)
    if value is None:
        raise ValueError(f"{key} has neither a value nor a default")
    return int(value)


def limit(topic: TopicState, key: str, cluster_state: ClusterState) -> float:
    """The value that holds for a limit of the topic's log; -1 means unlimited, so infinite."""
    value = number_of(topic, key, cluster_state)
    return math.inf if value == -1 else value


def shown(value: float, text: Callable[[int], str]) -> str:
    """A limit as people write it."""
    return "unlimited" if math.isinf(value) else text(int(value))


def partitions_text(count: int) -> str:
    """``1 partition``, ``2 partitions``."""
    return "1 partition" if count == 1 else f"{count} partitions"


def deletes(topic: TopicState, cluster_state: ClusterState) -> bool:
    """Return whether the topic's old records are deleted: only then its retention has an effect."""
    return "delete" in (cluster_state.effective_config(topic, "cleanup.policy") or "")


class TopicPolicy(Configured, BaseTopicPolicy):
    """A policy on topics and principals that the configs select; never on internal topics."""

    topics = Setting(patterns, "patterns of the topics that it judges", "*")
    except_principals = optional(principals, "patterns of principals whom it never refuses")

    def judges(self, request: TopicRequest) -> bool:
        """True if the policy is for this request; patterns match the name in a virtual cluster."""
        return (
            request.name in self.topics
            and not is_internal(request.topic)
            and not (self.except_principals and str(request.principal) in self.except_principals)
        )


class TopicRule(TopicPolicy):
    """A condition that a topic must meet when it is created, and after every change.

    An alteration is refused if it breaks the rule, or changes the violation without ending it. A
    violation that stays as it was is not a reason to refuse: a topic that breaks two rules could
    never be corrected, one step after the other.
    """

    @abstractmethod
    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Refuse the topic by raising PolicyViolation; its message names the violation."""

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
    """The topic by the name that its users know, for messages."""
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
