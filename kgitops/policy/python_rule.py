"""A policy in Python as a rule: each request goes to the method of its interface.

Policies made of policies: several as one, and one that leaves internal topics alone.

A broker's config names one class only, and calls it without arguments. So a policy is made of
others by a class of its own, which hands them their configs::

    class OurRules(AllOf):
        def __init__(self) -> None:
            super().__init__([ReplicationFactorRange({"min": "3"}), NoManualAssignment({})])
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kgitops.model.resources.names import is_internal
from kgitops.policy.api.interfaces import (
    AclManagementPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ClusterState,
    ConfigResourceManagementPolicy,
    Configurable,
    ConsumerGroupManagementPolicy,
    PolicyViolation,
    RuleViolation,
    TopicManagementPolicy,
    UserManagementPolicy,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.api.requests import (
    AlterTopicRequest,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyRequest,
    api_of,
)
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


class AllOf(
    TopicManagementPolicy,
    BrokerManagementPolicy,
    AclManagementPolicy,
    ClientQuotaManagementPolicy,
    UserManagementPolicy,
    ConfigResourceManagementPolicy,
    ConsumerGroupManagementPolicy,
    VirtualClusterManagementPolicy,
):
    """All policies in order: it refuses what any of them refuses, with the messages of all that do.

    A request goes to the members that implement its interface (EXP-06); where there are none it is
    accepted. ``configure`` and ``close`` reach every member, and all get the same configs. The
    ``field`` is that of the first member that refuses.
    """

    def __init__(self, policies: Sequence[Configurable]) -> None:
        """Take the members, in the order in which they are asked.

        Raises:
            ValueError: there are none, so that everything would be accepted.
        """
        if not policies:
            raise ValueError("AllOf needs at least one policy")
        self._members = tuple(policies)
        self._rules = [
            PythonRule(type(member).__name__, Level.HARD, member) for member in self._members
        ]

    def configure(self, configs: Mapping[str, str]) -> None:
        """Configure every member; where one refuses, those before it are closed.

        Raises:
            ValueError: a member refuses the configs.
        """
        with ExitStack() as opened:
            for member in self._members:
                member.configure(configs)
                opened.callback(member.close)
            opened.pop_all()

    def close(self) -> None:
        """Close every member, also after one that can't be closed."""
        with ExitStack() as opened:
            for member in self._members:
                opened.callback(member.close)

    def _ask(self, request: PolicyRequest, cluster_state: ClusterState) -> None:
        """Ask the members."""
        api = api_of(request)
        violations = [
            violation
            for rule in self._rules
            for violation in rule.violations(api, request, cluster_state)
        ]
        if violations:
            message = "; ".join(violation.message for violation in violations if violation.message)
            raise PolicyViolation(message, field=violations[0].field)

    validate_create_topic = _ask
    validate_alter_topic = _ask
    validate_delete_topic = _ask
    validate_delete_records = _ask
    validate_alter_broker = _ask
    validate_create_acl = _ask
    validate_delete_acl = _ask
    validate_alter_client_quota = _ask
    validate_alter_user_scram_credentials = _ask
    validate_alter_config_resource = _ask
    validate_alter_consumer_group_offsets = _ask
    validate_delete_consumer_group = _ask
    validate_create_virtual_cluster = _ask
    validate_alter_virtual_cluster = _ask
    validate_delete_virtual_cluster = _ask
    validate_create_topic_link = _ask
    validate_delete_topic_link = _ask


class InternalTopicsPass(TopicManagementPolicy):
    """A topic policy that is not asked about internal topics, which brokers make for themselves."""

    def __init__(self, policy: TopicManagementPolicy) -> None:
        """Take the policy that judges all other topics."""
        self._policy = policy

    def configure(self, configs: Mapping[str, str]) -> None:
        """Configure the policy."""
        self._policy.configure(configs)

    def close(self) -> None:
        """Close the policy."""
        self._policy.close()

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the policy unless the topic is internal."""
        if not is_internal(request.topic):
            self._policy.validate_create_topic(request, cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Ask the policy unless the topic is internal."""
        if not is_internal(request.topic):
            self._policy.validate_alter_topic(request, cluster_state)

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the policy unless the topic is internal."""
        if not is_internal(request.topic):
            self._policy.validate_delete_topic(request, cluster_state)

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Ask the policy unless the topic is internal."""
        if not is_internal(request.topic):
            self._policy.validate_delete_records(request, cluster_state)
