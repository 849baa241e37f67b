"""Validates ACLs and quotas as brokers do, regardless of the principal."""

import math

from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.model.resources.quotas import (
    INTEGRAL_KEYS,
    IP,
    IP_KEYS,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    quota_keys,
)
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.virtual_clusters.rights import EVERY

_ROUNDING_ERROR = 1e-6


def binding_problem(binding: AclBinding) -> str | None:
    """The error in a new binding (VC-140, VC-143), or None."""
    if not binding.resource_name:
        return "Invalid empty resource name"
    problem = _scope_problem(binding)
    if problem:
        return problem
    if ":" not in binding.principal:
        return (
            f"Could not parse principal from `{binding.principal}` (no colon is present "
            "separating the principal type from the principal name)"
        )
    return None


def entity_problem(entity: ClientQuotaEntity) -> str | None:
    """The error in the entity of a quota (VC-205, VC-206, VC-209), or None."""
    if len(entity) > 1 and any(kind == IP for kind, _ in entity):
        return (
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    kind, name = entity[0]
    if kind == VIRTUAL_CLUSTER:
        problem = virtual_cluster_name_problem(name) if name is not None else None
        if problem:
            return f"No quota can be set: {problem}"
        if name is None and len(entity) > 1:
            return "The default virtual cluster can have a cap, no quotas of users or clients"
    empty = next((kind for kind, name in entity if name == ""), None)
    return f"Empty {empty} not supported" if empty else None


def quota_problem(entity: ClientQuotaEntity, key: str, value: float | None) -> str | None:
    """The error in one value of a quota (VC-210), or None; the value None removes it."""
    if key not in quota_keys(entity):
        return f"Invalid configuration key {key}"
    if value is None:
        return None
    if not math.isfinite(value) or value <= 0:
        return f"Quota {key} must be greater than 0"
    if key not in INTEGRAL_KEYS:
        return None
    kind, most = ("INT", 2**31 - 1) if key in IP_KEYS else ("LONG", 2**63 - 1)
    if value > float(most):
        return f"Proposed value for {key} is too large for a{'n' * (kind == 'INT')} {kind}."
    return f"{key} cannot be a fractional value." if value % 1 > _ROUNDING_ERROR else None


def _scope_problem(binding: AclBinding) -> str | None:
    """The error in the scope, or in the resource name of a binding on CLUSTER, or None."""
    name, pattern = binding.virtual_cluster, binding.virtual_cluster_pattern_type
    if binding.resource_type is ResourceType.CLUSTER:
        if (name, pattern) != (CLUSTER_NAME, PatternType.LITERAL):
            return (
                "An ACL on the CLUSTER resource has no scope: its resource name is the virtual "
                "cluster"
            )
        name, pattern = binding.resource_name, binding.pattern_type
        if name == CLUSTER_NAME:
            return None
    literal = pattern is PatternType.LITERAL
    if literal and name in (CLUSTER_NAME, EVERY):
        return None
    if not literal and name in (CLUSTER_NAME, ".", ".."):
        return None
    problem = virtual_cluster_name_problem(name)
    return f"Invalid virtual cluster: {problem}" if problem else None
