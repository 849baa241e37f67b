"""The order in which requests are carried out, both for policies and for an apply."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.plan.document.plan import PlannedRequest

T = TypeVar("T")
WireKind = tuple[str, ...]


def in_waves(requests: Sequence[PlannedRequest]) -> list[PlannedRequest]:
    """Sort the requests as they are carried out: each after all that it depends on.

    Dependencies that are not among the requests count as done.
    """
    return [planned for group in in_groups(requests) for planned in group]


def in_groups(requests: Sequence[PlannedRequest]) -> list[list[PlannedRequest]]:
    """Sort the requests into groups, each of which could be one wire request."""
    ids = {planned.id for planned in requests}
    done: set[str] = set()
    ordered: list[list[PlannedRequest]] = []
    waiting = list(requests)
    while waiting:
        ready = [
            p for p in waiting if all(name in done or name not in ids for name in p.depends_on)
        ]
        ready = ready or waiting  # a cycle: an apply refuses it, but policies judge all requests
        ordered += by_wire_kind(ready, lambda planned: wire_kind(planned.request))
        done |= {planned.id for planned in ready}
        waiting = [planned for planned in waiting if planned.id not in done]
    return ordered


def by_wire_kind(items: Iterable[T], kind_of: Callable[[T], WireKind]) -> list[list[T]]:
    """Group the items of one wave by the wire request that can hold them.

    Deletions come last, so that replacements exist before anything is deleted.
    """
    groups: dict[WireKind, list[T]] = {}
    for item in items:
        groups.setdefault(kind_of(item), []).append(item)
    return [groups[kind] for kind in sorted(groups, key=_breaks)]


def _breaks(kind: WireKind) -> bool:
    return kind[0].startswith("Delete") or ChangeType.REMOVE in kind


def wire_kind(request: req.Request) -> WireKind:
    """Return the api, and the step of an alteration: different steps are different requests."""
    if isinstance(request, req.AlterTopicRequest):
        return req.api_name(request), request.step.value
    if isinstance(request, req.AlterVirtualClusterRequest):
        return req.api_name(request), request.change.value
    if isinstance(request, req.AlterUserScramCredentialsRequest):
        change = ChangeType.REMOVE if request.removes else ChangeType.ADD
        return req.api_name(request), change.value
    return (req.api_name(request),)
