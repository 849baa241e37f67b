"""How topics are named."""

from collections.abc import Mapping

from kgitops.policy import BaseTopicPolicy, ClusterState, CreateTopicRequest, PolicyViolation


class TeamPrefix(BaseTopicPolicy):
    """A topic's name begins with the team that makes it.

    The team is the principal's name: ``User:payments`` makes ``payments.orders``. Topics that are
    there already keep their names.
    """

    remediation = "Put the team's name before the topic's, or have the team make it."

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the config ``separator``, which stands between the two."""
        self.separator = configs.get("separator", "-")

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a topic that is not named so."""
        prefix = f"{request.principal.name}{self.separator}"
        if not request.topic.startswith(prefix):
            raise PolicyViolation(f"{request.topic} does not begin with {prefix}")
