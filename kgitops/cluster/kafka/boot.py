"""Opens a real cluster."""

from collections.abc import Mapping

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.client_configs import librdkafka_configs, wire_options
from kgitops.cluster.kafka.wire import Wire


def boot(servers: str, configs: Mapping[str, str]) -> KafkaCluster:
    """Connect to ``HOST:PORT,HOST:PORT`` with librdkafka's configs.

    Raises:
        UsageError: the configs can't be meant.
        UnreachableError: no server answers, or the credentials are refused.
    """
    wire = Wire(servers.split(","), wire_options(configs))
    try:
        wire.connect()
    except BaseException:
        wire.close()
        raise
    return KafkaCluster(wire, librdkafka_configs(servers, configs))
