"""The order in which changes run, and why: make before break, deletions last and mirrored.

Topics before the ACLs that name them, a Deny before an Allow; then, in reverse, ACLs before
the topic they name. A Deny is lifted only after every Allow that goes is gone (A4-85).
"""

from collections.abc import Iterable
from dataclasses import replace

from kgitops.plan.edges import GlobalEdges
from kgitops.plan.phases import order_key
from kgitops.plan.plan import Change, PlannedRequest
from kgitops.plan.virtual_cluster_edges import VirtualClusterEdges


def order_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes as they run, their requests numbered ``r1``, ``r2``, … and bound together."""
    ordered = sorted(changes, key=order_key)
    return _bind(_number(ordered))


def _number(changes: list[Change]) -> list[Change]:
    ids: dict[str, str] = {}
    for change in changes:
        for planned in change.requests:
            ids[planned.id] = f"r{len(ids) + 1}"
    return [
        replace(
            change,
            requests=tuple(
                replace(
                    planned,
                    id=ids[planned.id],
                    undoes=ids[planned.undoes] if planned.undoes else None,
                    depends_on=tuple(ids[name] for name in planned.depends_on),
                )
                for planned in change.requests
            ),
        )
        if change.requests
        else change
        for change in changes
    ]


def _bind(changes: list[Change]) -> tuple[Change, ...]:
    """Add what must be done first in another object, so that no order of waves opens a window."""
    requests = [planned for change in changes for planned in change.requests]
    edges = (GlobalEdges(requests), VirtualClusterEdges(requests))

    def bound(planned: PlannedRequest) -> PlannedRequest:
        first = (name for each in edges for name in each.first(planned))
        missing = dict.fromkeys(name for name in first if name not in planned.depends_on)
        if not missing:
            return planned
        return replace(planned, depends_on=(*planned.depends_on, *missing))

    return tuple(
        replace(change, requests=tuple(map(bound, change.requests))) if change.requests else change
        for change in changes
    )
