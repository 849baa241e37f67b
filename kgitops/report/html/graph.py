"""The plan's dependency graph: which requests wait for which, in columns from left to right.

A small one has a box for each request. A large one has a box for all requests of one kind that
run at the same depth, with their number. Requests that have nothing to do with others are counted.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kgitops.model.requests import AlterTopicRequest, api_name
from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change, Plan, PlannedRequest

_MOST_BOXES = 24
_MOST_COLUMNS = 8
_SWEEPS = 4

Key = tuple[int, str]


class Box(Struct, frozen=True, kw_only=True):
    """One request, or all of one kind; ``waits_for`` are the indexes of other boxes."""

    title: str
    subtitle: str
    column: int
    waits_for: tuple[int, ...]


class Edge(Struct, frozen=True, kw_only=True):
    """``count`` times a request of the box ``to`` waits for one of the box ``start``."""

    start: int
    to: int
    count: int


class Graph(Struct, frozen=True, kw_only=True):
    """Boxes by column, top to bottom; ``edges`` without those that follow from others.

    ``single``: a box is one request. ``cut``: the last column holds more than one depth.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    requests: int
    alone: int
    single: bool
    cut: bool


def dependency_graph(plan: Plan) -> Graph | None:
    """The graph; None where no request waits for another."""
    asked = {
        planned.id: (change, planned) for change in plan.changes for planned in change.requests
    }
    waits = {
        name: [other for other in planned.depends_on if other in asked]
        for name, (_, planned) in asked.items()
    }
    bound = {name for name, before in waits.items() if before}
    bound |= {other for before in waits.values() for other in before}
    if not bound:
        return None
    waits = {name: before for name, before in waits.items() if name in bound}
    depth = _depths(waits)
    single = len(waits) <= _MOST_BOXES
    keys = {
        name: (min(depth[name], _MOST_COLUMNS - 1), name if single else _step(asked[name][1]))
        for name in waits
    }
    edges = _edges(waits, keys)
    columns = _columns(keys.values(), edges)
    place = {key: index for index, key in enumerate(key for column in columns for key in column)}
    members: dict[Key, list[tuple[Change, PlannedRequest]]] = defaultdict(list)
    for name, key in keys.items():
        members[key].append(asked[name])
    before: dict[Key, list[int]] = defaultdict(list)
    for start, to in edges:
        before[to].append(place[start])
    boxes = tuple(
        Box(
            title=_step(members[key][0][1]),
            subtitle=_subtitle(members[key], single=single),
            column=key[0],
            waits_for=tuple(sorted(before[key])),
        )
        for key in place
    )
    return Graph(
        boxes=boxes,
        edges=tuple(
            Edge(start=place[start], to=place[to], count=count)
            for (start, to), count in edges.items()
            if not _follows(boxes, place[start], place[to])
        ),
        requests=len(asked),
        alone=len(asked) - len(waits),
        single=single,
        cut=max(depth.values()) >= _MOST_COLUMNS,
    )


def _depths(waits: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The number of requests before each on the longest path; those of a cycle come last."""
    waiting = {name: len(before) for name, before in waits.items()}
    after: dict[str, list[str]] = defaultdict(list)
    for name, before in waits.items():
        for other in before:
            after[other].append(name)
    ready = deque(name for name, count in waiting.items() if not count)
    depth = dict.fromkeys(ready, 0)
    while ready:
        done = ready.popleft()
        for name in after[done]:
            waiting[name] -= 1
            depth[name] = max(depth.get(name, 0), depth[done] + 1)
            if not waiting[name]:
                ready.append(name)
    last = max(depth.values(), default=0) + 1
    return {name: last if waiting[name] else depth[name] for name in waits}


def _edges(waits: Mapping[str, Sequence[str]], keys: Mapping[str, Key]) -> Counter[tuple[Key, Key]]:
    """The number of waits of one box for another; waits within a column have no line."""
    return Counter(
        (keys[other], keys[name])
        for name, before in waits.items()
        for other in before
        if keys[other][0] < keys[name][0]
    )


def _columns(keys: Iterable[Key], edges: Iterable[tuple[Key, Key]]) -> list[list[Key]]:
    """The boxes of each column, ordered so that few lines cross."""
    columns: dict[int, dict[Key, None]] = defaultdict(dict)
    for key in keys:
        columns[key[0]][key] = None
    ordered = [list(columns[number]) for number in sorted(columns)]
    neighbours: dict[Key, list[Key]] = defaultdict(list)
    for start, to in edges:
        neighbours[start].append(to)
        neighbours[to].append(start)
    for _ in range(_SWEEPS):
        height = {key: index for column in ordered for index, key in enumerate(column)}
        middle = {
            key: sum(height[other] for other in neighbours[key]) / len(neighbours[key])
            if neighbours[key]
            else float(at)
            for key, at in height.items()
        }
        for column in ordered:
            column.sort(key=middle.__getitem__)
    return ordered


def _follows(boxes: Sequence[Box], start: int, to: int) -> bool:
    """True if ``to`` also waits for ``start`` through others."""
    seen: set[int] = set()
    rest = [other for other in boxes[to].waits_for if other != start]
    while rest:
        box = rest.pop()
        if box == start:
            return True
        if box not in seen:
            seen.add(box)
            rest += boxes[box].waits_for
    return False


def _subtitle(members: Sequence[tuple[Change, PlannedRequest]], *, single: bool) -> str:
    if single:
        return str(object_name(members[0][0].address))
    return counted(len(members), "request")


def _step(planned: PlannedRequest) -> str:
    """``CreateTopic``, ``AlterTopic partitions``, ``AlterBroker undone``."""
    request = planned.request
    step = f" {request.step}" if isinstance(request, AlterTopicRequest) else ""
    return f"{api_name(request)}{step}{' undone' if planned.undoes else ''}"
