"""DescribeCluster, and UpdateFeatures, which may change nothing: the levels are fixed here."""

from collections.abc import Mapping

from kgitops.cluster.embedded.refusal import missing_right
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.announced import FINALIZED_FEATURES, SUPPORTED_FEATURES
from kgitops.serve.answers.values import NOT_ASKED_FOR, message_of, operation_bits
from kgitops.serve.call import ApiCall
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.messages import Message

_ENDPOINT_TYPES = {1: NodeKind.BROKER, 2: NodeKind.CONTROLLER}
"""The kinds of nodes that can be asked for (KIP-919)."""
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
"""org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType"""
_WITH_RESULTS = range(2)
"""The versions that have a result for each feature, if there is no error (KIP-1022)."""
_SUCCESS = "NONE"


def describe_cluster(call: ApiCall, request: Message) -> Message:
    """The nodes of the listener's own kind, with their addresses.

    Anybody may ask a broker; a controller asks for the right to alter the cluster, as Kafka's do.
    """
    at_controller = call.node.kind is NodeKind.CONTROLLER
    if at_controller and not call.allows(Operation.ALTER, ResourceType.CLUSTER):
        denied = missing_right(Operation.ALTER).result
        return messages.DescribeClusterResponse(
            error_code=denied.code, error_message=message_of(denied)
        )
    wanted = _ENDPOINT_TYPES.get(request.endpoint_type)
    if wanted is None:
        message = f"Unsupported endpoint type {request.endpoint_type}"
        return _no_such_endpoints(call, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, message)
    if wanted is not call.node.kind:
        return _no_such_endpoints(
            call,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            f"The request was sent to an endpoint of type {call.node.kind.upper()}, but we wanted "
            f"an endpoint of type {wanted.upper()}",
        )
    if wanted is NodeKind.CONTROLLER:
        nodes, controller = _controllers(call), call.cluster.active_controller.id
    else:
        nodes = _brokers(call, include_fenced=request.include_fenced_brokers)
        controller = call.cluster.announced_controller(call.image())
    return messages.DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=call.cluster.controller.cluster_id,
        controller_id=controller,
        brokers=nodes,
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED_FOR,
    )


def cluster_operations(call: ApiCall) -> int:
    """The operations on the cluster that the client may do, as bits (KIP-430)."""
    operations = call.admin.allowed_cluster_operations()
    return operation_bits(operations) if Operation.DESCRIBE in operations else 0


def _controllers(call: ApiCall) -> list[Message]:
    row = messages.DescribeClusterResponse.DescribeClusterBroker
    return [
        row(broker_id=node.id, host=node.endpoint.host, port=node.endpoint.port)
        for node in call.cluster.quorum
    ]


def _brokers(call: ApiCall, *, include_fenced: bool) -> list[Message]:
    row = messages.DescribeClusterResponse.DescribeClusterBroker
    nodes = call.cluster.nodes
    return [
        row(
            broker_id=broker.id,
            host=nodes[broker.id].endpoint.host,
            port=nodes[broker.id].endpoint.port,
            rack=broker.rack,
            is_fenced=broker.fenced,
        )
        for broker in call.image().brokers.brokers.values()
        if broker.id in nodes and (include_fenced or not broker.fenced)
    ]


def _no_such_endpoints(call: ApiCall, code: ErrorCode, message: str) -> Message:
    """The refusal; in version 0 nobody could ask for other endpoints."""
    return messages.DescribeClusterResponse(
        error_code=code if call.version > 0 else ErrorCode.INVALID_REQUEST, error_message=message
    )


def update_features(call: ApiCall, request: Message) -> Message:
    """The first error of a feature, or success: all are updated together."""
    response = messages.UpdateFeaturesResponse
    if not call.allows(Operation.ALTER, ResourceType.CLUSTER):
        denied = missing_right(Operation.ALTER).result
        return response(error_code=denied.code, error_message=denied.message)
    for update in request.feature_updates:
        problem = _problem(call, update)
        if problem is not None:
            return response(
                error_code=ErrorCode.INVALID_UPDATE_VERSION,
                error_message="The update failed for all features since the following feature had "
                f"an error: Invalid update version {update.max_version_level} for feature "
                f"{update.feature}. {problem}",
            )
    answer = response(error_message=None)
    if call.version in _WITH_RESULTS:
        row = response.UpdatableFeatureResult
        answer.results = [
            row(feature=update.feature, error_message=_SUCCESS)
            for update in request.feature_updates
        ]
    return answer


def _problem(call: ApiCall, update: Message) -> str | None:
    """The reason to refuse a new level of a feature, in the controller's words."""
    kind = update.upgrade_type if call.version >= 1 else _kind_of_version_0(update)
    level: int = update.max_version_level
    held = _level(FINALIZED_FEATURES, update.feature)
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    controller = call.cluster.active_controller.id
    if update.feature not in SUPPORTED_FEATURES:
        return f"Local controller {controller} does not support this feature."
    first, last = SUPPORTED_FEATURES[update.feature]
    if not first <= level <= last:
        return f"Local controller {controller} only supports versions {first}-{last}"
    if level < held and kind == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > held and kind != _UPGRADE:
        return "Can't downgrade to a newer version."
    if level != held:
        return "The levels of features can't be changed in an embedded cluster."
    return None


def _kind_of_version_0(update: Message) -> int:
    return _SAFE_DOWNGRADE if update.allow_downgrade else _UPGRADE


def _level(levels: Mapping[str, int], feature: str) -> int:
    return levels.get(feature, 0)
