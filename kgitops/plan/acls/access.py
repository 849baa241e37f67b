"""Access that principals lose by a plan, and who may write the registry, by Kafka's rules.

An Allow of Read, Write, Delete or Alter also allows Describe, one of AlterConfigs DescribeConfigs;
a Deny of an operation denies only that one; a Deny overrules every Allow (StandardAuthorizer).
This considers ACLs alone: super users and allow.everyone.if.no.acl.found are known to brokers only.
"""

from collections.abc import Iterable, Mapping, Set

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    IMPLIED,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    host_covers,
)
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.source import Finding, Severity
from kgitops.plan.acls.patterns import AclIndex, covers
from kgitops.plan.document.plan import AccessLoss, Change


def access_losses(
    before: Set[AclBinding], changes: Iterable[Change], requester: str, *, host_ranges: bool = False
) -> tuple[AccessLoss, ...]:
    """Return every (principal, operation, resource) that is allowed before the changes, not after.

    ``host_ranges``: the brokers match hosts such as ``10.0.0.0/8`` as ranges.
    Rights that only move into a virtual cluster are not lost (VC-191).
    """
    added, removed = set(), set()
    for planned in (planned for change in changes for planned in change.requests):
        match planned.request:
            case CreateAclRequest(binding=binding):
                added.add(binding)
            case DeleteAclRequest(binding=binding, migrated_to=None):
                removed.add(binding)
            case _:
                pass
    questions = {acl for acl in removed if acl.permission_type is PermissionType.ALLOW}
    denies = [acl for acl in added if acl.permission_type is PermissionType.DENY]
    if denies:
        allows = AclIndex((a, a) for a in before if a.permission_type is PermissionType.ALLOW)
        questions |= {
            _meet(allow, deny, ranges=host_ranges)
            for deny in denies
            for allow in allows.meeting(deny)
        }
    if not questions:
        return ()
    # ACLs of other principals, nearly all of a large cluster's, are irrelevant to the questions.
    asked = {requester, EVERYONE, *(question.principal for question in questions)}
    there = {acl for acl in before if acl.principal in asked}
    check = _AccessComparison(
        old=_rules(there), new=_rules((there | added) - removed), ranges=host_ranges
    )
    losses = {
        AccessLoss(
            principal=question.principal,
            operation=operation.value,
            resource=resource_text(question),
            requester=question.principal in (requester, EVERYONE)
            and operation in check.lost(replace(question, principal=requester)),
        )
        for question in questions
        for operation in check.lost(question)
    }
    return tuple(sorted(losses, key=lambda loss: (loss.principal, loss.resource, loss.operation)))


def with_rights_lost(changes: Iterable[Change], losses: Iterable[AccessLoss]) -> tuple[Change, ...]:
    """Add ``impact["rights_lost"]`` to the changes that take rights away: the lost operations.

    It lists only losses of the ACL's own principal on the ACL's own resource. For a removed ACL it
    is empty if others still allow the same, or if a Deny refused it before.
    """
    lost: dict[tuple[str, str], list[Operation]] = {}
    for loss in losses:
        lost.setdefault((loss.principal, loss.resource), []).append(Operation(loss.operation))
    return tuple(_with_lost(change, lost) for change in changes)


def restricting_acl(change: Change) -> AclBinding | None:
    """Return the Allow that a change removes, or the Deny that it adds; None for other changes."""
    for planned in change.requests:
        match planned.request:
            case CreateAclRequest(binding=rule) if rule.permission_type is PermissionType.DENY:
                return rule
            case DeleteAclRequest(binding=rule, migrated_to=None) if (
                rule.permission_type is PermissionType.ALLOW
            ):
                return rule
            case _:
                pass
    return None


def _with_lost(change: Change, lost: Mapping[tuple[str, str], list[Operation]]) -> Change:
    rule = restricting_acl(change)
    if rule is None:
        return change
    denies = rule.permission_type is PermissionType.DENY
    reach = frozenset({rule.operation}) if denies else _granted(rule)
    operations = lost.get((rule.principal, resource_text(rule)), ())
    own = [str(each) for each in operations if each in reach or rule.operation is Operation.ALL]
    if denies and not own:
        return change
    return replace(change, impact={**change.impact, "rights_lost": own})


class _AccessComparison(Struct, frozen=True):
    """The ACLs before and after a plan."""

    old: AclIndex[AclBinding]
    new: AclIndex[AclBinding]
    ranges: bool

    def lost(self, question: AclBinding) -> frozenset[Operation]:
        """Return the operations of the question that its principal could do, and now can't."""
        granted = _granted(question)
        before, after = (
            _allowed(rules, question, granted, ranges=self.ranges) for rules in (self.old, self.new)
        )
        return before - after


def _rules(acls: Iterable[AclBinding]) -> AclIndex[AclBinding]:
    return AclIndex((acl, acl) for acl in acls)


def _allowed(
    rules: AclIndex[AclBinding],
    question: AclBinding,
    operations: frozenset[Operation],
    *,
    ranges: bool,
) -> frozenset[Operation]:
    """Return the operations that the question's principal may do on its whole resource pattern."""
    allowed: set[Operation] = set()
    denied: set[Operation] = set()
    for rule in rules.covering(question):
        if not host_covers(rule.host, question.host, ranges=ranges):
            continue
        if rule.permission_type is PermissionType.ALLOW:
            allowed |= _granted(rule)
        elif rule.operation is Operation.ALL:
            denied |= operations
        else:
            denied.add(rule.operation)
    return (operations & allowed) - denied


def _granted(acl: AclBinding) -> frozenset[Operation]:
    if acl.operation is Operation.ALL:
        operations = OPERATIONS[acl.resource_type]
        of_one = acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME
        return operations | VIRTUAL_CLUSTER_OPERATIONS if of_one else operations
    return frozenset({acl.operation}) | IMPLIED.get(acl.operation, frozenset())


def resource_text(question: AclBinding) -> str:
    """Describe a resource: ``topic orders (prefixed)``, with its host and virtual cluster."""
    where = "" if question.host == "*" else f" from {question.host}"
    if question.scoped:
        prefixed = question.virtual_cluster_pattern_type is PatternType.PREFIXED
        scope = f"{question.virtual_cluster}*" if prefixed else question.virtual_cluster
        where = f" in virtual cluster {scope}{where}"
    return f"{question.resource_type} {question.resource_name} ({question.pattern_type}){where}"


def _meet(allow: AclBinding, deny: AclBinding, *, ranges: bool) -> AclBinding:
    """Intersect an Allow with a Deny that meets it: the narrower of each part."""
    narrower = allow if covers(deny, allow) else deny
    return replace(
        allow,
        principal=deny.principal if allow.principal == EVERYONE else allow.principal,
        host=deny.host if host_covers(allow.host, deny.host, ranges=ranges) else allow.host,
        resource_name=narrower.resource_name,
        pattern_type=narrower.pattern_type,
    )


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


def warn_of_registry_writers(acls: Iterable[AclBinding], principal: str) -> tuple[Finding, ...]:
    """Warn of other principals that may write or destroy the registry, and so forge ownership.

    A Deny of the same takes the right away again.
    """
    rules = [acl for acl in acls if covers(acl, _REGISTRY) and not acl.scoped]
    denies = [acl for acl in rules if acl.permission_type is PermissionType.DENY]
    harmful = {
        (acl.principal, operation.value)
        for acl in rules
        if acl.permission_type is PermissionType.ALLOW and acl.principal != principal
        for operation in _HARMFUL
        if acl.operation in (operation, Operation.ALL)
        and not any(_denies(deny, acl, operation) for deny in denies)
    }
    if not harmful:
        return ()
    names = sorted({who for who, _ in harmful})
    rights = [
        f"{who} ({', '.join(sorted(right for other, right in harmful if other == who))})"
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
