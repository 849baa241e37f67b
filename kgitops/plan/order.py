"""The order in which changes run: creations first, deletions last and in the reverse order.

Topics before the ACLs that name them, a Deny before an Allow; then, in reverse, ACLs before
the topic they name. A Deny is removed only after every Allow that is removed (A4-85).
Whoever administers a virtual cluster may touch the credentials of its members alone (VC-160c): so a
user is let in before its password is set, and its credentials go before its membership does.

Between requests about virtual clusters (VC-401, VC-402), in linear time: a creation waits only for
the objects that it names; a new member for all creations in the virtual cluster; a removal for all
new members, so that the old names work until the new do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    AclBinding,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.model.resources.quotas import USER, VIRTUAL_CLUSTER
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, EntityType, as_principal
from kgitops.plan.access import AclIndex
from kgitops.plan.document.plan import Action, Change, PlannedRequest
from kgitops.plan.phases import order_key


def virtual_cluster_of(request: req.Request) -> str | None:
    """Return the one virtual cluster that a request is about, if any."""
    match request:
        case req.TopicRequest(local=local):
            return local.virtual_cluster if local else None
        case req.DeleteAclRequest(migrated_to=member) if member:
            scoped = split_scoped_address(member)
            return scoped.virtual_cluster if scoped else None
        case req.AclRequest(binding=binding):
            return _of_binding(binding)
        case req.AlterClientQuotaRequest(entity=entity):
            return dict(entity).get(VIRTUAL_CLUSTER)
        case req.VirtualClusterRequest():
            return request.virtual_cluster
        case _:
            return None


def _of_binding(binding: AclBinding) -> str | None:
    if binding.scoped:
        exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
        return binding.virtual_cluster if exact and binding.virtual_cluster != "*" else None
    exact = binding.pattern_type is PatternType.LITERAL and binding.resource_name != "*"
    cluster = binding.resource_type is ResourceType.CLUSTER
    named = cluster and exact and binding.resource_name != CLUSTER_NAME
    return binding.resource_name if named else None


def lets_in(request: req.Request) -> bool:
    """Return whether the request adds a user or client id."""
    return (
        isinstance(request, req.AlterVirtualClusterRequest)
        and request.change is ChangeType.ADD
        and request.entity_type in EXCLUSIVE
    )


def is_late(request: req.Request) -> bool:
    """True if the request removes old rights after all members are in (``removeOldAclsFrom``)."""
    return isinstance(request, req.DeleteAclRequest) and request.migrated_to is not None


def breaks(request: req.Request) -> bool:
    """Return whether something may stop working because of the request."""
    match request:
        case req.AlterClientQuotaRequest(quotas=quotas):
            return all(value is None for value in quotas.values())
        case req.AlterVirtualClusterRequest(change=change):
            return change is ChangeType.REMOVE
        case (
            req.DeleteAclRequest()
            | req.DeleteTopicRequest()
            | req.DeleteVirtualClusterRequest()
            | req.DeleteGroupRequest()
            | req.DeleteConsumerGroupRequest()
        ):
            return True
        case _:
            return False


_NAMED = {
    ResourceType.TOPIC: EntityType.TOPIC,
    ResourceType.GROUP: EntityType.GROUP,
    ResourceType.TRANSACTIONAL_ID: EntityType.TRANSACTIONAL_ID,
}
_Lists = dict[str, list[str]]
_Named = dict[tuple[str, EntityType, str], list[str]]


class VirtualClusterEdges:
    """The ids of requests that others may have to wait for, indexed by their objects.

    ``_ups`` create something in a virtual cluster, ``_binds`` add members or move them to another
    one, ``_downs`` remove something.
    """

    def __init__(self, requests: Sequence[PlannedRequest]) -> None:
        self._created: _Lists = {}
        self._topics: _Lists = {}
        self._made: _Named = {}
        self._gone: _Named = {}
        self._revoked: _Named = {}
        self._unlinked: _Lists = {}
        self._ups: _Lists = {}
        self._binds: _Lists = {}
        self._downs: _Lists = {}
        for planned in requests:
            self._file(planned)
        self._tips = self._last(requests) if self._ups else {}

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """Yield the ids of the requests that must be done before this one."""
        if not (self._ups or self._binds or self._downs or self._unlinked):
            return iter(())
        return (name for name in self._all(planned) if name != planned.id)

    def _file(self, planned: PlannedRequest) -> None:
        name, request = planned.id, planned.request
        at = virtual_cluster_of(request)
        match request:
            case req.CreateVirtualClusterRequest():
                self._created.setdefault(request.virtual_cluster, []).append(name)
            case req.CreateTopicRequest(local=None):
                self._topics.setdefault(request.topic, []).append(name)
            case req.CreateTopicRequest(local=local) if local:
                key = (local.virtual_cluster, EntityType.TOPIC, local.name)
                self._made.setdefault(key, []).append(name)
            case req.DeleteAclRequest(binding=binding) if at and binding.scoped:
                named = _NAMED.get(binding.resource_type)
                if named and binding.pattern_type is PatternType.LITERAL:
                    key = (at, named, binding.resource_name)
                    self._revoked.setdefault(key, []).append(name)
            case req.AlterVirtualClusterRequest(entity_type=kind, entity_name=entity) if (
                kind and entity
            ):
                removes = request.change is ChangeType.REMOVE
                key = (request.virtual_cluster, kind, entity)
                (self._gone if removes else self._made).setdefault(key, []).append(name)
                unlinked = planned.expects.fields.get("topic") if removes else request.replaces
                if unlinked:
                    self._unlinked.setdefault(unlinked, []).append(name)
                if request.moved_from:
                    self._binds.setdefault(request.moved_from, []).append(name)
            case _:
                pass
        if at is not None and not is_late(request):
            side = self._downs if breaks(request) else self._ups
            (self._binds if lets_in(request) else side).setdefault(at, []).append(name)

    def _last(self, requests: Sequence[PlannedRequest]) -> _Lists:
        """Return the creations that no other one of the same virtual cluster waits for."""
        ups = {at: dict.fromkeys(names) for at, names in self._ups.items()}
        waited: dict[str, set[str]] = {at: set() for at in ups}
        for planned in requests:
            at = virtual_cluster_of(planned.request)
            if at in ups and planned.id in ups[at]:
                waited[at].update(planned.depends_on, self._making(planned.request))
        return {at: [name for name in ups[at] if name not in waited[at]] for at in ups}

    def _all(self, planned: PlannedRequest) -> Iterator[str]:
        request = planned.request
        at = virtual_cluster_of(request)
        if isinstance(request, req.DeleteTopicRequest):
            yield from self._unlinked.get(request.topic, ())
        if at is None:
            return
        if is_late(request):
            yield from self._in(at)
        elif lets_in(request):
            yield from self._making(request)
            yield from self._tips.get(at, ())
        elif breaks(request):
            yield from self._breaking(planned, at)
        else:
            yield from self._making(request)

    def _in(self, at: str) -> Iterator[str]:
        """Yield the requests after which everything new in the virtual cluster works."""
        yield from self._tips.get(at, ())
        yield from self._binds.get(at, ())

    def _making(self, request: req.Request) -> Iterator[str]:
        at = virtual_cluster_of(request)
        if at is not None and not isinstance(request, req.CreateVirtualClusterRequest):
            yield from self._created.get(at, ())
        match request:
            case req.AlterVirtualClusterRequest(target=target) if target:
                key = (target.virtual_cluster, EntityType.TOPIC, target.name)
                yield from self._made.get(key, ())
            case req.AlterVirtualClusterRequest(topic=topic) if topic:
                yield from self._topics.get(topic, ())
            case req.CreateAclRequest(binding=binding) if at and binding.scoped:
                named = _NAMED.get(binding.resource_type)
                if named and binding.pattern_type is PatternType.LITERAL:
                    yield from self._made.get((at, named, binding.resource_name), ())
            case _:
                pass

    def _breaking(self, planned: PlannedRequest, at: str) -> Iterator[str]:
        request = planned.request
        if isinstance(request, req.DeleteVirtualClusterRequest):
            yield from self._in(at)
            yield from self._downs[at]
            return
        # The first one waits for all, the others for the first: else the edges grow quadratically.
        gate = self._downs[at][0]
        yield from self._in(at) if gate == planned.id else (gate,)
        match request:
            case req.DeleteAclRequest(binding=binding):
                yield from self._without(at, binding.principal)
            case req.AlterClientQuotaRequest(entity=entity):
                user = dict(entity).get(USER)
                yield from self._without(at, as_principal(user) if user else EVERYONE)
            case req.AlterVirtualClusterRequest(entity_type=kind, entity_name=entity) if (
                kind and entity
            ):
                yield from self._revoked.get((at, kind, entity), ())
            case _:
                pass

    def _without(self, at: str, principal: str) -> Iterator[str]:
        """Yield the request that removes the user; for everyone the gate is enough."""
        yield from self._gone.get((at, EntityType.USER, principal), ())


_ANY: Mapping[str, Validator] = {}
_NONE: Mapping[str, int] = {}


def order_changes(
    changes: Iterable[Change],
    validation: Mapping[str, Validator] = _ANY,
    last: Mapping[str, int] = _NONE,
) -> tuple[Change, ...]:
    """Sort the changes, number their requests ``r1``, ``r2``, … and add their dependencies.

    ``validation`` tells who can validate requests of an api; those that the cluster can't validate
    are marked so. Changes whose address is in ``last`` wait for all others, in that order, and
    deletions among them come last.
    """

    def key(change: Change) -> tuple[int | str, ...]:
        if change.address not in last:
            return (0, *order_key(change))
        return (1, Action.DELETE in change.actions, last[change.address], *order_key(change))

    return _bind(sorted(changes, key=key), validation, last)


def _bind(
    changes: Sequence[Change],
    validation: Mapping[str, Validator] = _ANY,
    last: Mapping[str, int] = _NONE,
) -> tuple[Change, ...]:
    """Add dependencies on requests of other objects, so that no order of waves opens a window."""
    requests = [planned for change in changes for planned in change.requests]
    waiting = [p.id for change in changes if change.address in last for p in change.requests]
    edges = (
        GlobalEdges(requests),
        VirtualClusterEdges(requests),
        MemberEdges(requests),
        _Last(requests, waiting),
    )
    ids = {planned.id: f"r{number}" for number, planned in enumerate(requests, start=1)}

    def bound(planned: PlannedRequest) -> PlannedRequest:
        first = [name for each in edges for name in each.first(planned)]
        missing = dict.fromkeys([name for name in first if name not in planned.depends_on])
        unchecked = validation.get(req.api_name(planned.request)) is Validator.NOT_SUPPORTED
        # Not replace(): with a hundred thousand requests its cost counts.
        return PlannedRequest(
            id=ids[planned.id],
            request=planned.request,
            depends_on=tuple([ids[name] for name in (*planned.depends_on, *missing)]),
            undoes=ids[planned.undoes] if planned.undoes else None,
            validated=Validator.NOT_SUPPORTED if unchecked else planned.validated,
            physical=planned.physical,
            expects=planned.expects,
        )

    return tuple(
        replace(change, requests=tuple(map(bound, change.requests))) if change.requests else change
        for change in changes
    )


class _Last:
    """Requests that come last: the first waits for all others, each other for the previous."""

    def __init__(self, requests: Sequence[PlannedRequest], waiting: Sequence[str]) -> None:
        self._before = dict(zip(waiting[1:], waiting[:-1], strict=True))
        self._first = waiting[0] if waiting else None
        late = frozenset(waiting)
        self._others = [p.id for p in requests if p.id not in late] if waiting else []

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """Yield the ids of the requests that must be done before this one."""
        if planned.id == self._first:
            yield from self._others
        elif planned.id in self._before:
            yield self._before[planned.id]


class GlobalEdges:
    """Dependencies between topics and ACLs outside of virtual clusters.

    They ensure that no order of waves opens a window.
    """

    def __init__(self, requests: Iterable[PlannedRequest]) -> None:
        self._topics: dict[str, list[str]] = {}
        self._revoked: dict[str, list[str]] = {}
        self._made: dict[PermissionType, AclIndex[str]] = {
            kind: AclIndex() for kind in PermissionType
        }
        self._gone: dict[PermissionType, AclIndex[str]] = {
            kind: AclIndex() for kind in PermissionType
        }
        for planned in requests:
            match planned.request:
                case req.CreateTopicRequest(topic=topic):
                    self._topics.setdefault(topic, []).append(planned.id)
                case req.CreateAclRequest(binding=binding):
                    self._made[binding.permission_type].add(binding, planned.id)
                case req.DeleteAclRequest(binding=binding):
                    self._gone[binding.permission_type].add(binding, planned.id)
                    if _names_topic(binding):
                        self._revoked.setdefault(binding.resource_name, []).append(planned.id)
                case _:
                    pass

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """Yield the ids of the requests that must be done before this one."""
        match planned.request:
            case req.CreateAclRequest(binding=binding):
                if _names_topic(binding):
                    yield from self._topics.get(binding.resource_name, ())
                if binding.permission_type is PermissionType.ALLOW:
                    yield from self._made[PermissionType.DENY].meeting(binding)
            case req.DeleteAclRequest(binding=binding):
                # An ACL that replaces another is created before that one is deleted.
                yield from self._made[binding.permission_type].meeting(binding)
                if binding.permission_type is PermissionType.DENY:
                    yield from self._gone[PermissionType.ALLOW].meeting(binding)
            case req.DeleteTopicRequest(topic=topic):
                yield from self._revoked.get(topic, ())
            case _:
                pass


def _names_topic(binding: AclBinding) -> bool:
    """Return whether the binding names one topic by its physical name."""
    return (
        binding.resource_type is ResourceType.TOPIC
        and binding.pattern_type is PatternType.LITERAL
        and not binding.scoped
    )


class MemberEdges:
    """The ids of requests about users whose documents are in a virtual cluster."""

    def __init__(self, requests: Sequence[PlannedRequest]) -> None:
        self._lets_in: dict[str, list[str]] = {}
        self._changed: dict[str, list[str]] = {}
        for planned in requests:
            match planned.request:
                case req.AlterVirtualClusterRequest(
                    entity_type=EntityType.USER, change=ChangeType.ADD, entity_name=str(principal)
                ):
                    self._lets_in.setdefault(principal, []).append(planned.id)
                case req.AlterUserScramCredentialsRequest(virtual_cluster=str()) as request:
                    principal = user_principal(request.user)
                    self._changed.setdefault(principal, []).append(planned.id)
                case _:
                    pass

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """Yield the ids of the requests that must be done before this one."""
        match planned.request:
            case req.AlterUserScramCredentialsRequest(virtual_cluster=str()) as request:
                yield from self._lets_in.get(user_principal(request.user), ())
            case req.AlterVirtualClusterRequest(
                entity_type=EntityType.USER, change=ChangeType.REMOVE, entity_name=str(principal)
            ):
                yield from self._changed.get(principal, ())
            case _:
                pass
