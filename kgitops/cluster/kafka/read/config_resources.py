"""DescribeConfigs of groups and of client metrics: only the configs that they set themselves."""

from collections.abc import Iterable, Mapping

from kafka.protocol.admin import DescribeConfigsRequest, ListConfigResourcesRequest

from kgitops.cluster.kafka.answers import is_transient, unreadable_error, with_retries
from kgitops.cluster.kafka.protocol_values import CONFIG_RESOURCES
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.config_resources import ClientMetricsState, ConfigResourceType
from kgitops.model.results import ErrorCode

# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource of configs that the resource itself sets
_OWN = {ConfigResourceType.CLIENT_METRICS: 7, ConfigResourceType.GROUP: 8}
_UNKNOWN = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION})
"""The answers of brokers that know no configs of this type: then there are none."""
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
        for row in wire.send(_request(kind, left)).results if left else ():
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


def _request(kind: ConfigResourceType, names: Iterable[str]) -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(
                resource_type=CONFIG_RESOURCES[kind], resource_name=name, configuration_keys=None
            )
            for name in names
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _own(row: Message, source: int) -> Mapping[str, str]:
    own = {c.name: c.value for c in row.configs if c.config_source == source}
    return {key: own[key] for key in sorted(own) if own[key] is not None}
