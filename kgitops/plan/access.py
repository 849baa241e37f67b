"""Access that principals lose by a plan, and who may write the registry, by Kafka's rules.

An Allow of Read, Write, Delete or Alter also allows Describe, one of AlterConfigs DescribeConfigs;
a Deny of an operation denies only that one; a Deny overrules every Allow (StandardAuthorizer).
This considers ACLs alone: super users and allow.everyone.if.no.acl.found are known to brokers only.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.cluster_state import ClusterState
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
from kgitops.plan.document.plan import AccessLoss, Change

_T = TypeVar("_T")


def covers(rule: AclBinding, other: AclBinding) -> bool:
    """Return whether the rule's pattern matches every resource that the other's matches."""
    if rule.resource_type is not other.resource_type:
        return False
    if rule.pattern_type is PatternType.LITERAL and rule.resource_name == "*":
        return True
    if other.pattern_type is PatternType.LITERAL and other.resource_name == "*":
        return False
    if rule.pattern_type is PatternType.PREFIXED:
        return other.resource_name.startswith(rule.resource_name)
    return other.pattern_type is PatternType.LITERAL and other.resource_name == rule.resource_name


class _SortedNames:
    """Sorted names, in which those with a common prefix are adjacent."""

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._sorted = sorted(self._places)

    def starting(self, prefix: str) -> list[str]:
        """Return the names that begin with the prefix, in their original order."""
        names = self._sorted
        first = end = bisect_left(names, prefix)
        while end < len(names) and names[end].startswith(prefix):
            end += 1
        return sorted(names[first:end], key=self._places.__getitem__)


class PatternIndex(Generic[_T]):
    """Items indexed by the resource pattern of a binding; one instance serves one resource type."""

    def __init__(self) -> None:
        self._literal: dict[str, list[_T]] = {}
        self._prefixed: dict[str, list[_T]] = {}
        self._names: dict[PatternType, _SortedNames] = {}

    def add(self, binding: AclBinding, item: _T) -> None:
        self._names.clear()
        self._of(binding.pattern_type).setdefault(binding.resource_name, []).append(item)

    def reach(self, name: str) -> bool:
        """Return whether any item's pattern matches the resource ``name``."""
        return next(self._of_name(name), None) is not None

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """Yield the items whose pattern matches everything that ``binding`` matches."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.LITERAL:
            yield from self._literal.get("*", ()) if name == "*" else self._of_name(name)
            return
        yield from self._literal.get("*", ())
        yield from self._of_prefixes(name)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """Yield the items whose pattern has a resource in common with ``binding``."""
        yield from self.covering(binding)
        everything = binding.pattern_type is PatternType.LITERAL and binding.resource_name == "*"
        if binding.pattern_type is PatternType.LITERAL and not everything:
            return
        prefix = "" if everything else binding.resource_name
        for name in self._starting(PatternType.LITERAL, prefix):
            if name != "*":
                yield from self._literal[name]
        for name in self._starting(PatternType.PREFIXED, prefix):
            if everything or name != prefix:
                yield from self._prefixed[name]

    def _starting(self, pattern: PatternType, prefix: str) -> list[str]:
        """Return the names that begin with the prefix, in the order in which they were added."""
        if pattern not in self._names:
            self._names[pattern] = _SortedNames(self._of(pattern))
        return self._names[pattern].starting(prefix)

    def _of_name(self, name: str) -> Iterator[_T]:
        yield from self._literal.get("*", ())
        yield from self._literal.get(name, ())
        yield from self._of_prefixes(name)

    def _of_prefixes(self, name: str) -> Iterator[_T]:
        if self._prefixed:
            for end in range(len(name) + 1):
                yield from self._prefixed.get(name[:end], ())

    def _of(self, pattern: PatternType) -> dict[str, list[_T]]:
        return self._literal if pattern is PatternType.LITERAL else self._prefixed


_Scope = tuple[str, PatternType]
"""The virtual clusters that a binding applies to; ``kafka-cluster`` stands for none."""


class AclIndex(Generic[_T]):
    """Items indexed by whole bindings: by scope, resource type and principal, then by pattern.

    Bindings in a virtual cluster use local names of resources, global ones physical names: the two
    never meet.
    """

    def __init__(self, items: Iterable[tuple[AclBinding, _T]] = ()) -> None:
        self._index: dict[_Scope, dict[str, dict[str, PatternIndex[_T]]]] = {}
        self._wide: list[_Scope] = []
        for binding, item in items:
            self.add(binding, item)

    def add(self, binding: AclBinding, item: _T) -> None:
        scope = _scope(binding)
        if scope not in self._index and _is_wide(scope) and binding.scoped:
            self._wide.append(scope)
        types = self._index.setdefault(scope, {})
        principals = types.setdefault(binding.resource_type, {})
        principals.setdefault(binding.principal, PatternIndex()).add(binding, item)

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """Yield items for the same principal, or everyone, that match all that it matches."""
        for scope in self._scopes(binding, _reaches):
            principals = self._index[scope].get(binding.resource_type, {})
            for principal in dict.fromkeys((binding.principal, EVERYONE)):
                if principal in principals:
                    yield from principals[principal].covering(binding)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """Yield items that have a principal and a resource in common with ``binding``."""
        everyone = binding.principal == EVERYONE
        for scope in self._scopes(binding, _scopes_meet):
            principals = self._index[scope].get(binding.resource_type, {})
            for principal in principals if everyone else (binding.principal, EVERYONE):
                if principal in principals:
                    yield from principals[principal].meeting(binding)

    def _scopes(
        self, binding: AclBinding, related: Callable[[_Scope, _Scope], bool]
    ) -> Iterator[_Scope]:
        """Yield the scopes related to that of ``binding``; one lookup if none is a pattern."""
        scope = _scope(binding)
        if not binding.scoped or not (self._wide or _is_wide(scope)):
            if scope in self._index:
                yield scope
            return
        candidates = self._index if _is_wide(scope) else [*self._wide, scope]
        yield from (other for other in candidates if other in self._index and related(other, scope))


def _scope(binding: AclBinding) -> _Scope:
    return binding.virtual_cluster, binding.virtual_cluster_pattern_type


def _is_wide(scope: _Scope) -> bool:
    return scope[1] is PatternType.PREFIXED or scope[0] == "*"


def _reaches(scope: _Scope, other: _Scope) -> bool:
    """Return whether a scope includes every virtual cluster of the other (VC-144)."""
    name, pattern = scope
    if scope == other:
        return True
    if CLUSTER_NAME in (name, other[0]):
        return False
    if pattern is PatternType.PREFIXED:
        return other[0] != "*" and other[0].startswith(name)
    return name == "*"


def _scopes_meet(scope: _Scope, other: _Scope) -> bool:
    return _reaches(scope, other) or _reaches(other, scope)


class ResourcesInUse:
    """The topics of a cluster, and the cluster itself, with the ACLs that guard them.

    Under allow.everyone.if.no.acl.found a resource that no ACL matches is open to all; from the
    first ACL on, even an Allow for one principal, only principals that an ACL allows get access.
    """

    def __init__(self, current: ClusterState) -> None:
        self._current = current

    def unguarded(self, binding: AclBinding) -> bool:
        """Return whether ``binding`` would be the first ACL on a resource that exists."""
        if binding.scoped:
            return False  # its resources are those of a virtual cluster, by their local names
        match binding.resource_type:
            case ResourceType.CLUSTER if binding.resource_name != CLUSTER_NAME:
                return False
            case ResourceType.CLUSTER:
                return not self._cluster_has_rules
            case ResourceType.TOPIC:
                return self._reaches_bare_topic(binding)
            case _:
                return False

    @cached_property
    def _cluster_has_rules(self) -> bool:
        return any(
            acl.resource_type is ResourceType.CLUSTER and acl.resource_name == CLUSTER_NAME
            for acl in self._current.acls
        )

    @cached_property
    def _bare_topics(self) -> list[str]:
        guards: PatternIndex[AclBinding] = PatternIndex()
        for acl in self._current.acls:
            if acl.resource_type is ResourceType.TOPIC and not acl.scoped:
                guards.add(acl, acl)
        topics = self._current.topics
        return sorted(n for n in topics if not topics[n].internal and not guards.reach(n))

    def _reaches_bare_topic(self, binding: AclBinding) -> bool:
        bare, name = self._bare_topics, binding.resource_name
        if binding.pattern_type is PatternType.LITERAL and name == "*":
            return bool(bare)
        at = bisect_left(bare, name)
        if at == len(bare):
            return False
        if binding.pattern_type is PatternType.LITERAL:
            return bare[at] == name
        return bare[at].startswith(name)


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
