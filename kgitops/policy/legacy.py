"""Kafka's older policies, CreateTopicPolicy and AlterConfigPolicy, behind KIP-201's interfaces.

They are deprecated (P201-92): a :class:`~kgitops.policy.TopicManagementPolicy` gets all that
they get and more. docs/reference/embedded-policies.md shows how to move.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field

from kgitops.policy.api.interfaces import (
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClusterState,
    Configurable,
)
from kgitops.policy.api.requests import AlterBrokerRequest, AlterTopicRequest, CreateTopicRequest
from kgitops.policy.importing import import_from

CREATE_TOPIC_KEY = "create.topic.policy.class.name"
ALTER_CONFIG_KEY = "alter.config.policy.class.name"
KRAFT_COMPAT_KEY = "kraft.compat"
"""``true`` follows KRaft: a creation's configs are shown to AlterConfigPolicy, too."""

_CLASS = re.compile(r"(?P<module>[\w.]+):(?P<name>\w+)")


class ConfigResource(Struct, frozen=True, kw_only=True):
    """An object with configs: ``TOPIC`` and a topic's name, or ``BROKER`` and a broker's id."""

    type: str
    name: str


class CreateTopicPolicy(Configurable, ABC):
    """KIP-108's policy: judges new topics, and nothing later (P108-03)."""

    class RequestMetadata(Struct, frozen=True, kw_only=True):
        """A topic to create, as the request gives it: with counts, or with an assignment.

        ``num_partitions`` and ``replication_factor`` are None where ``replicas_assignments`` is
        given, and the other way round (P108-27…29). ``configs`` are the request's own (P108-30).
        """

        topic: str
        num_partitions: int | None = None
        replication_factor: int | None = None
        replicas_assignments: Mapping[int, tuple[int, ...]] | None = None
        configs: Mapping[str, str] = field(default_factory=dict)

    @abstractmethod
    def validate(self, request: RequestMetadata) -> None:
        """Refuse the topic by raising PolicyViolation."""


class AlterConfigPolicy(Configurable, ABC):
    """KIP-133's policy: judges altered configs of topics and brokers."""

    class RequestMetadata(Struct, frozen=True, kw_only=True):
        """``configs`` are those that the request names; None for one that it removes (P201-28)."""

        resource: ConfigResource
        configs: Mapping[str, str | None] = field(default_factory=dict)

    @abstractmethod
    def validate(self, request: RequestMetadata) -> None:
        """Refuse the configs by raising PolicyViolation."""


class LegacyPolicyAdapter(BaseTopicPolicy, BrokerManagementPolicy):
    """Asks the older policies exactly where Kafka asks them, so that callers know one interface.

    Both may be given, or named by their keys in ``configs``. Requests without a method there are
    accepted: more partitions, other replicas, deletions (P201-98, P201-99), a broker's start.
    ``kraft_compat``: see KRAFT_COMPAT_KEY (P201-100).
    """

    def __init__(
        self,
        create: CreateTopicPolicy | None = None,
        alter: AlterConfigPolicy | None = None,
        *,
        kraft_compat: bool = False,
    ) -> None:
        self._create = create
        self._alter = alter
        self._kraft_compat = kraft_compat

    def configure(self, configs: Mapping[str, str]) -> None:
        """Make the policies that the keys name, and configure both with ``configs`` (P201-101).

        Raises:
            ValueError: a key names no policy of its kind.
        """
        self._kraft_compat = self._kraft_compat or configs.get(KRAFT_COMPAT_KEY) == "true"
        if CREATE_TOPIC_KEY in configs:
            create = _made(configs, CREATE_TOPIC_KEY)
            if not isinstance(create, CreateTopicPolicy):
                raise _no(CreateTopicPolicy, configs, CREATE_TOPIC_KEY)
            self._create = create
        if ALTER_CONFIG_KEY in configs:
            alter = _made(configs, ALTER_CONFIG_KEY)
            if not isinstance(alter, AlterConfigPolicy):
                raise _no(AlterConfigPolicy, configs, ALTER_CONFIG_KEY)
            self._alter = alter
        own = {key: value for key, value in configs.items() if key != KRAFT_COMPAT_KEY}
        for policy in self._policies():
            policy.configure(own)

    def close(self) -> None:
        """Close both, also where the first fails."""
        policies = self._policies()
        try:
            for policy in policies[:1]:
                policy.close()
        finally:
            for policy in policies[1:]:
                policy.close()

    def validate_create_topic(
        self,
        request: CreateTopicRequest,
        cluster_state: ClusterState,  # noqa: ARG002 (the older interfaces know nothing of it)
    ) -> None:
        """Ask CreateTopicPolicy; before it, as KRaft does, AlterConfigPolicy about the configs."""
        state = request.requested_state
        configs = MappingProxyType(dict(state.configs))
        if self._kraft_compat and configs:
            self._validate_configs("TOPIC", request.topic, configs)
        if self._create is None:
            return
        if state.generated_replica_assignments:
            metadata = CreateTopicPolicy.RequestMetadata(
                topic=request.topic,
                num_partitions=state.num_partitions,
                replication_factor=state.replication_factor,
                configs=configs,
            )
        else:
            metadata = CreateTopicPolicy.RequestMetadata(
                topic=request.topic,
                replicas_assignments=MappingProxyType(dict(state.replicas_assignments)),
                configs=configs,
            )
        self._create.validate(metadata)

    def validate_alter_topic(
        self,
        request: AlterTopicRequest,
        cluster_state: ClusterState,
    ) -> None:
        """Ask AlterConfigPolicy where configs are altered."""
        state = request.requested_state
        before = cluster_state.topic_state(request.topic)
        # A call that replaces all configs by none names none, and yet Kafka asks (P201-29).
        cleared = before is not None and state.configs != before.configs
        if state.requested_configs or cleared:
            self._validate_configs("TOPIC", request.topic, state.requested_configs)

    def validate_alter_broker(
        self, request: AlterBrokerRequest, cluster_state: ClusterState
    ) -> None:
        """Ask AlterConfigPolicy; but not when a broker starts, where it has no configs yet."""
        if cluster_state.broker_state().configs:
            requested = request.requested_state.requested_configs
            self._validate_configs("BROKER", str(request.broker_id), requested)

    def _validate_configs(
        self, type_: str, name: str, configs: Mapping[str, str | None] | Mapping[str, str]
    ) -> None:
        if self._alter is not None:
            resource = ConfigResource(type=type_, name=name)
            self._alter.validate(
                AlterConfigPolicy.RequestMetadata(
                    resource=resource, configs=MappingProxyType(dict(configs))
                )
            )

    def _policies(self) -> list[Configurable]:
        return [policy for policy in (self._create, self._alter) if policy is not None]


def _made(configs: Mapping[str, str], key: str) -> object:
    text = configs[key]
    parts = _CLASS.fullmatch(text)
    if parts is None:
        raise ValueError(f"{key} is {text!r}; write module:Class, as in rules.topics:OnlyThree")
    try:
        class_ = getattr(import_from(None, parts["module"]), parts["name"], None)
        if isinstance(class_, type):
            return class_()
    except (ImportError, TypeError) as error:
        raise ValueError(f"{key} names {text}, which can't be made: {error}") from error
    raise ValueError(f"{key} names {text}, but there is no such class")


def _no(interface: type, configs: Mapping[str, str], key: str) -> ValueError:
    return ValueError(f"{key} names {configs[key]}, which is no {interface.__name__}")
