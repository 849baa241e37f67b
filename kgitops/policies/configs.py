"""Configs of topics that not everybody, or nobody, may change."""

from kgitops.policies.topic_rule import TopicPolicy
from kgitops.policy import AlterTopicRequest, ClusterState, PolicyViolation
from kgitops.policy.readers import patterns
from kgitops.policy.settings import Setting


class FrozenConfigs(TopicPolicy):
    """Only administrators change, set or remove certain configs of a topic that is there."""

    remediation = "Leave the config as it is, or ask an administrator."

    keys = Setting(patterns, "patterns of the configs, such as retention.*")

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse a request that names one of the configs, also one that removes it."""
        if not self.judges(request):
            return
        for key in sorted(request.requested_state.requested_configs):
            if key in self.keys:
                who = self.except_principals or "nobody"
                raise PolicyViolation(
                    f"{key} of {request.name} may be changed by {who}, not by {request.principal}",
                    field=f"configs.{key}",
                )


class ImmutableConfigs(TopicPolicy):
    """Certain configs of a topic stay as they were when it was created."""

    remediation = "Leave the config as it is, or create another topic."

    keys = Setting(patterns, "patterns of the configs", "cleanup.policy")

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse another value than the one that holds; to write that one out is no change."""
        before = cluster_state.topic_state(request.topic)
        if before is None or not self.judges(request):
            return
        for key in sorted(request.requested_state.requested_configs):
            held = cluster_state.effective_config(before, key)
            wanted = cluster_state.effective_config(request.requested_state, key)
            if key in self.keys and wanted != held:
                raise PolicyViolation(
                    f"{key} of {request.name} is {held} and must stay so; {wanted} is asked for",
                    field=f"configs.{key}",
                )
