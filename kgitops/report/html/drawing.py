"""The dependency graph as an inline SVG."""

from collections.abc import Iterable, Iterator, Sequence
from math import log2

from kgitops.model.wording import counted
from kgitops.report.content.svg import curve, element, fitting, label
from kgitops.report.html.graph import Box, Edge, Graph

_WIDTH, _HEIGHT = 208, 44
_GAP_X, _GAP_Y = 64, 14
_EDGE = 2
_CHARACTERS = 26
_BEND = _GAP_X * 3 // 5
_LABEL = 30, 13
_LABELS = (0.5, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85)
_VERBS = ("create", "alter", "delete", "")

Place = tuple[int, int]


def draw(graph: Graph) -> str:
    """The graph with every column centred; a table in the page says the same."""
    places = tuple(_places(graph))
    width = max(x for x, _ in places) + _WIDTH + _EDGE
    height = max(y for _, y in places) + _HEIGHT + _EDGE
    boxes, edges = counted(len(graph.boxes), "box"), counted(len(graph.edges), "line")
    title = f"Dependency graph of {counted(graph.requests - graph.alone, 'request')}"
    return element(
        "svg",
        element("title", title, id="graph-title"),
        element("desc", f"{boxes} and {edges}; the table below says the same.", id="graph-desc"),
        *_edges(graph, places),
        *(_box(box, *place) for box, place in zip(graph.boxes, places, strict=True)),
        *(() if graph.single else _counts(graph, places)),
        class_="graph",
        role="img",
        aria_labelledby="graph-title graph-desc",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def _places(graph: Graph) -> Iterator[Place]:
    """The upper left corner of each box."""
    columns = [box.column for box in graph.boxes]
    numbers = {column: number for number, column in enumerate(dict.fromkeys(columns))}
    tallest = max(map(columns.count, numbers))
    for index, column in enumerate(columns):
        top = (tallest - columns.count(column)) * (_HEIGHT + _GAP_Y) // 2
        row = columns[:index].count(column)
        x = _EDGE + numbers[column] * (_WIDTH + _GAP_X)
        yield x, _EDGE + top + row * (_HEIGHT + _GAP_Y)


def _box(box: Box, x: int, y: int) -> str:
    tone = next(verb for verb in _VERBS if box.title.lower().startswith(verb))
    return element(
        "g",
        element("title", f"{label(box.title)}: {label(box.subtitle)}"),
        element("rect", class_=f"node {tone}", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=5),
        element("text", label(box.title), class_="api", x=x + 10, y=y + 18),
        element(
            "text",
            fitting(box.subtitle, _CHARACTERS, _CHARACTERS // 3),
            class_="sub",
            x=x + 10,
            y=y + 34,
        ),
    )


def _edges(graph: Graph, places: Sequence[Place]) -> Iterator[str]:
    for edge in graph.edges:
        yield element(
            "path",
            class_="edge",
            d=curve(*_ends(edge, places), _BEND),
            stroke_width=f"{min(5.0, 1.25 + 0.4 * log2(edge.count)):.2f}",
        )


def _counts(graph: Graph, places: Sequence[Place]) -> Iterator[str]:
    """The number of each line, at the first free place on it."""
    taken: list[tuple[float, float]] = []
    for edge in graph.edges:
        x1, y1, x2, y2 = _ends(edge, places)
        point = next(
            (point for at in _LABELS if _is_free(point := _point(x1, y1, x2, y2, at), taken)),
            (x2 - _GAP_X / 2, float(y2)),
        )
        taken.append(point)
        x, y = map(round, point)
        yield element("text", f"{edge.count:,}", class_="count", x=x, y=y + 4)


def _ends(edge: Edge, places: Sequence[Place]) -> tuple[int, int, int, int]:
    """The middle of the one box's right side, and of the other's left side."""
    (x1, y1), (x2, y2) = places[edge.start], places[edge.to]
    return x1 + _WIDTH, y1 + _HEIGHT // 2, x2, y2 + _HEIGHT // 2


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
