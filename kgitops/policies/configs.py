"""Configs of topics that may not change, and bounds of brokers' configs."""

import math

from kgitops.policies.topic_rule import TopicPolicy, require_order
from kgitops.policy import (
    AlterBrokerRequest,
    AlterTopicRequest,
    BrokerManagementPolicy,
    ClusterState,
    PolicyViolation,
)
from kgitops.policy.readers import number, patterns
from kgitops.policy.settings import Configured, Setting
from kgitops.policy.units import byte_size, duration_ms


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
        """Refuse another value than the effective one, which may be written out."""
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


_SIDES = {"min": "least", "max": "most"}


class BrokerConfigBounds(Configured, BrokerManagementPolicy):
    """Brokers start, and are altered, only with configs inside their bounds.

    Its configs are ``min.KEY`` and ``max.KEY`` for any config of a broker, such as
    ``max.log.retention.ms: 30d``. A config that isn't set is not judged.
    """

    remediation = "Set the broker's config within the bounds."

    def unknown(self, key: str) -> str | None:
        """Any config that begins with min. or max. is known."""
        side, _, of = key.partition(".")
        if side in _SIDES and of:
            return None
        return f"{key} is not a config of {type(self).__name__} (write min.KEY or max.KEY)"

    def settle(self) -> None:
        """Read the bounds."""
        self._bounds = {key: _bound(key, text) for key, text in self.configs.items()}
        if not self._bounds:
            raise ValueError("there is no bound (write one, such as max.log.retention.ms: 30d)")
        for key in {key.partition(".")[2] for key in self._bounds}:
            least, most = f"min.{key}", f"max.{key}"
            require_order(self._bounds.get(least), self._bounds.get(most), names=(least, most))

    def validate_alter_broker(
        self, request: AlterBrokerRequest, cluster_state: ClusterState
    ) -> None:
        """Look at what the request sets; when a broker starts, that is all it has."""
        state = request.requested_state
        for bound_key, bound in sorted(self._bounds.items()):
            side, _, key = bound_key.partition(".")
            text = state.configs.get(key)
            if key not in state.requested_configs or text is None:
                continue
            value = _value(key, text)
            if (side == "min" and value < bound) or (side == "max" and value > bound):
                raise PolicyViolation(
                    f"{key} of broker {request.broker_id} is {text}; at {_SIDES[side]} "
                    f"{self.configs[bound_key]} is allowed",
                    field=f"configs.{key}",
                )


def _bound(key: str, text: str) -> float:
    read = duration_ms if key.endswith(".ms") else byte_size if _is_size(key) else number
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _value(key: str, text: str) -> float:
    value = float(text)
    # Kafka's way to say that a time or a size has no limit.
    return math.inf if value == -1 and (key.endswith(".ms") or _is_size(key)) else value


def _is_size(key: str) -> bool:
    return key.endswith((".bytes", ".rate"))
