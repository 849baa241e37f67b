"""Policies made of policies: several as one, and one that leaves internal topics alone.

A broker's config names one class only, and calls it without arguments. So a policy is made of
others by a class of its own, which hands them their configs::

    class OurRules(AllOf):
        def __init__(self) -> None:
            super().__init__([ReplicationFactorRange({"min": "3"}), NoManualAssignment({})])
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from kgitops.model.resources.names import is_internal
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.interfaces import (
    AclManagementPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ConfigResourceManagementPolicy,
    Configurable,
    ConsumerGroupManagementPolicy,
    PolicyViolation,
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
from kgitops.policy.load.python_rule import PythonRule


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
