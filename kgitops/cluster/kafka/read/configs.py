"""DescribeConfigs of topics and brokers, in windows spread over the brokers.

The answer for a topic holds all of its configs, some thirty; only those that the topic itself sets
are kept (``config_bytes``).
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kafka.protocol.admin import DescribeConfigsRequest
from msgspec import Struct, field

from kgitops.cluster.kafka.answers import ask_each_broker
from kgitops.cluster.kafka.protocol_values import BROKER, TOPIC
from kgitops.cluster.kafka.read.brokers import BrokerSetting, BrokerSettings, broker_keys
from kgitops.cluster.kafka.read.config_bytes import VERSION, DescribedConfig, described_resources
from kgitops.cluster.kafka.transport.decoded import DecodedRequest, decoded_value, with_body
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError

_Resource = tuple[int, str]
"""A resource's type, in Kafka's code, and name."""

WINDOW = 250
"""Topics per request: as fast as 100, with fewer round trips; more only take more memory."""

_IN_FLIGHT = 4
_BROKER_TIMEOUT_MS = 10_000


class DescribeFailure(Struct, frozen=True):
    """The error with which a resource was not described."""

    code: int
    message: str | None


class ConfigDescriptions(Struct):
    """The configs that were read: a topic's own ones, and the topic defaults of each broker.

    The topics of the share of an unreachable broker are missing.
    """

    topics: dict[str, Mapping[str, str] | DescribeFailure] = field(default_factory=dict)
    brokers: dict[int, BrokerSettings | DescribeFailure] = field(default_factory=dict)
    unreachable: dict[int, UnreachableError] = field(default_factory=dict)


_Decode = Callable[[frozenset[_Resource], bytes], ConfigDescriptions]
"""Decodes the answer to a request for these resources."""


def describe(wire: Wire, topics: Sequence[str], brokers: Sequence[int]) -> ConfigDescriptions:
    """Read the configs of ``topics`` and of ``brokers``, in no more requests than either needs.

    A broker knows its own configs and those of every topic, so each is asked for a share of the
    topics. Without ``brokers`` any broker is asked for the topics.

    Raises:
        UnreachableError: no broker can be asked.
    """
    windows = [topics[at : at + WINDOW] for at in range(0, len(topics), WINDOW)]
    decode = _decoder()
    if not brokers:
        return _merged(_ask(wire, windows, None, decode))

    shares = {broker: windows[place :: len(brokers)] for place, broker in enumerate(brokers)}

    def ask(broker: int) -> list[ConfigDescriptions]:
        try:
            return _ask(wire, shares[broker] or [()], broker, decode)
        except UnreachableError as error:
            return [ConfigDescriptions(unreachable={broker: error})]

    parts = ask_each_broker(wire, brokers, ask)
    return _merged([described for part in parts for described in part])


def _ask(
    wire: Wire,
    windows: Sequence[Sequence[str]],
    broker: int | None,
    decode: _Decode,
) -> list[ConfigDescriptions]:
    """Ask one broker; the first request asks for its own configs as well."""

    def requests() -> Iterator[DecodedRequest[ConfigDescriptions]]:
        for place, window in enumerate(windows):
            request = _request(window, broker if place == 0 else None)
            asked = frozenset((row.resource_type, row.resource_name) for row in request.resources)
            yield with_body(request, VERSION, partial(decode, asked))

    timeout_ms = (
        None if broker is None else _BROKER_TIMEOUT_MS
    )  # another broker can take over its share
    return wire.send_all(
        requests(), decoded_value, to=broker, window=_IN_FLIGHT, timeout_ms=timeout_ms
    )


def _request(topics: Sequence[str], broker: int | None) -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    resources = [
        resource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
        for name in topics
    ]
    if broker is not None:
        resources.append(
            resource(
                resource_type=BROKER,
                resource_name=str(broker),
                configuration_keys=list(broker_keys()),
            )
        )
    return DescribeConfigsRequest(
        resources=resources, include_synonyms=False, include_documentation=False
    )


def _decoder() -> _Decode:
    """Return a decoder of one answer; topics with the same configs share one mapping.

    It raises ValueError for an answer that no broker of Kafka gives.
    """
    shared: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def decode(asked: frozenset[_Resource], data: bytes) -> ConfigDescriptions:
        described = ConfigDescriptions()
        results = list(described_resources(data))
        if {(result.type, result.name) for result in results} != asked:
            raise ValueError("its resources are not those that were asked for")
        for result in results:
            refused = DescribeFailure(result.error_code, result.error_message)
            if result.type == BROKER:
                described.brokers[int(result.name)] = (
                    refused if result.error_code else _settings(result.configs)
                )
            elif result.error_code:
                described.topics[result.name] = refused
            else:
                own = tuple(
                    (sys.intern(config.name), config.value)
                    for config in result.configs
                    if config.value is not None and not config.is_sensitive
                )
                described.topics[result.name] = shared.setdefault(own, dict(sorted(own)))
        return described

    return decode


def _settings(configs: Sequence[DescribedConfig]) -> BrokerSettings:
    return {
        config.name: BrokerSetting(None if config.is_sensitive else config.value, config.source)
        for config in configs
    }


def _merged(parts: Sequence[ConfigDescriptions]) -> ConfigDescriptions:
    whole = ConfigDescriptions()
    for part in parts:
        whole.topics |= part.topics
        whole.brokers |= part.brokers
        whole.unreachable |= part.unreachable
    return whole
