"""Policies about names of topics, who may touch which names, and labels of their documents."""

from kgitops.policies.topic_rule import TopicPolicy
from kgitops.policy import (
    AlterTopicRequest,
    ClusterState,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyViolation,
    Principal,
)
from kgitops.policy.api.requests import TopicRequest
from kgitops.policy.readers import names, pairs, regex
from kgitops.policy.settings import Setting, optional


class TopicNaming(TopicPolicy):
    """New topics are named by one pattern; those that are there keep their names."""

    remediation = "Give the topic another name."

    pattern = Setting(regex, "the regular expression that matches the whole name")
    example = optional(str, "a name that matches, for the message")

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a name that doesn't match."""
        name = request.name
        if self.judges(request) and not self.pattern.fullmatch(name):
            example = f", such as {self.example}" if self.example else ""
            raise PolicyViolation(
                f"{name} is no name for a topic; it must match {self.pattern.pattern}{example}"
            )


class RequiredLabels(TopicPolicy):
    """A topic's document says whose it is, by its labels.

    What is asked for without a document, by a command or another client, has no labels: except the
    principals who may.
    """

    remediation = "Write the label into metadata.labels of the topic's document."

    labels = Setting(names, "the labels that there must be, such as owner, team")

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a topic that nobody answers for."""
        self._check(request)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse a change of a topic that nobody answers for any more."""
        self._check(request)

    def _check(self, request: CreateTopicRequest | AlterTopicRequest) -> None:
        missing = [label for label in self.labels if not request.labels.get(label, "").strip()]
        if self.judges(request) and missing:
            raise PolicyViolation(
                f"{request.name} has no label {' and no label '.join(missing)}",
                field=f"metadata.labels.{missing[0]}",
            )


class NamingByPrincipal(TopicPolicy):
    """Everybody touches only the topics whose names begin with a prefix of theirs.

    It holds for creating, altering and deleting topics, and for deleting their records.
    """

    remediation = "Give the topic a name that begins with your prefix, or ask its owner."

    prefix = Setting(str, "the prefix of a principal whom prefixes doesn't name", "{principal}.")
    prefixes = optional(pairs, "PRINCIPAL=PREFIX, also several times, such as User:ci=sales.")

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse another's name."""
        self._check(request)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse another's name."""
        self._check(request)

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse another's name."""
        self._check(request)

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse another's name."""
        self._check(request)

    def _check(
        self,
        request: TopicRequest,
    ) -> None:
        if not self.judges(request):
            return
        owned = self._owned(request.principal)
        if not request.name.startswith(owned):
            raise PolicyViolation(
                f"{request.name} is not {request.principal}'s to touch: the name must begin with "
                f"{' or '.join(owned)}"
            )

    def _owned(self, principal: Principal) -> tuple[str, ...]:
        named = tuple(prefix for owner, prefix in self.prefixes or () if owner == str(principal))
        return named or (self.prefix.replace("{principal}", principal.name),)
