"""UpdateFeatures: the levels of features are fixed here, so only no change is allowed."""

from collections.abc import Mapping

from kgitops.cluster.embedded.refusal import missing_right
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.announced import FINALIZED_FEATURES, SUPPORTED_FEATURES
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
"""org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType"""
_WITH_RESULTS = range(2)
"""The versions that have a result for each feature, if there is no error (KIP-1022)."""
_SUCCESS = "NONE"


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
