"""A policy in Python as a rule: each request goes to the method of its interface."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.interfaces import (
    AclManagementPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ConfigResourceManagementPolicy,
    Configurable,
    ConsumerGroupManagementPolicy,
    PolicyViolation,
    RuleViolation,
    TopicManagementPolicy,
    UserManagementPolicy,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.api.requests import PolicyRequest
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.policy_input import PolicyInput

Validate = Callable[[Any, ClusterState], None]

# The api to the interface and its method; one class may implement several interfaces.
METHODS: Mapping[str, tuple[type[Configurable], str]] = {
    "CreateTopic": (TopicManagementPolicy, "validate_create_topic"),
    "AlterTopic": (TopicManagementPolicy, "validate_alter_topic"),
    "DeleteTopic": (TopicManagementPolicy, "validate_delete_topic"),
    "DeleteRecords": (TopicManagementPolicy, "validate_delete_records"),
    "AlterBroker": (BrokerManagementPolicy, "validate_alter_broker"),
    "CreateAcl": (AclManagementPolicy, "validate_create_acl"),
    "DeleteAcl": (AclManagementPolicy, "validate_delete_acl"),
    "AlterClientQuota": (ClientQuotaManagementPolicy, "validate_alter_client_quota"),
    "AlterUserScramCredentials": (
        UserManagementPolicy,
        "validate_alter_user_scram_credentials",
    ),
    "AlterConfigResource": (ConfigResourceManagementPolicy, "validate_alter_config_resource"),
    "AlterConsumerGroupOffsets": (
        ConsumerGroupManagementPolicy,
        "validate_alter_consumer_group_offsets",
    ),
    "DeleteConsumerGroup": (ConsumerGroupManagementPolicy, "validate_delete_consumer_group"),
    "CreateVirtualCluster": (VirtualClusterManagementPolicy, "validate_create_virtual_cluster"),
    "AlterVirtualCluster": (VirtualClusterManagementPolicy, "validate_alter_virtual_cluster"),
    "DeleteVirtualCluster": (VirtualClusterManagementPolicy, "validate_delete_virtual_cluster"),
    "CreateTopicLink": (VirtualClusterManagementPolicy, "validate_create_topic_link"),
    "DeleteTopicLink": (VirtualClusterManagementPolicy, "validate_delete_topic_link"),
}


class PythonRule:
    """One configured policy object and the methods that judge."""

    def __init__(self, name: str, level: Level, policy: Configurable) -> None:
        self.name = name
        self.level = level
        self._policy = policy
        self._methods: dict[str, Validate] = {
            api: getattr(policy, method)
            for api, (interface, method) in METHODS.items()
            if isinstance(policy, interface)
        }

    def judges(self, policy_input: PolicyInput) -> bool:
        """Return whether the class implements the interface for such requests."""
        return policy_input.api in self._methods

    def check(self, policy_input: PolicyInput, cluster: ClusterState) -> Sequence[RuleViolation]:
        """Find the violations by the policy's method; exceptions as of ``violations``."""
        return self.violations(policy_input.api, policy_input.request, cluster)

    def violations(
        self, api: str, request: PolicyRequest, cluster: ClusterState
    ) -> Sequence[RuleViolation]:
        """Find the violations by the method for ``api``; none where the class has no such method.

        Raises:
            TypeError: it returned something, where a policy returns nothing or raises; or a field
                is not text. The policy's own exceptions come out, too.
        """
        if api not in self._methods:
            return ()
        try:
            answer: object = self._methods[api](request, cluster)
        except PolicyViolation as violation:
            return (_as_value(violation),)
        if answer is not None:
            raise TypeError(
                f"it returned {type(answer).__name__} where a policy returns nothing, or raises "
                "PolicyViolation"
            )
        return ()

    def close(self) -> None:
        """Close the policy object."""
        self._policy.close()


def _as_value(violation: PolicyViolation) -> RuleViolation:
    message: object = violation.message  # a policy may give anything
    field: object = violation.field
    if field is not None and not isinstance(field, str):
        raise TypeError(
            f"the field of its PolicyViolation is {type(field).__name__} where it is a path, for "
            "example configs.retention.ms"
        )
    return RuleViolation(message="" if message is None else str(message), field=field)
