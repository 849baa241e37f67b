"""The shape of ``last_applied`` in an owner's record, by kind; ``plan.normal_form`` writes it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, defstruct

from kgitops.model.json.codec import WholeNumberText, decode_special
from kgitops.model.json.objects import Entity, ShortestDecimals
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.addresses import CREDENTIALS, GLOBAL_GROUP, kind_of
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import CapLowering, EntityType

_Shape = type[Struct]
_Configs = dict[str, str]
_Offsets = dict[WholeNumberText, WholeNumberText]


def _shape(name: str, optional: Mapping[str, Any] | None = None, /, **fields: Any) -> _Shape:  # noqa: ANN401 (any annotation)
    more = [(key, kind, None) for key, kind in (optional or {}).items()]
    return defstruct(name, [*fields.items(), *more], kw_only=True)


_Origin = _shape("Origin", member=str, copiedFrom=str)
_Credential: Any = _shape("Credential", iterations=int, password=PasswordSource, version=str | None)
_Lowering = _shape("Lowering", capLowering=CapLowering, denyWins=bool)
_Target = _shape("Target", virtualCluster=str, topic=str)
_Resource = _shape("Resource", type=ResourceType, name=str, patternType=PatternType)
_Reset = _shape(
    "Reset",
    version=str,
    position=str | None,
    timestamp=WholeNumberText | None,
    offsets=dict[str, _Offsets],
    topics=list[str],
)


def _declaration(kind: str, optional: Mapping[str, Any] | None = None, /, **fields: Any) -> _Shape:  # noqa: ANN401 (any annotation)
    return _shape(
        kind,
        {"tombstones": list[str], **(optional or {})},
        kind=Literal[kind],
        deletionPolicy=Literal["Protect", "Delete", "Orphan"],
        deletionPolicyWritten=bool,
        **fields,
    )


def _member(kind: str) -> _Shape:
    return _declaration(
        kind,
        virtualCluster=str,
        type=EntityType,
        name=str,
        copyAclsFrom=str | None,
        removeOldAclsFrom=str | None,
        move=bool,
        adopt=str | None,
        copyOffsets=bool,
    )


_TOPIC = _declaration(
    "Topic",
    {"virtualCluster": str, "shareWith": list[str]},
    name=str,
    partitions=int,
    replicationFactor=int,
    assignments=list[list[int]] | None,
    configs=_Configs,
    configsPolicy=Literal["Declared", "Exact"],
    deleteRecordsBefore=_Offsets,
)
_LINK = _declaration(
    "TopicLink", virtualCluster=str, name=str, topic=str | None, target=_Target | None
)
_ACL = _declaration(
    "Acl",
    {"virtualCluster": str, "virtualClusterPatternType": PatternType, "origin": _Origin},
    principal=str,
    host=str,
    permission=PermissionType,
    operation=Operation,
    resource=_Resource,
)
_QUOTA = _declaration("ClientQuota", entity=Entity, quotas=dict[str, ShortestDecimals])
_USER = _declaration(
    "User", {"virtualCluster": str}, name=str, scram=dict[ScramMechanism, _Credential]
)
_GROUP = _declaration("ConsumerGroup", name=str, configs=_Configs, resetOffsets=_Reset | None)
_METRICS = _declaration("ClientMetrics", name=str, configs=_Configs)
_VIRTUAL_CLUSTER = _declaration(
    "VirtualCluster", name=str, lowering=_Lowering, mode=Literal["authoritative", "additive"]
)
_BINDING = _member("VirtualClusterBinding")

_SHAPES: Mapping[str, tuple[_Shape, ...]] = {
    "topic": (_TOPIC,),
    "link": (_LINK, _TOPIC),
    "acl": (_ACL,),
    "quota": (_QUOTA,),
    CREDENTIALS: (_USER,),
    "vc": (_VIRTUAL_CLUSTER,),
    "user": (_BINDING,),
    "client": (_BINDING,),
    "txn": (_BINDING,),
    "group": (_member("ConsumerGroup"),),
    GLOBAL_GROUP: (_GROUP,),
    "client-metrics": (_METRICS,),
}


def check_declaration(address: str, owner: Owner) -> None:
    """Check the shape of ``owner.last_applied``; kinds of a newer kgitops are passed over.

    Raises:
        ShapeError: it is not what kgitops records for an object of this address.
    """
    shapes = _SHAPES.get(kind_of(address), ())
    problem = None
    for shape in shapes:
        try:
            msgspec.convert(owner.last_applied, shape, dec_hook=decode_special)
        except msgspec.ValidationError as error:
            problem = problem or str(error)
        else:
            return
    if problem:
        raise ShapeError(f"own/{address}.last_applied is no declaration: {problem}")
