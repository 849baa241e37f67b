"""What principals can no longer do after a plan, by Kafka's authorization rules.

An Allow of Read, Write, Delete or Alter also allows Describe, of AlterConfigs DescribeConfigs; a
Deny of an operation denies just that one; a Deny wins over every Allow (StandardAuthorizer).
Only what ACLs say is known here: super users and allow.everyone.if.no.acl.found are the brokers'.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kgitops.model.acls import (
    IMPLIED,
    OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
)
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.plan.plan import AccessLoss, Change

_EVERYONE = "User:*"


def access_losses(
    before: frozenset[AclBinding], changes: Iterable[Change], requester: str
) -> tuple[AccessLoss, ...]:
    """Every (principal, operation, resource) that is allowed before the changes and not after."""
    added, removed = set(), set()
    for planned in (planned for change in changes for planned in change.requests):
        match planned.request:
            case CreateAclRequest(binding=binding):
                added.add(binding)
            case DeleteAclRequest(binding=binding):
                removed.add(binding)
            case _:
                pass
    questions = {acl for acl in removed if acl.permission_type is PermissionType.ALLOW}
    denies = [acl for acl in added if acl.permission_type is PermissionType.DENY]
    if denies:
        allows = [acl for acl in before if acl.permission_type is PermissionType.ALLOW]
        meetings = (_meet(allow, deny) for allow in allows for deny in denies)
        questions |= {meeting for meeting in meetings if meeting is not None}
    if not questions:
        return ()
    old, new = _Rules.of(before), _Rules.of((before | added) - removed)
    losses = {
        AccessLoss(
            principal=question.principal,
            operation=operation.value,
            resource=f"{question.resource_type} {question.resource_name} ({question.pattern_type})",
            requester=question.principal in (requester, _EVERYONE),
        )
        for question in questions
        for operation in _granted(question)
        if old.allows(question, operation) and not new.allows(question, operation)
    }
    return tuple(sorted(losses, key=lambda loss: (loss.principal, loss.resource, loss.operation)))


@dataclass(frozen=True, slots=True)
class _Rules:
    """Bindings by resource type and principal: what one question has to look at."""

    index: dict[tuple[str, str], list[AclBinding]]

    @classmethod
    def of(cls, acls: Iterable[AclBinding]) -> "_Rules":
        index: dict[tuple[str, str], list[AclBinding]] = {}
        for acl in acls:
            index.setdefault((acl.resource_type, acl.principal), []).append(acl)
        return cls(index)

    def allows(self, question: AclBinding, operation: Operation) -> bool:
        """Whether the question's principal may do ``operation`` on its whole resource pattern."""
        rules = [
            *self.index.get((question.resource_type, question.principal), ()),
            *(
                self.index.get((question.resource_type, _EVERYONE), ())
                if question.principal != _EVERYONE
                else ()
            ),
        ]
        covering = [rule for rule in rules if _covers(rule, question)]
        if any(
            rule.permission_type is PermissionType.DENY
            and rule.operation in (operation, Operation.ALL)
            for rule in covering
        ):
            return False
        return any(
            rule.permission_type is PermissionType.ALLOW and operation in _granted(rule)
            for rule in covering
        )


def _granted(acl: AclBinding) -> frozenset[Operation]:
    if acl.operation is Operation.ALL:
        return OPERATIONS[acl.resource_type]
    return frozenset({acl.operation}) | IMPLIED.get(acl.operation, frozenset())


def _covers(rule: AclBinding, question: AclBinding) -> bool:
    """Whether a rule reaches everything that the question's pattern and host reach."""
    if rule.host not in ("*", question.host):
        return False
    name = rule.resource_name
    if rule.pattern_type is PatternType.PREFIXED:
        return question.resource_name.startswith(name)
    if name == "*":
        return True
    return question.pattern_type is PatternType.LITERAL and question.resource_name == name


def _meet(allow: AclBinding, deny: AclBinding) -> AclBinding | None:
    """What an Allow grants where a Deny reaches: the narrower of each part, None if they miss."""
    if allow.resource_type is not deny.resource_type:
        return None
    if allow.principal != deny.principal and _EVERYONE not in (allow.principal, deny.principal):
        return None
    if allow.host != deny.host and "*" not in (allow.host, deny.host):
        return None
    host = deny.host if allow.host == "*" else allow.host
    narrower = next(
        (
            one
            for one, other in ((allow, deny), (deny, allow))
            if _covers(replace(other, host="*"), one)
        ),
        None,
    )
    if narrower is None:
        return None
    return replace(
        allow,
        principal=deny.principal if allow.principal == _EVERYONE else allow.principal,
        host=host,
        resource_name=narrower.resource_name,
        pattern_type=narrower.pattern_type,
    )
