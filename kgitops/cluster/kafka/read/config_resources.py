"""DescribeConfigs of groups, client metrics and brokers: the configs that they set themselves."""

from collections.abc import Iterable, Mapping

from kafka.protocol.admin import DescribeConfigsRequest, ListConfigResourcesRequest

from kgitops.cluster.kafka.answers import (
    ask_each_broker,
    is_transient,
    unreadable_error,
    with_retries,
)
from kgitops.cluster.kafka.protocol_values import CONFIG_RESOURCES, TOPIC
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.results import ErrorCode

# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource of configs that the resource itself sets
_OWN = {
    ConfigResourceType.BROKER: 2,
    ConfigResourceType.CLIENT_METRICS: 7,
    ConfigResourceType.GROUP: 8,
}
_OF_ALL_BROKERS = 3
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
_LISTED_SINCE = {
    ConfigResourceType.CLIENT_METRICS: 0,
    ConfigResourceType.GROUP: 1,
}
"""The version of ListConfigResources that lists this type (KIP-714, KIP-1142)."""
_WORDS = {
    ConfigResourceType.BROKER: "broker",
    ConfigResourceType.CLIENT_METRICS: "the client metrics",
    ConfigResourceType.GROUP: "the group",
}
_EVERY = {
    ConfigResourceType.CLIENT_METRICS: "which client metrics there are",
    ConfigResourceType.GROUP: "which groups have configs",
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
    wanted = sorted(set(names))
    if kind is not ConfigResourceType.BROKER:
        return _read(wire, kind, wanted, _OWN[kind])
    found = dict(_read(wire, kind, [""], _OF_ALL_BROKERS)) if ALL_BROKERS in wanted else {}

    def ask(broker: int) -> Mapping[str, Mapping[str, str]]:
        return _read(wire, kind, [str(broker)], _OWN[kind], to=broker)

    brokers = [int(name) for name in wanted if name != ALL_BROKERS]
    for own in ask_each_broker(wire, brokers, ask) if brokers else ():
        found |= own
    return {name or ALL_BROKERS: configs for name, configs in found.items()}


def _read(
    wire: Wire, kind: ConfigResourceType, names: list[str], source: int, to: int | None = None
) -> Mapping[str, Mapping[str, str]]:
    left = names
    own: dict[str, Mapping[str, str]] = {}
    for attempt in range(_TRIES):
        request = _request(CONFIG_RESOURCES[kind], left)
        for row in wire.send(request, to=to).results if left else ():
            if not row.error_code:
                own[row.resource_name] = _own(row, source)
            elif row.error_code in _UNKNOWN and kind is not ConfigResourceType.BROKER:
                own[row.resource_name] = {}
            elif attempt == _TRIES - 1 or not is_transient(row.error_code):
                what = f"the configs of {_WORDS[kind]} {row.resource_name or ALL_BROKERS!r}"
                code, message = row.error_code, row.error_message
                raise unreadable_error(wire, "DescribeConfigs", what, code, message)
        left = [name for name in left if name not in own]
    return own


def read_config_types(
    wire: Wire, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
) -> Mapping[str, ConfigType]:
    """Return the types of those of these configs that the brokers know; without a kind of a topic.

    Brokers before Kafka 2.6 report no types. Of a broker only those count that it takes while it
    runs.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    code = TOPIC if kind is None else CONFIG_RESOURCES[kind]
    to = int(name) if kind is ConfigResourceType.BROKER else None
    types: dict[str, ConfigType | None] = {}
    for attempt in range(_TRIES):
        rows = wire.send(_request(code, [name], keys), to=to).results
        failed = next((row for row in rows if row.error_code), None)
        if failed is None:
            configs = [one for row in rows for one in row.configs]
            dynamic = [one for one in configs if to is None or not one.read_only]
            types = {one.name: _TYPES.get(one.config_type) for one in dynamic}
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
