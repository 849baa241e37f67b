"""The numbers behind the pictures."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from builders import a_binding, a_desired, a_tombstone, a_topic, an_acl, applied, plan_of
from msgspec.structs import replace
from report.plans import create_topic, delete_topic, make_plan, update_topic

from kgitops.model.cluster_state import TopicUsage
from kgitops.plan.document.plan import Plan
from kgitops.report.html.brokers import byte_chart, replica_chart
from kgitops.report.html.drawing import draw
from kgitops.report.html.graph import Edge, dependency_graph
from kgitops.report.html.pieces import segments


def moving_plan() -> Plan:
    """One topic moves and grows, one goes, one comes; replicas of each are known."""
    bus = a_topic("bus", assignment=((1, 2), (2, 1)))
    old = a_topic("old", assignment=((3, 1),))
    return plan_of(
        a_desired(
            replace(bus, assignment=((1, 3), (2, 3), (3, 1)), partitions=3),
            a_tombstone(old),
            a_topic("new", assignment=((2, 3),)),
        ),
        applied(
            bus,
            old,
            usage={
                "bus": TopicUsage(size_bytes=(2_048, 2_048)),
                "old": TopicUsage(size_bytes=(1_024,)),
            },
        ),
    )


def test_replicas_are_counted_before_and_after() -> None:
    chart = replica_chart(moving_plan())
    assert chart
    assert [(bar.broker, bar.before, bar.after, bar.change) for bar in chart.rows] == [
        (1, "3", "2", "-1"),
        (2, "2", "2", "±0"),
        (3, "1", "4", "+3"),
    ]
    assert [bar.after_percent for bar in chart.bars] == ["50.00", "50.00", "100.00"]
    assert "3 topics that this plan touches" in chart.caption


def test_bytes_follow_the_replicas_and_new_partitions_begin_empty() -> None:
    chart = byte_chart(moving_plan())
    assert chart
    assert [(bar.broker, bar.before, bar.after) for bar in chart.rows] == [
        (1, "5 KiB", "2 KiB"),
        (2, "4 KiB", "2 KiB"),
        (3, "1 KiB", "4 KiB"),
    ]
    assert "Bytes of 2 of the 2 topics" in chart.caption


def test_what_moves_nothing_and_what_is_not_known_is_not_drawn() -> None:
    plan = make_plan(update_topic("audit"), create_topic("orders"), delete_topic("old"))
    assert replica_chart(plan) is None
    assert byte_chart(plan) is None


@pytest.mark.parametrize("rows", ["text", [1], [["1"]], [[True]], {}, [[1], None]])
def test_an_assignment_of_another_shape_is_not_counted(rows: object) -> None:
    change = replace(create_topic("orders"), after={"assignments": rows})  # type: ignore[dict-item]
    assert replica_chart(make_plan(change)) is None


def test_of_many_brokers_those_that_change_most_are_drawn_and_all_are_listed() -> None:
    topics = [a_topic(f"t{n}", assignment=((n, n % 40 + 1),)) for n in range(1, 41)]
    more = a_topic("more", assignment=((7, 9),))
    chart = replica_chart(plan_of(a_desired(*topics, more), applied(brokers=40)))
    assert chart
    assert len(chart.rows) == 40
    assert {7, 9} <= {bar.broker for bar in chart.bars}
    assert len(chart.bars) == 16
    assert "16 of 40 brokers" in chart.caption


def test_every_part_of_a_bar_can_be_seen_and_together_they_fill_it() -> None:
    parts = segments([("denied", 1), ("waived", 2), ("passed", 100_000)])
    assert all(float(part.width) >= 2 for part in parts)
    last = parts[-1]
    assert float(last.x) + float(last.width) == pytest.approx(100, abs=0.02)
    for left, right in pairwise(parts):
        assert float(left.x) + float(left.width) < float(right.x)
    assert segments([]) == ()


def test_a_small_graph_has_a_box_for_each_request_that_is_bound() -> None:
    acl = an_acl(a_binding(name="orders"))
    plan = plan_of(a_desired(a_topic("orders"), acl, a_topic("other")), applied())
    graph = dependency_graph(plan)
    assert graph
    assert graph.single
    assert [(box.title, box.column) for box in graph.boxes] == [
        ("CreateTopic", 0),
        ("CreateAcl", 1),
    ]
    assert graph.boxes[1].waits_for == (0,)
    assert (graph.requests, graph.alone) == (3, 1)


def test_a_large_graph_counts_requests_of_one_kind_and_depth() -> None:
    topics = [a_topic(f"t{n}") for n in range(50)]
    acls = [an_acl(a_binding(name=f"t{n}")) for n in range(50)]
    graph = dependency_graph(plan_of(a_desired(*topics, *acls), applied()))
    assert graph
    assert [(box.title, box.subtitle) for box in graph.boxes] == [
        ("CreateTopic", "50 requests"),
        ("CreateAcl", "50 requests"),
    ]
    assert [edge.count for edge in graph.edges] == [50]


def _bound(**waits: tuple[str, ...]) -> Plan:
    """Requests by name, each with what it waits for."""
    changes = []
    for name, before in waits.items():
        change = create_topic(name)
        planned = replace(change.requests[0], id=name, depends_on=before)
        changes.append(replace(change, requests=(planned,)))
    return make_plan(*changes)


def test_what_follows_from_other_lines_is_not_drawn_but_listed() -> None:
    graph = dependency_graph(_bound(a=(), b=("a",), c=("a", "b")))
    assert graph
    assert [(edge.start, edge.to) for edge in graph.edges] == [(0, 1), (1, 2)]
    assert graph.boxes[2].waits_for == (0, 1)


def test_circles_and_unknown_requests_are_drawn_without_falling_over() -> None:
    circle = {"a": ("b",), "b": ("a",), "c": ("b", "nowhere")}
    graph = dependency_graph(_bound(**circle, d=("e",), e=(), f=()))
    assert graph
    assert sorted((box.subtitle[-1], box.column) for box in graph.boxes) == [
        ("a", 2),
        ("b", 2),
        ("c", 2),
        ("d", 1),
        ("e", 0),
    ]
    assert dependency_graph(_bound(a=("nowhere",))) is None


def test_a_chain_without_end_ends_in_a_last_column() -> None:
    chain = {f"r{n}": (f"r{n - 1}",) if n else () for n in range(20)}
    graph = dependency_graph(_bound(**chain))
    assert graph
    assert graph.cut
    assert max(box.column for box in graph.boxes) == 7


def test_boxes_and_numbers_do_not_lie_on_each_other() -> None:
    chains = {f"b{n}": ("a",) for n in range(8)} | {f"c{n}": (f"b{n}", "b0") for n in range(8)}
    graph = dependency_graph(_bound(a=(), **chains))
    assert graph
    root, boxes = places(draw(graph), "rect")
    width, height = (float(boxes[0].attrib[size]) for size in ("width", "height"))
    corners = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in boxes]
    for index, (x, y) in enumerate(corners):
        assert 0 <= x <= float(root.attrib["width"]) - width
        assert 0 <= y <= float(root.attrib["height"]) - height
        for other_x, other_y in corners[index + 1 :]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_the_numbers_of_crossing_lines_stand_apart() -> None:
    graph = dependency_graph(_bound(a=(), b=(), c=("b",), d=("a",)))
    assert graph
    edges = Edge(start=0, to=3, count=40), Edge(start=1, to=2, count=20)
    _, texts = places(draw(replace(graph, edges=edges, single=False)), "text")
    (x1, y1), (x2, y2) = [
        (float(text.attrib["x"]), float(text.attrib["y"]))
        for text in texts
        if text.attrib["class"] == "count"
    ]
    assert abs(x1 - x2) > 30 or abs(y1 - y2) > 13


def places(svg: str, name: str) -> tuple[ElementTree.Element, list[ElementTree.Element]]:
    """The picture, and its elements of that name."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own)
    return root, list(root.iter(name))
