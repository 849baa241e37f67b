"""Virtual clusters as SVG: tenants on the left, topics on the right, a line for each link."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from kgitops.model.wording import counted
from kgitops.report.content.svg import curve, element, fitting, label
from kgitops.report.virtual_clusters.graph import GraphTenant, Sign, VirtualClusterGraph

STYLE = Path(__file__).parents[1] / "html" / "virtual_clusters.css"
_PAGE_STYLE = STYLE.with_name("virtual_cluster_page.css")
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Virtual clusters</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>Virtual clusters</h1>
<div class="scroll" role="region" aria-label="Virtual clusters and their topics" tabindex="0">
{picture}</div>
</main>
</body>
</html>
"""
_BOX, _GAP, _WIDE, _EDGE = 280, 120, 340, 2
_ROW, _HEAD, _PAD, _BETWEEN = 20, 28, 8, 16
_TOPIC, _TOPIC_GAP = 30, 8
_CHARACTERS, _WIDE_CHARACTERS = 35, 43
_WORDS = {Sign.SAME: "", Sign.ADDED: " added", Sign.REMOVED: " removed"}


class _Placed(Struct, frozen=True, kw_only=True):
    """A tenant and where its box begins and ends."""

    tenant: GraphTenant
    top: int
    height: int

    def link_y(self, row: int) -> int:
        """The middle of a link's row."""
        lines = len(self.tenant.members) + bool(self.tenant.more)
        return self.top + _HEAD + (lines + row) * _ROW + _ROW // 2


def render_svg(graph: VirtualClusterGraph) -> str:
    """A file of its own, in light and dark; the same graph gives the same text."""
    style = element("style", STYLE.read_text(encoding="utf-8"))
    return f"{_svg(graph, style, xmlns='http://www.w3.org/2000/svg')}\n"


def render_page(graph: VirtualClusterGraph) -> str:
    """The picture as a page, light or dark as the browser is, that scrolls where it is narrow.

    The picture keeps its size on a phone, where it would be unreadable if it shrank.
    """
    style = _PAGE_STYLE.read_text(encoding="utf-8")
    return _PAGE.format(style=style, picture=render_svg(graph))


def svg_element(graph: VirtualClusterGraph) -> str:
    """The same picture for a page that brings the style."""
    return _svg(graph, "")


def _svg(graph: VirtualClusterGraph, style: str, **namespace: str) -> str:
    placed = tuple(_placed(graph))
    topics = _topic_tops(graph, placed)
    left = placed[-1].top + placed[-1].height if placed else 0
    right = topics[-1] + _TOPIC if topics else 0
    height = max(left, right, _ROW) + (_ROW + _BETWEEN if graph.note else 0)
    whole_width, whole_height = _BOX + _GAP + _WIDE + 2 * _EDGE, height + 2 * _EDGE
    return element(
        "svg",
        style,
        *_edges(graph, placed, topics),
        *(part for each in placed for part in _tenant(each)),
        *_topics(graph, topics),
        *((_text("note", 0, height - _EDGE, graph.note),) if graph.note else ()),
        **namespace,
        class_="tenants",
        role="img",
        aria_label=f"{counted(len(graph.tenants), 'virtual cluster')} and the topics they see",
        width=whole_width,
        height=whole_height,
        viewBox=f"-{_EDGE} -{_EDGE} {whole_width} {whole_height}",
    )


def _placed(graph: VirtualClusterGraph) -> Iterator[_Placed]:
    top = 0
    for tenant in graph.tenants:
        rows = len(tenant.members) + bool(tenant.more) + len(tenant.links)
        height = _HEAD + rows * _ROW + _PAD
        yield _Placed(tenant=tenant, top=top, height=height)
        top += height + _BETWEEN


def _topic_tops(graph: VirtualClusterGraph, placed: tuple[_Placed, ...]) -> list[int]:
    """Each topic at the middle of its links, or below the one before it."""
    rows: list[list[int]] = [[] for _ in graph.topics]
    for each in placed:
        for row, link in enumerate(each.tenant.links):
            rows[link.topic].append(each.link_y(row))
    tops: list[int] = []
    for links in rows:
        middle = sum(links) // len(links) - _TOPIC // 2
        tops.append(max(middle, tops[-1] + _TOPIC + _TOPIC_GAP if tops else 0))
    return tops


def _edges(
    graph: VirtualClusterGraph, placed: tuple[_Placed, ...], topics: list[int]
) -> Iterator[str]:
    for each in placed:
        for row, link in enumerate(each.tenant.links):
            ends = _BOX, each.link_y(row), _BOX + _GAP, topics[link.topic] + _TOPIC // 2
            shared = " shared" if graph.topics[link.topic].shared else ""
            class_ = f"link{shared}{_WORDS[link.sign]}"
            yield element("path", class_=class_, d=curve(*ends, _GAP // 2))


def _tenant(placed: _Placed) -> Iterator[str]:
    tenant, y = placed.tenant, placed.top
    class_ = f"tenant{_WORDS[tenant.sign]}"
    yield element("rect", class_=class_, y=y, width=_BOX, height=placed.height, rx=6)
    yield _text(f"name{_WORDS[tenant.sign]}", 12, y + 19, _signed(tenant.sign, tenant.name))
    y += _HEAD
    for member in tenant.members:
        text = _signed(member.sign, member.text)
        yield _text(f"member{_WORDS[member.sign]}", 12, y + 14, text)
        y += _ROW
    if tenant.more:
        yield _text("note", 12, y + 14, tenant.more)
        y += _ROW
    for link in tenant.links:
        yield element("rect", class_="row", x=1, y=y, width=_BOX - 2, height=_ROW)
        yield element("circle", class_="dot", cx=_BOX, cy=y + _ROW // 2, r=3)
        yield _text(f"local{_WORDS[link.sign]}", 12, y + 14, _signed(link.sign, link.name))
        y += _ROW


def _topics(graph: VirtualClusterGraph, tops: list[int]) -> Iterator[str]:
    x = _BOX + _GAP
    for topic, y in zip(graph.topics, tops, strict=True):
        class_ = "topic shared" if topic.shared else "topic"
        yield element("rect", class_=class_, x=x, y=y, width=_WIDE, height=_TOPIC, rx=4)
        count = f"seen by {topic.tenants}" if topic.shared else ""
        most = _WIDE_CHARACTERS - len(count) - bool(count)
        yield _text("local", x + 12, y + 19, topic.name, most)
        if count:
            yield element("text", count, class_="count", x=x + _WIDE - 12, y=y + 19)


def _signed(sign: Sign, text: str) -> str:
    return f"{sign} {text}" if sign else text


def _text(class_: str, x: int, y: int, text: str, most: int = _CHARACTERS) -> str:
    """A line of text, cut where it does not fit; the tooltip has all of it."""
    shown = fitting(text, most, most // 2)
    return element("text", element("title", label(text)), shown, class_=class_, x=x, y=y)
