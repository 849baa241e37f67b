"""The config APIs: Kafka's numbers for config types and sources."""

from collections.abc import Callable, Mapping, Sequence

from kgitops.cluster.embedded.client.configs import DescribedConfigs
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigOp, ConfigResource
from kgitops.cluster.embedded.effective.entries import ConfigEntry, ConfigSource, EntryType
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.config_resources import config_documentation
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.values import CONFIG_SOURCES, message_of
from kgitops.serve.call import ApiCall
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.messages import Message

# org.apache.kafka.common.config.ConfigResource.Type
_TOPIC, _BROKER, _BROKER_LOGGER, _CLIENT_METRICS, _GROUP = 2, 4, 8, 16, 32
_TYPES = {
    _TOPIC: "topic",
    _BROKER: "broker",
    _BROKER_LOGGER: "broker_logger",
    _CLIENT_METRICS: "client_metrics",
    _GROUP: "group",
}
_TYPE_CODES = {type_: code for code, type_ in _TYPES.items()}
_OF_A_BROKER = (_BROKER, _BROKER_LOGGER)
# org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType
_ENTRY_TYPE_CODES = {type_: code for code, type_ in enumerate(EntryType)}
_OPERATIONS = {0: ConfigOp.SET, 1: ConfigOp.DELETE, 2: ConfigOp.APPEND, 3: ConfigOp.SUBTRACT}
_HIDDEN = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)
_UNKNOWN_OPERATION = RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)

Rows = Callable[[Mapping[str, ConfigEntry]], list[Message]]


def describe_configs(call: ApiCall, request: Message) -> Message:
    """The configs of each resource; those that the client may not see come last."""
    response = messages.DescribeConfigsResponse
    if any(row.resource_type not in _TYPES for row in request.resources):
        refused = RequestResult(code=ErrorCode.INVALID_REQUEST, message=_MALFORMED)
        return response(results=[_result(row, refused, []) for row in request.resources])
    # The answer may be a thousand times as long as the request for it: no row is there twice.
    asked_for = list({_asked_for(row): row for row in request.resources}.values())
    resources = [_resource(row) for row in asked_for]
    described = call.admin.describe_configs(
        resources, broker=_broker(call), properties=_properties(call)
    )
    rows_of = _row_maker(request, is_oldest=call.version == 0)
    shown: list[Message] = []
    hidden: list[Message] = []
    for row, resource in zip(asked_for, resources, strict=True):
        found = _of_node(call, row, described[resource])
        rows = rows_of(found.entries)
        if row.configuration_keys:
            asked = set(row.configuration_keys)
            rows = [config for config in rows if config.name in asked]
        (hidden if found.result.code in _HIDDEN else shown).append(_result(row, found.result, rows))
    return response(results=[*shown, *hidden])


def incremental_alter_configs(call: ApiCall, request: Message) -> Message:
    """One result for each resource, in order."""
    refused = [_refused_here(call, row, incremental=True) for row in request.resources]
    if any(map(_is_unreadable, request.resources, refused)):
        # The controller that reads them fails for all rows that the broker sends it.
        refused = [refusal or _UNKNOWN_OPERATION for refusal in refused]
    changes = [
        (_resource(row), list(map(_operation, row.configs)))
        for row, refusal in zip(request.resources, refused, strict=True)
        if refusal is None
    ]
    results = call.admin.incremental_alter_configs(changes, validate_only=request.validate_only)
    return messages.IncrementalAlterConfigsResponse(
        responses=_altered(
            messages.IncrementalAlterConfigsResponse, request.resources, refused, results
        )
    )


def alter_configs(call: ApiCall, request: Message) -> Message:
    """One result for each resource, in order (A4-78)."""
    refused = [_refused_here(call, row) for row in request.resources]
    changes = [
        (_resource(row), [(item.name, item.value) for item in row.configs])
        for row, refusal in zip(request.resources, refused, strict=True)
        if refusal is None
    ]
    results = call.admin.alter_configs(changes, validate_only=request.validate_only)
    return messages.AlterConfigsResponse(
        responses=_altered(messages.AlterConfigsResponse, request.resources, refused, results)
    )


def list_config_resources(call: ApiCall, request: Message) -> Message:
    """The resources of some types, or of all; in version 0 those of client metrics (KIP-714)."""
    response = messages.ListConfigResourcesResponse
    asked = request.resource_types if call.version else [_CLIENT_METRICS]
    known = {_TYPES[type_] for type_ in asked or _TYPES if type_ in _TYPES}
    try:
        resources = call.admin.list_config_resources(known)
    except Refusal as refusal:
        return response(error_code=refusal.result.code)
    if any(type_ not in _TYPES for type_ in asked):
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return response(
        config_resources=[
            response.ConfigResource(
                resource_name=resource.name, resource_type=_TYPE_CODES[resource.type]
            )
            for resource in resources
        ]
    )


def _altered(
    response: Message,
    rows: Sequence[Message],
    refused: Sequence[RequestResult | None],
    results: Mapping[ConfigResource, RequestResult],
) -> list[Message]:
    outcomes = [
        refusal or results[_resource(row)] for row, refusal in zip(rows, refused, strict=True)
    ]
    return [
        response.AlterConfigsResourceResponse(
            error_code=result.code,
            error_message=message_of(result),
            resource_type=row.resource_type,
            resource_name=row.resource_name,
        )
        for row, result in zip(rows, outcomes, strict=True)
    ]


def _properties(call: ApiCall) -> Mapping[str, str]:
    """The properties that tell clients where the broker listens."""
    listener = f"{call.node.listener}://{call.node.endpoint}"
    return {"listeners": listener, "advertised.listeners": listener}


def _broker(call: ApiCall) -> int | None:
    """The broker that answers; a controller has none, and answers as the active broker would."""
    return call.node.id if call.node.kind is NodeKind.BROKER else None


def _asked_for(row: Message) -> tuple[int, str, tuple[str, ...]]:
    return row.resource_type, row.resource_name, tuple(row.configuration_keys or ())


def _resource(row: Message) -> ConfigResource:
    type_ = _TYPES.get(row.resource_type, str(row.resource_type))
    return ConfigResource(type=type_, name=row.resource_name)


def _operation(row: Message) -> AlterConfig:
    return AlterConfig(key=row.name, value=row.value, op=_OPERATIONS[row.config_operation])


def _result(row: Message, result: RequestResult, configs: list[Message]) -> Message:
    return messages.DescribeConfigsResponse.DescribeConfigsResult(
        error_code=result.code,
        error_message=message_of(result) or "",
        resource_type=row.resource_type,
        resource_name=row.resource_name,
        configs=configs,
    )


def _of_node(call: ApiCall, row: Message, found: DescribedConfigs) -> DescribedConfigs:
    """The outcome, or the refusal of a node that was asked about another one (F590-27)."""
    broker = _broker(call)
    name = row.resource_name
    is_here = name == str(broker) or broker is None or not name
    if row.resource_type not in _OF_A_BROKER or found.result.code in _HIDDEN or is_here:
        return found
    if not _is_number(name):
        problem = f"Broker id must be an integer, but it is: {name}"
    else:
        others = " or empty string," if row.resource_type == _BROKER else ""
        problem = f"Unexpected broker id, expected {broker}{others} but received {name}"
    refused = RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem)
    return DescribedConfigs(result=refused, entries={})


def _refused_here(
    call: ApiCall, row: Message, *, incremental: bool = False
) -> RequestResult | None:
    """The refusal of the node that was asked, before the cluster decides (F590-27)."""
    type_, name, broker = row.resource_type, row.resource_name, _broker(call)
    if type_ not in _TYPES or (type_ == _BROKER_LOGGER and not incremental):
        return _invalid(f"Unknown resource type {type_}")
    unknown = _unknown_operation(row) if incremental else None
    if unknown is not None and type_ == _BROKER:
        return _invalid(f"Unknown operations type {unknown}")
    if unknown is not None:
        return _missing_right(call, row)
    must_be_here = type_ == _BROKER_LOGGER or (type_ == _BROKER and name)
    if broker is None or not must_be_here or name == str(broker):
        return None
    if not _is_number(name):
        return _invalid(f"Node id must be an integer, but it is: {name}")
    if type_ == _BROKER_LOGGER:
        return _invalid(f"Unexpected node id. Expected {broker}, but received {name}")
    return _invalid(f"Unexpected broker id, expected {broker}, but received {name}")


def _unknown_operation(row: Message) -> int | None:
    """The first operation of a resource that there is none of."""
    operations = (item.config_operation for item in row.configs)
    return next((item for item in operations if item not in _OPERATIONS), None)


def _is_unreadable(row: Message, refusal: RequestResult | None) -> bool:
    return refusal is None and _unknown_operation(row) is not None


def _missing_right(call: ApiCall, row: Message) -> RequestResult | None:
    """The refusal of a client without the right to alter the configs of a resource."""
    result = call.admin.incremental_alter_configs([(_resource(row), [])], validate_only=True)
    refused = result[_resource(row)]
    return refused if refused.code in _HIDDEN else None


def _invalid(message: str) -> RequestResult:
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=message)


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _row_maker(request: Message, *, is_oldest: bool) -> Rows:
    """A function that makes the rows of a resource; equal entries share a row.

    Most configs of a thousand topics are the same objects. In its oldest version the answer tells
    defaults by a field of their own.
    """
    rows: dict[int, Message] = {}
    lists: dict[int, list[Message]] = {}
    response = messages.DescribeConfigsResponse

    def row(entry: ConfigEntry) -> Message:
        made = rows.get(id(entry))
        if made is None:
            made = rows[id(entry)] = response.DescribeConfigsResourceResult(
                name=entry.key,
                value=entry.value,
                read_only=entry.read_only,
                is_default=is_oldest and entry.source is ConfigSource.DEFAULT_CONFIG,
                config_source=CONFIG_SOURCES[entry.source],
                is_sensitive=entry.sensitive,
                synonyms=[
                    response.DescribeConfigsSynonym(
                        name=synonym.key, value=synonym.value, source=CONFIG_SOURCES[synonym.source]
                    )
                    for synonym in (entry.synonyms if request.include_synonyms else ())
                ],
                config_type=_ENTRY_TYPE_CODES[entry.type],
                documentation=config_documentation(entry.key)
                if request.include_documentation
                else None,
            )
        return made

    def all_rows(entries: Mapping[str, ConfigEntry]) -> list[Message]:
        made = lists.get(id(entries))
        if made is None:
            made = lists[id(entries)] = list(map(row, entries.values()))
        return made

    return all_rows
