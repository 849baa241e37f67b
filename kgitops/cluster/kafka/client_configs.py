"""librdkafka's configuration names, understood by both clients."""

from collections.abc import Mapping


def wire_options(configs: Mapping[str, str]) -> Mapping[str, object]:
    """The options of kafka-python that mean what these configs say.

    Raises:
        UsageError: a config is unknown, or can't be followed.
    """
    return {} if not configs else dict(configs)


def librdkafka_configs(servers: str, configs: Mapping[str, str]) -> Mapping[str, str]:
    """The configs of a librdkafka client that reaches the same cluster."""
    return {"bootstrap.servers": servers, **configs}
