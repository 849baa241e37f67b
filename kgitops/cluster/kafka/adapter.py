"""The cluster port, implemented on a Kafka cluster."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from kgitops.cluster.kafka.configs.client_configs import (
    LibrdkafkaConfigs,
    librdkafka_configs,
    normalize_configs,
    user_of,
    wire_options,
    without_secrets,
)
from kgitops.cluster.kafka.coordinators import read_group_offsets
from kgitops.cluster.kafka.read.acls import matches_host_ranges
from kgitops.cluster.kafka.read.config_resources import read_config_types, read_own_configs
from kgitops.cluster.kafka.read.consumer_groups import (
    list_configured,
    read_groups,
    read_offsets_since,
)
from kgitops.cluster.kafka.read.state import read_state
from kgitops.cluster.kafka.read.usage import read_usage
from kgitops.cluster.kafka.read.users import logs_in, offers_login, read_users
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.write.reassignments import cancel
from kgitops.cluster.kafka.write.requests import execute
from kgitops.model.cluster_state import (
    Capabilities,
    Client,
    ClusterState,
    FoundObject,
    GroupOffsets,
    Usage,
    Validator,
)
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.kinds import RESOURCE_OF, Kind
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult

BACKEND = "kafka"
CAPABILITIES = Capabilities(
    backend=BACKEND,
    validation={
        "CreateTopic": Validator.BROKER,
        "AlterTopic": Validator.BROKER,
        "DeleteTopic": Validator.NOT_SUPPORTED,
        "DeleteRecords": Validator.NOT_SUPPORTED,
        "CreateAcl": Validator.NOT_SUPPORTED,
        "DeleteAcl": Validator.NOT_SUPPORTED,
        "AlterClientQuota": Validator.BROKER,
        "AlterBroker": Validator.BROKER,
        "AlterUserScramCredentials": Validator.NOT_SUPPORTED,
        "AlterConfigResource": Validator.BROKER,
        "AlterConsumerGroupOffsets": Validator.NOT_SUPPORTED,
        "DeleteConsumerGroup": Validator.NOT_SUPPORTED,
        "CopyGroupOffsets": Validator.NOT_SUPPORTED,
        "DeleteGroup": Validator.NOT_SUPPORTED,
    },
)


class KafkaCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` on a connected wire."""

    def __init__(self, wire: Wire, configs: LibrdkafkaConfigs, client: Client) -> None:
        self.wire = wire
        self._registry = KafkaRegistryLog(wire, configs)
        self._capabilities = replace(CAPABILITIES, client=client)

    @property
    def cluster_id(self) -> str:
        """The id in the brokers' metadata."""
        return self.wire.cluster_id

    @property
    def capabilities(self) -> Capabilities:
        """All physical requests; brokers validate those whose API has such a flag."""
        return replace(self._capabilities, private=self.wire.private)

    @property
    def registry(self) -> KafkaRegistryLog:
        """The registry topic."""
        return self._registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """Read the cluster and its registry; brokers have no links."""
        del links
        return read_state(self.wire, self._registry, topics)

    def read_usage(
        self, topics: frozenset[str], *, offsets_only: bool = False, groups: bool = True
    ) -> Usage:
        """Read how these topics are used, as far as this principal may see it."""
        return read_usage(self.wire, topics, offsets_only=offsets_only, groups=groups)

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Read the offsets that these groups have committed."""
        return read_group_offsets(self.wire, groups)

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        """Ask the brokers that know them; older ones, for the configs of every group."""
        if kind is Kind.USER:
            return read_users(self.wire, names)
        resource = RESOURCE_OF[kind]
        if names is None:
            names = list_configured(self.wire, resource)
        if resource is ConfigResourceType.GROUP:
            return read_groups(self.wire, names)
        found = read_own_configs(self.wire, resource, names)
        return [
            FoundConfigs(type=resource, name=name, configs=configs)
            for name, configs in found.items()
            if configs
        ]

    def read_config_types(
        self, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        """Ask for these configs of the resource."""
        return read_config_types(self.wire, kind, name, keys)

    def matches_host_ranges(self) -> bool:
        """Ask for the cluster's metadata.version."""
        return matches_host_ranges(self.wire)

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Ask the leaders of the partitions."""
        return read_offsets_since(self.wire, topics, timestamp_ms)

    def offers_login(self, mechanism: ScramMechanism) -> bool:
        """True if the listener asks for logins; which mechanisms it has shows when one is tried."""
        del mechanism
        return offers_login(self.wire)

    def logs_in(self, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
        """Log in once by a connection of its own."""
        return logs_in(self.wire, user, mechanism, secret)

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Carry out one wire batch; brokers know the principal from the connection."""
        del principal
        return execute(self.wire_until(until_ms), requests, validate_only=validate_only)

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel reassignments; replicas that have arrived meanwhile stay."""
        wire = self.wire_until(until_ms)
        for topic, result in zip(moves, cancel(wire, moves), strict=True):
            if not result.ok:
                raise KgitopsError(
                    f"topic/{topic}: the broker would not cancel its reassignment: {result}"
                )

    def close(self) -> None:
        """Close every connection."""
        self._registry.close()
        self.wire.close()

    def wire_until(self, until_ms: int | None) -> Wire:
        """Return the connections bound to a lease that ends then, by the registry's clock."""
        if until_ms is None:
            return self.wire
        return self.wire.until(self._registry.ticks_at(until_ms))


def boot(servers: str, configs: Mapping[str, str], base: Path | None = None) -> KafkaCluster:
    """Connect to ``HOST:PORT,HOST:PORT`` with librdkafka's configs, files relative to ``base``.

    Raises:
        UsageError: the configs are not valid.
        UnreachableError: no server answers, or the credentials are refused.
    """
    configs = normalize_configs(configs, base)
    options = wire_options(configs)
    wire = Wire(servers.split(","), options)
    try:
        wire.connect()
    except UnreachableError as error:
        wire.close()
        raise UnreachableError(without_secrets(str(error), configs)) from error
    except BaseException:
        wire.close()
        raise
    client = Client(client_id=configs.get("client.id", "kgitops"), user=user_of(configs))
    return KafkaCluster(wire, librdkafka_configs(servers, configs, options), client)
