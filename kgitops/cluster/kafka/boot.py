"""Opens a real cluster."""

from collections.abc import Mapping
from pathlib import Path

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.transport.client_configs import (
    librdkafka_configs,
    understood,
    wire_options,
    without_secrets,
)
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError


def boot(servers: str, configs: Mapping[str, str], base: Path | None = None) -> KafkaCluster:
    """Connect to ``HOST:PORT,HOST:PORT`` with librdkafka's configs, files relative to ``base``.

    Raises:
        UsageError: the configs can't be meant.
        UnreachableError: no server answers, or the credentials are refused.
    """
    configs = understood(configs, base)
    wire = Wire(servers.split(","), wire_options(configs))
    try:
        wire.connect()
    except UnreachableError as error:
        wire.close()
        raise UnreachableError(without_secrets(str(error), configs)) from error
    except BaseException:
        wire.close()
        raise
    return KafkaCluster(wire, librdkafka_configs(servers, configs))
