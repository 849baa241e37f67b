"""What no broker sees and is refused all the same: ACLs and quotas that no virtual cluster has."""

import math

from kgitops.lowering.acls import is_logical
from kgitops.model.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.model.quotas import INTEGRAL_KEYS, IP, VIRTUAL_CLUSTER, ClientQuotaEntity, quota_keys
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest, Request
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.model.virtual_clusters import virtual_cluster_name_problem

_EVERY = "*"
_MOST = float(2**63 - 1)


def refusal(request: Request) -> RequestResult | None:
    """Why brokers that know virtual clusters would refuse an ACL or a quota as such; None: no."""
    match request:
        case CreateAclRequest(binding=binding) if is_logical(binding):
            problem = _of_binding(binding)
        case AlterClientQuotaRequest(entity=entity) if entity and entity[0][0] == VIRTUAL_CLUSTER:
            found = (_of_value(entity, key, value) for key, value in request.quotas.items())
            problem = _of_entity(entity) or next(filter(None, found), None)
        case _:
            problem = None
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem) if problem else None


def _of_binding(binding: AclBinding) -> str | None:
    if not binding.resource_name:
        return "Invalid empty resource name"
    if ":" not in binding.principal:
        return (
            f"Could not parse principal from `{binding.principal}` (no colon is present "
            "separating the principal type from the principal name)"
        )
    if binding.resource_type is not ResourceType.CLUSTER:
        return _of_scope(binding.virtual_cluster, binding.virtual_cluster_pattern_type)
    if binding.scoped:
        return (
            "An ACL on the CLUSTER resource has no scope: its resource name is the virtual cluster"
        )
    if binding.resource_name == CLUSTER_NAME:
        return None
    return _of_scope(binding.resource_name, binding.pattern_type)


def _of_scope(name: str, pattern: PatternType) -> str | None:
    if name == _EVERY and pattern is PatternType.LITERAL:
        return None
    if name in (CLUSTER_NAME, ".", "..") and pattern is PatternType.PREFIXED:
        return None
    problem = virtual_cluster_name_problem(name)
    return f"Invalid virtual cluster: {problem}" if problem else None


def _of_entity(entity: ClientQuotaEntity) -> str | None:
    """VC-205, VC-206, VC-209."""
    name = entity[0][1]
    if any(kind == IP for kind, _ in entity):
        return "Invalid quota entity combination, an IP entity can't be in a virtual cluster"
    problem = virtual_cluster_name_problem(name) if name is not None else None
    if problem:
        return f"No quota can be set: {problem}"
    if name is None and len(entity) > 1:
        return "The default virtual cluster can have a cap, no quotas of users or clients"
    empty = next((kind for kind, part in entity if part == ""), None)
    return f"Empty {empty} not supported" if empty else None


def _of_value(entity: ClientQuotaEntity, key: str, value: float | None) -> str | None:
    """VC-210."""
    if key not in quota_keys(entity):
        return f"Invalid configuration key {key}"
    if value is None:
        return None
    if not math.isfinite(value) or value <= 0:
        return f"Quota {key} must be greater than 0"
    if key not in INTEGRAL_KEYS:
        return None
    if value > _MOST:
        return f"Proposed value for {key} is too large for a LONG."
    return f"{key} cannot be a fractional value." if value != int(value) else None
