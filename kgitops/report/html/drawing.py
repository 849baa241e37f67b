"""The dependency graph in pixels, for an inline SVG."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log2

from kgitops.report.content.safe_text import terminal_text
from kgitops.report.html.graph import Box, Graph

_WIDTH, _HEIGHT = 208, 44
_GAP_X, _GAP_Y = 64, 14
_EDGE = 2
_CHARACTERS = 26
_BEND = _GAP_X * 3 // 5
_LABEL = 30, 13
_LABELS = (0.5, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85)
_VERBS = ("create", "alter", "delete", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBox:
    """A box with its upper left corner."""

    box: Box
    x: int
    y: int
    subtitle: str

    @property
    def tone(self) -> str:
        """``create``, ``alter``, ``delete``: what the request begins with."""
        return next(verb for verb in _VERBS if self.box.title.lower().startswith(verb))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """A curve; ``x`` and ``y`` are the place of its number."""

    path: str
    width: str
    count: int
    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """All that the template needs; sizes in pixels."""

    graph: Graph
    width: int
    height: int
    box_width: int
    box_height: int
    boxes: tuple[DrawnBox, ...]
    edges: tuple[DrawnEdge, ...]


def drawing_of(graph: Graph) -> Drawing:
    """The graph with every column centred."""
    columns: dict[int, list[int]] = {}
    for index, box in enumerate(graph.boxes):
        columns.setdefault(box.column, []).append(index)
    tallest = max(map(len, columns.values()))
    height = tallest * (_HEIGHT + _GAP_Y) - _GAP_Y
    places: dict[int, tuple[int, int]] = {}
    for number, column in enumerate(columns.values()):
        top = (tallest - len(column)) * (_HEIGHT + _GAP_Y) // 2
        for row, index in enumerate(column):
            x = _EDGE + number * (_WIDTH + _GAP_X)
            places[index] = (x, _EDGE + top + row * (_HEIGHT + _GAP_Y))
    return Drawing(
        graph=graph,
        width=len(columns) * (_WIDTH + _GAP_X) - _GAP_X + 2 * _EDGE,
        height=height + 2 * _EDGE,
        box_width=_WIDTH,
        box_height=_HEIGHT,
        boxes=tuple(
            DrawnBox(box=box, x=places[index][0], y=places[index][1], subtitle=_cut(box.subtitle))
            for index, box in enumerate(graph.boxes)
        ),
        edges=tuple(_edges(graph, places)),
    )


def _edges(graph: Graph, places: Mapping[int, tuple[int, int]]) -> Iterator[DrawnEdge]:
    """The curves, each number at the first free place on its curve."""
    taken: list[tuple[float, float]] = []
    for edge in graph.edges:
        x1, y1 = places[edge.start][0] + _WIDTH, places[edge.start][1] + _HEIGHT // 2
        x2, y2 = places[edge.to][0], places[edge.to][1] + _HEIGHT // 2
        label = next(
            (point for at in _LABELS if _is_free(point := _point(x1, y1, x2, y2, at), taken)),
            (x2 - _GAP_X / 2, float(y2)),
        )
        taken.append(label)
        yield DrawnEdge(
            path=f"M{x1} {y1}C{x1 + _BEND} {y1} {x2 - _BEND} {y2} {x2} {y2}",
            width=f"{min(5.0, 1.25 + 0.4 * log2(edge.count)):.2f}",
            count=edge.count,
            x=round(label[0]),
            y=round(label[1]),
        )


def _point(x1: int, y1: int, x2: int, y2: int, at: float) -> tuple[float, float]:
    """The point of a curve after the fraction ``at`` of its length; near its end if it is long."""
    x1 = max(x1, x2 - _GAP_X)
    back = 1 - at
    x = (
        back**3 * x1
        + 3 * back**2 * at * (x1 + _BEND)
        + 3 * back * at**2 * (x2 - _BEND)
        + at**3 * x2
    )
    return x, y1 + (y2 - y1) * (3 * at**2 - 2 * at**3)


def _is_free(point: tuple[float, float], taken: Iterable[tuple[float, float]]) -> bool:
    return all(abs(point[0] - x) > _LABEL[0] or abs(point[1] - y) > _LABEL[1] for x, y in taken)


def _cut(text: str) -> str:
    """``text`` as far as it fits in a box; the title of the box has all of it."""
    shown = terminal_text(text)
    if len(shown) <= _CHARACTERS:
        return shown
    end = _CHARACTERS // 3
    return f"{shown[: _CHARACTERS - end - 1]}…{shown[-end:]}"
