"""The names of virtual clusters and the brokers of a cluster, followed while a gateway runs."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.configs.client_configs import normalize_configs
from kgitops.cluster.kafka.configs.tls import tls_context
from kgitops.cluster.kafka.transport.dialing import server_of
from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.cluster.port import RegistryEntry
from kgitops.gateway.listening.brokers import BrokerAddress
from kgitops.gateway.naming.kafka_source import KafkaSource
from kgitops.gateway.naming.name_table import NameTables
from kgitops.gateway.naming.registry_watcher import RegistryWatcher
from kgitops.gateway.running.gateway import BrokersBehind
from kgitops.workflow.project.clusters import ChosenCluster

_BROKERS_S = 10.0
"""The time between two looks at where the brokers are; responses tell it as well."""
_OWN = ("ssl.certificate.", "ssl.key.", "ssl.keystore.")

ByNode = Mapping[int, BrokerAddress]


class ClusterSource(KafkaSource):
    """Reads the registry, and now and then the addresses of the brokers."""

    def __init__(self, chosen: ChosenCluster, on_brokers: Callable[[ByNode], None]) -> None:
        super().__init__(chosen)
        self._on_brokers = on_brokers
        self._looked = float("-inf")

    def read(self, since: int) -> Sequence[RegistryEntry] | None:
        """Every committed entry from that offset on."""
        if ticks() - self._looked >= _BROKERS_S:
            with self._hidden():
                metadata = self._cluster.wire.send(MetadataRequest(topics=[]))
            self._on_brokers(
                {item.node_id: BrokerAddress(item.host, item.port) for item in metadata.brokers}
            )
            self._looked = ticks()
        return super().read(since)


class FollowedNames:
    """The names for connections: they change in the event loop alone, all at once."""

    def __init__(
        self, chosen: ChosenCluster, *, stale_s: float, tell: Callable[[str], None]
    ) -> None:
        self._chosen = chosen
        self._stale_s = stale_s
        self._on_tables: Callable[[NameTables], None] = lambda _: None
        self._on_brokers: Callable[[ByNode], None] = lambda _: None
        self.by_node: ByNode = {}
        """The brokers as they were last looked at."""
        self.follower = RegistryWatcher(
            lambda: ClusterSource(chosen, self._brokers),
            tell=tell,
            on_tables=self._swapped,
        )
        self.tables: NameTables

    @property
    def too_old(self) -> str | None:
        """A sentence, if the names are so old that no new connection may be taken."""
        if self.follower.is_fresh(self._stale_s):
            return None
        return (
            f"the registry was last read {self.follower.age_s:.0f} s ago, and new connections are "
            f"taken for {self._stale_s:g} s; see what keeps the gateway from reading it"
        )

    def start(self) -> BrokersBehind:
        """Read the registry, and continue reading it; the cluster as connections reach it.

        Raises:
            KgitopsError: it can't be reached or read, or has no registry.
        """
        chosen = self._chosen
        with chosen.secrets_hidden():
            location = chosen.located()
            configs = normalize_configs(location.configs, chosen.base)
            protocol = configs.get("security.protocol", "plaintext")
            tls = _context(configs) if protocol.endswith("ssl") else None
        self.tables = self.follower.start()
        servers = map(server_of, urlsplit(location.url).netloc.split(","))
        return BrokersBehind(
            bootstrap=tuple(BrokerAddress(server.host, server.port) for server in servers),
            by_node=self.by_node,
            tls=tls,
            sasl=protocol.startswith("sasl"),
        )

    def follow(
        self, on_tables: Callable[[NameTables], None], on_brokers: Callable[[ByNode], None]
    ) -> None:
        """Tell of changes from now on, in the follower's thread."""
        self._on_tables, self._on_brokers = on_tables, on_brokers
        newest = self.follower.tables
        if newest is not self.tables:  # they changed before anybody asked to be told
            on_tables(newest)

    def close(self) -> None:
        """Follow no more."""
        self.follower.close()

    def _swapped(self, tables: NameTables) -> None:
        self._on_tables(tables)

    def _brokers(self, by_node: ByNode) -> None:
        self.by_node = by_node
        self._on_brokers(by_node)


def _context(configs: Mapping[str, str]) -> ssl.SSLContext:
    """TLS as the cluster's configs say, without the gateway's own certificate.

    A broker would take every client for the gateway if it were shown.
    """
    return tls_context(
        {name: value for name, value in configs.items() if not name.startswith(_OWN)}
    )
