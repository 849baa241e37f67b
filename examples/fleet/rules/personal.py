"""How long personal data is kept."""

from collections.abc import Mapping

from kgitops.policy import (
    AlterTopicRequest,
    BaseTopicPolicy,
    ClusterState,
    CreateTopicRequest,
    PolicyViolation,
)

_DAY_MS = 24 * 60 * 60 * 1000


class PersonalData(BaseTopicPolicy):
    """Topics ``personal.*`` say how long they keep records: so many days at most, or fewer."""

    remediation = "Set retention.ms to what the law allows."

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the config ``days``."""
        self.days = int(configs["days"])

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a topic that keeps it longer."""
        self._check(request)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse a change after which it is kept longer."""
        self._check(request)

    def _check(self, request: CreateTopicRequest | AlterTopicRequest) -> None:
        if not request.topic.startswith("personal."):
            return
        kept = int(request.requested_state.configs.get("retention.ms", "-1"))
        if not 0 < kept <= self.days * _DAY_MS:
            raise PolicyViolation(f"{request.topic} may keep records longer than {self.days} days")
