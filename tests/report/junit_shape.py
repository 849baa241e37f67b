"""What two strict readers of JUnit's XML take: Jenkins's xUnit plugin and Maven's surefire.

Both publish a schema. These are the attributes and the children that both allow, and the
attributes that either demands, of each element that kgitops writes.
"""

import re
from xml.etree import ElementTree

from msgspec import Struct

_TIME = re.compile(r"\d{1,3}(\.\d{0,3})?")
_COUNTS = ("tests", "failures", "errors", "skipped")


class _Shape(Struct, frozen=True):
    allowed: frozenset[str]
    demanded: frozenset[str]
    children: frozenset[str]


def _shape(demanded: str, also: str = "", children: str = "") -> _Shape:
    names = frozenset(demanded.split())
    return _Shape(names | frozenset(also.split()), names, frozenset(children.split()))


_SHAPES = {
    # Only Jenkins's has a root above the suites, and that without a count of the skipped.
    "testsuites": _shape("name tests failures errors", "time", "testsuite"),
    "testsuite": _shape("name tests failures errors skipped", "time", "testcase"),
    "testcase": _shape("name classname time", "", "failure skipped system-out"),
    "failure": _shape("message type"),
    "skipped": _shape("message"),
    "system-out": _shape(""),
}


def read(text: str) -> ElementTree.Element:
    """The root of ``text``; an assertion fails where one of the readers would."""
    assert text.isascii()
    root = ElementTree.fromstring(text)  # noqa: S314 (our own)
    assert root.tag == "testsuites"
    for element in root.iter():
        shape = _SHAPES[element.tag]
        given = set(element.attrib)
        assert shape.demanded <= given <= shape.allowed, (element.tag, given)
        assert {child.tag for child in element} <= shape.children
        if "time" in element.attrib:
            assert _TIME.fullmatch(element.attrib["time"])
    for suite in root:
        assert len(suite) > 0
        assert _counts(suite) == [int(suite.attrib[key]) for key in _COUNTS]
        for case in suite:
            # Both count results, and a case that has two would be counted twice.
            assert [child.tag for child in case] in (
                [],
                ["failure"],
                ["skipped"],
                ["system-out"],
                ["skipped", "system-out"],
            )
    for key in ("tests", "failures", "errors"):
        assert int(root.attrib[key]) == sum(int(suite.attrib[key]) for suite in root)
    return root


def _counts(suite: ElementTree.Element) -> list[int]:
    return [
        len(suite.findall("testcase")),
        len(suite.findall("testcase/failure")),
        0,
        len(suite.findall("testcase/skipped")),
    ]
