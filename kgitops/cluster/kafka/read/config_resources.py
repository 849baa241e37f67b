"""DescribeConfigs of groups and of client metrics: only the configs that they set themselves."""

from collections.abc import Iterable, Mapping

from kafka.protocol.admin import DescribeConfigsRequest, ListConfigResourcesRequest

from kgitops.cluster.kafka.answers import is_transient, unreadable_error, with_retries
from kgitops.cluster.kafka.protocol_values import CONFIG_RESOURCES, TOPIC
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.config_resources import ClientMetricsState, ConfigResourceType
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.results import ErrorCode

# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource of configs that the resource itself sets
_OWN = {ConfigResourceType.CLIENT_METRICS: 7, ConfigResourceType.GROUP: 8}
_UNKNOWN = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION})
"""The answers of brokers that know no configs of this type: then there are none."""
_TYPES: Mapping[int, ConfigType] = {
    1: ConfigType.BOOLEAN,
    2: ConfigType.STRING,
    3: ConfigType.INT,
    4: ConfigType.SHORT,
    5: ConfigType.LONG,
    6: ConfigType.DOUBLE,
    7: ConfigType.LIST,
    8: ConfigType.CLASS,
    9: ConfigType.PASSWORD,
}
"""By the code of org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType. Brokers have
the type 0 for a config that they don't define, though a resource may have it."""
_TRIES = 5
_LISTED_SINCE = {ConfigResourceType.CLIENT_METRICS: 0, ConfigResourceType.GROUP: 1}
"""The version of ListConfigResources that lists this type (KIP-714, KIP-1142)."""
_WORDS = {
    ConfigResourceType.CLIENT_METRICS: "the client metrics",
    ConfigResourceType.GROUP: "the group",
}
_EVERY = {
    ConfigResourceType.CLIENT_METRICS: "which client metrics there are",
    ConfigResourceType.GROUP: "which groups have configs",
}


def read_client_metrics(wire: Wire, names: Iterable[str]) -> Mapping[str, ClientMetricsState]:
    """Return those of these subscriptions that exist, which are those with configs.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    found = read_own_configs(wire, ConfigResourceType.CLIENT_METRICS, names)
    return {
        name: ClientMetricsState(name=name, configs=configs)
        for name, configs in found.items()
        if configs
    }


def list_resources(wire: Wire, kind: ConfigResourceType) -> frozenset[str] | None:
    """List the resources of this type that have configs; None where brokers don't list this type.

    Raises:
        UnreachableError: they can't be listed, or the principal may not.
    """
    if not wire.supports(ListConfigResourcesRequest, _LISTED_SINCE[kind]):
        if wire.supports(DescribeConfigsRequest):
            return None
        raise UnreachableError(f"no broker is connected to say {_EVERY[kind]}; try again")
    code = CONFIG_RESOURCES[kind]
    request = ListConfigResourcesRequest(resource_types=[code])
    response = with_retries(wire, request, wire.send(request))
    if response.error_code:
        api = "ListConfigResources"
        raise unreadable_error(wire, api, _EVERY[kind], response.error_code)
    return frozenset(
        row.resource_name for row in response.config_resources if row.resource_type == code
    )


def read_own_configs(
    wire: Wire, kind: ConfigResourceType, names: Iterable[str]
) -> Mapping[str, Mapping[str, str]]:
    """Return the configs that each of these resources sets itself, none for one that has none.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    left = sorted(set(names))
    own: dict[str, Mapping[str, str]] = {}
    for attempt in range(_TRIES):
        for row in wire.send(_request(CONFIG_RESOURCES[kind], left)).results if left else ():
            if not row.error_code:
                own[row.resource_name] = _own(row, _OWN[kind])
            elif row.error_code in _UNKNOWN:
                own[row.resource_name] = {}
            elif attempt == _TRIES - 1 or not is_transient(row.error_code):
                what = f"the configs of {_WORDS[kind]} {row.resource_name!r}"
                code, message = row.error_code, row.error_message
                raise unreadable_error(wire, "DescribeConfigs", what, code, message)
        left = [name for name in left if name not in own]
    return own


def read_config_types(
    wire: Wire, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
) -> Mapping[str, ConfigType]:
    """Return the types of those of these configs that the brokers know; without a kind of a topic.

    Brokers before Kafka 2.6 report no types.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    code = TOPIC if kind is None else CONFIG_RESOURCES[kind]
    types: dict[str, ConfigType | None] = {}
    for attempt in range(_TRIES):
        rows = wire.send(_request(code, [name], keys)).results
        failed = next((row for row in rows if row.error_code), None)
        if failed is None:
            types = {one.name: _TYPES.get(one.config_type) for row in rows for one in row.configs}
            break
        if failed.error_code in _UNKNOWN:
            break
        if attempt == _TRIES - 1 or not is_transient(failed.error_code):
            of = f"{'the topic' if kind is None else _WORDS[kind]} {name!r}"
            what = f"the types of the configs of {of}"
            code, message = failed.error_code, failed.error_message
            raise unreadable_error(wire, "DescribeConfigs", what, code, message)
    return {key: type_ for key in sorted(keys) if (type_ := types.get(key)) is not None}


def _request(code: int, names: Iterable[str], keys: Iterable[str] | None = None) -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    asked = None if keys is None else sorted(keys)
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=code, resource_name=name, configuration_keys=asked)
            for name in names
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _own(row: Message, source: int) -> Mapping[str, str]:
    own = {c.name: c.value for c in row.configs if c.config_source == source}
    return {key: own[key] for key in sorted(own) if own[key] is not None}
