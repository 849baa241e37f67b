"""ACLs as documents: those of a principal together, the operations on one resource in one."""

from collections.abc import Iterable

from msgspec.structs import replace

from kgitops.kinds.exports import (
    Document,
    Exporting,
    ExportNotes,
    ExportScope,
    Inline,
    Item,
    as_document,
    written_policy,
)
from kgitops.model.registry import Json
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.names import REGISTRY_TOPIC

_ANY = "*"


def export_acls(of: Exporting) -> list[Item]:
    """Every binding that the project may declare."""
    by_principal: dict[str, list[AclBinding]] = {}
    for acl in sorted(of.state.acls):
        if _can_be_declared(acl, of.notes) and of.scope.may_declare(acl_address(acl)):
            by_principal.setdefault(acl.principal, []).append(acl)
    return [
        Item(_label(principal), acl_documents(principal, acls, of.scope))
        for principal, acls in sorted(by_principal.items())
    ]


def _can_be_declared(acl: AclBinding, notes: ExportNotes) -> bool:
    kind = acl.resource_type
    if kind == "topic" and acl.resource_name == REGISTRY_TOPIC:
        notes.add(acl_address(acl), "left out, the topic belongs to kgitops")
        return False
    if acl.operation not in _legal_operations(acl):
        # Kafka's controller takes any operation; none of its tools and no authorizer uses these.
        problem = f"left out, {acl.operation} means nothing on a {kind}"
        notes.add(acl_address(acl), problem, lost=True)
        return False
    return True


def _legal_operations(acl: AclBinding) -> frozenset[Operation]:
    legal = OPERATIONS[acl.resource_type] | {Operation.ALL}
    if acl.resource_type is ResourceType.CLUSTER:
        legal |= VIRTUAL_CLUSTER_OPERATIONS
        if acl.resource_name != CLUSTER_NAME:
            legal |= {Operation.DELETE}
    return legal


def acl_documents(principal: str, acls: Iterable[AclBinding], scope: ExportScope) -> list[Document]:
    """One for each resource, host, permission and policy, with all the operations."""
    groups: dict[tuple[AclBinding, str | None], list[str]] = {}
    for acl in acls:
        policy = written_policy(scope.last_applied(acl_address(acl))).get("deletionPolicy")
        groups.setdefault((without_operation(acl), policy), []).append(acl.operation.value)
    return [
        as_document("Acl", _name(acl), _spec(principal, acl, sorted(operations), policy))
        for (acl, policy), operations in groups.items()
    ]


def _spec(
    principal: str, acl: AclBinding, operations: list[str], policy: str | None
) -> dict[str, Json]:
    scope: dict[str, Json] = {}
    if acl.scoped:
        scope["virtualCluster"] = acl.virtual_cluster
        if acl.virtual_cluster_pattern_type is PatternType.PREFIXED:
            scope["virtualClusterPatternType"] = acl.virtual_cluster_pattern_type.value
    return {
        **scope,
        "principal": principal,
        "host": acl.host,
        "permission": acl.permission_type.value,
        "operations": operations,
        "resource": Inline(
            {
                "type": acl.resource_type.value,
                "name": acl.resource_name,
                "patternType": acl.pattern_type.value,
            }
        ),
        **({"deletionPolicy": policy} if policy else {}),
    }


def without_operation(acl: AclBinding) -> AclBinding:
    """The binding without its operation: the part that a document's bindings share."""
    return replace(acl, operation=Operation.ALL)


def _name(acl: AclBinding) -> str:
    """``billing-topic-orders``, ``billing-deny-topic-orders-prefixed-from-10.0.0.1``."""
    deny = "deny-" if acl.permission_type is PermissionType.DENY else ""
    prefixed = "-prefixed" if acl.pattern_type is PatternType.PREFIXED else ""
    host = "" if acl.host == _ANY else f"-from-{acl.host}"
    resource = f"{acl.resource_type}-{acl.resource_name}{prefixed}"
    return f"{_scope(acl)}{_label(acl.principal)}-{deny}{resource}{host}"


def _scope(acl: AclBinding) -> str:
    if not acl.scoped:
        return ""
    every = acl.virtual_cluster_pattern_type is PatternType.PREFIXED
    return f"{acl.virtual_cluster}{'-prefixed' if every else ''}-"


def _label(principal: str) -> str:
    """A principal without its type, which is User nearly always; ``User:*`` is everyone."""
    name = principal.removeprefix("User:")
    return "everyone" if name == _ANY else name
