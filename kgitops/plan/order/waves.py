"""The order in which requests are carried out: policies judge in it, and an apply keeps it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kgitops.model.requests import (
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    Request,
    api_name,
)
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.plan.document.plan import PlannedRequest

T = TypeVar("T")
WireKind = tuple[str, ...]


def in_waves(requests: Sequence[PlannedRequest]) -> list[PlannedRequest]:
    """The requests as they are carried out: each after all that it depends on.

    What a request depends on that is not among them counts as done.
    """
    return [planned for group in in_groups(requests) for planned in group]


def in_groups(requests: Sequence[PlannedRequest]) -> list[list[PlannedRequest]]:
    """The same in groups, each of what one wire request could hold."""
    ids = {planned.id for planned in requests}
    done: set[str] = set()
    ordered: list[list[PlannedRequest]] = []
    left = list(requests)
    while left:
        ready = [p for p in left if all(name in done or name not in ids for name in p.depends_on)]
        ready = ready or left  # a circle: an apply refuses it, and nothing goes unjudged
        ordered += by_wire_kind(ready, lambda planned: wire_kind(planned.request))
        done |= {planned.id for planned in ready}
        left = [planned for planned in left if planned.id not in done]
    return ordered


def by_wire_kind(items: Iterable[T], kind_of: Callable[[T], WireKind]) -> list[list[T]]:
    """The items of one wave by what can go into one wire request.

    What deletes comes last, so that what is made stands before what is broken goes.
    """
    groups: dict[WireKind, list[T]] = {}
    for item in items:
        groups.setdefault(kind_of(item), []).append(item)
    return [groups[kind] for kind in sorted(groups, key=_breaks)]


def _breaks(kind: WireKind) -> bool:
    return kind[0].startswith("Delete") or ChangeType.REMOVE in kind


def wire_kind(request: Request) -> WireKind:
    """The api, and of an alteration what is altered: different steps are different requests."""
    if isinstance(request, AlterTopicRequest):
        return api_name(request), request.step.value
    if isinstance(request, AlterVirtualClusterRequest):
        return api_name(request), request.change.value
    return (api_name(request),)
