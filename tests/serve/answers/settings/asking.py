"""Requests about configs, ACLs and quotas in few words, and their answers as tuples."""

from collections.abc import Sequence

from serve.plain_requests import ask
from serve.raw_client import RawClient

from kgitops.wire.messages import Message

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

Row = tuple[int, str | None]
"""An error code and its message."""


def describe(
    client: RawClient,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = True,
) -> Message:
    """The result of one resource."""
    row = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    synonyms = synonyms and version > 0
    answer = ask(client, "DescribeConfigs", version, resources=row, include_synonyms=synonyms)
    (result,) = answer.results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def shown(result: Message, key: str) -> Message:
    """One config of a result."""
    (found,) = [config for config in result.configs if config.name == key]
    return found


def places(config: Message) -> list[tuple[str, str | None, int]]:
    """The synonyms of a config."""
    return [(row.name, row.value, row.source) for row in config.synonyms]


def alter(
    client: RawClient,
    *resources: tuple[int, str, Sequence[tuple[str, int, str | None]]],
    version: int = 1,
    validate_only: bool = False,
) -> list[Row]:
    """IncrementalAlterConfigs: (type, name, [(key, operation, value)])."""
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": operation, "value": value}
                for key, operation, value in configs
            ],
        }
        for kind, name, configs in resources
    ]
    how = {"resources": rows, "validate_only": validate_only}
    rows = ask(client, "IncrementalAlterConfigs", version, **how).responses
    assert [(row.resource_type, row.resource_name) for row in rows] == [r[:2] for r in resources]
    return [(row.error_code, row.error_message) for row in rows]


def replace(
    client: RawClient,
    *resources: tuple[int, str, Sequence[tuple[str, str | None]]],
    version: int = 2,
    validate_only: bool = False,
) -> list[Row]:
    """AlterConfigs: (type, name, [(key, value)])."""
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "value": value} for key, value in configs],
        }
        for kind, name, configs in resources
    ]
    how = {"resources": rows, "validate_only": validate_only}
    rows = ask(client, "AlterConfigs", version, **how).responses
    return [(row.error_code, row.error_message) for row in rows]
