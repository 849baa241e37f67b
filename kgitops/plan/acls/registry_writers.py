"""Who else may write or destroy the registry, by the ACLs: whoever can, can forge ownership."""

from collections.abc import Iterable

from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.source import Finding, Severity
from kgitops.plan.acls.patterns import covers

_HARMFUL = (Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS)
_SHOWN = 5
_REGISTRY = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name=REGISTRY_TOPIC,
    pattern_type=PatternType.LITERAL,
    principal=EVERYONE,
    host="*",
    operation=Operation.ALL,
    permission_type=PermissionType.ALLOW,
)


def registry_writers(acls: Iterable[AclBinding], principal: str) -> tuple[Finding, ...]:
    """A warning that names them; a Deny of the same takes the right away again."""
    rules = [acl for acl in acls if covers(acl, _REGISTRY) and not acl.scoped]
    denies = [acl for acl in rules if acl.permission_type is PermissionType.DENY]
    found = {
        (acl.principal, operation.value)
        for acl in rules
        if acl.permission_type is PermissionType.ALLOW and acl.principal != principal
        for operation in _HARMFUL
        if acl.operation in (operation, Operation.ALL)
        and not any(_denies(deny, acl, operation) for deny in denies)
    }
    if not found:
        return ()
    names = sorted({who for who, _ in found})
    rights = [
        f"{who} ({', '.join(sorted(right for other, right in found if other == who))})"
        for who in names[:_SHOWN]
    ]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return (
        Finding(
            source=None,
            problem=f"others may change the topic {REGISTRY_TOPIC}, where kgitops keeps who owns "
            f"what: {', '.join([*rights, *more])}",
            advice="take the right away, or deny it on that topic, unless they run kgitops too",
            severity=Severity.WARNING,
        ),
    )


def _denies(deny: AclBinding, allow: AclBinding, operation: Operation) -> bool:
    return (
        deny.principal in (allow.principal, EVERYONE)
        and deny.host in (allow.host, "*")
        and deny.operation in (operation, Operation.ALL)
    )
