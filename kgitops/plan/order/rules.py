"""The order in which changes run: creations first, deletions last and in the reverse order.

Topics before the ACLs that name them, a Deny before an Allow; then, in reverse, ACLs before
the topic they name. A Deny is removed only after every Allow that is removed (A4-85).
Whoever administers a virtual cluster may touch the credentials of its members alone (VC-160c): so a
user is let in before its password is set, and its credentials go before its membership does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator
from kgitops.model.resources.acls import AclBinding, PatternType, PermissionType, ResourceType
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.acls.patterns import AclIndex
from kgitops.plan.document.plan import Action, Change, PlannedRequest
from kgitops.plan.order.phases import order_key
from kgitops.plan.virtual_clusters.edges import VirtualClusterEdges

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
