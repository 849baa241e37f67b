"""Readers that tell whether a text was taken as text: a terminal, a runner, Markdown, XML, HTML."""

import json
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from html.parser import HTMLParser
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from report.payloads import MARK
from report.workflow_commands import commands

_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SERVICE = re.compile(r"##(\[|vso\[|teamcity\[)", re.IGNORECASE)
_MARKDOWN = MarkdownIt("commonmark", {"html": True})
_OF_A_COMMENT = {
    "html_block",
    "heading_open",
    "heading_close",
    "paragraph_open",
    "paragraph_close",
    "inline",
    "text",
    "code_inline",
    "fence",
    "strong_open",
    "strong_close",
    "softbreak",
}
_OUR_HTML = re.compile(
    r"<!-- kgitops:[A-Za-z0-9._%:]+( \d+/\d+)? -->\s*"
    r"|<details><summary>[A-Za-z ]+ \([\d,]+\)</summary>\s*"
    r"|</details>\s*"
)
# What SARIF's readers make a link of, or fill in (SARIF 2.1.0, 3.11.5 and 3.11.6).
_SARIF_LINK = re.compile(r"(?<!\\)\[[^\]]*(?<!\\)\]\(")
_SARIF_PLACEHOLDER = re.compile(r"(?<!\{)(?:\{\{)*\{\d")

_OF_A_PICTURE = {"svg", "style", "path", "rect", "circle", "text", "title"}
_OF_A_SHAPE = {
    *("class", "role", "aria-label", "width", "height", "viewBox"),
    *("d", "x", "y", "cx", "cy", "r", "rx"),
}
_LABEL = r'"(?:[A-Za-z0-9 .:_/-]|#\d+;|<br/>)*"'
_MERMAID = re.compile(
    rf"flowchart LR|  subgraph v\d+\[{_LABEL}\]|    v\d+[ml]\d*\[{_LABEL}\]|  end"
    rf"|  t\d+\[\({_LABEL}\)\]|  v\d+l\d+ (?:-->|-\.->) t\d+"
    rf"|  more\[{_LABEL}\]"
    r"|  classDef shared stroke-width:3px|  class t\d+(?:,t\d+)* shared"
)


def assert_visible(text: str) -> None:
    """Nothing acts on a terminal, hides or reorders, wherever the text is shown."""
    if text.replace("\n", "").isprintable():  # no other than visible ones, and blanks
        return
    for char in set(text):
        assert char == "\n" or unicodedata.category(char) not in _ACTING, repr(char)


def assert_harmless(text: str) -> None:
    """What a terminal or a build service would see, line by line."""
    assert_visible(text)
    for line in text.split("\n"):
        assert not line.lstrip().startswith("::")
    assert not _SERVICE.search(text)
    assert commands(text) == []


def assert_coloured(text: str) -> None:
    """Harmless but for colours."""
    assert_harmless(_COLOUR.sub("", text))


def assert_comment(text: str) -> None:
    """Inside code there are no links, mentions, references, images or HTML."""
    assert_harmless(text)
    tokens = _MARKDOWN.parse(text)
    flat = [inner for token in tokens for inner in (token, *(token.children or ()))]
    assert {token.type for token in flat} <= _OF_A_COMMENT
    for token in flat:
        if token.type == "text":
            assert MARK not in token.content
        if token.type == "html_block":
            assert _OUR_HTML.fullmatch(token.content)
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>")


def assert_json(text: str) -> None:
    """ASCII that says nothing to a terminal, whatever it stands for."""
    assert text.isascii()
    assert_harmless(text)
    json.loads(text)


def assert_sarif(text: str) -> None:
    """Every string is harmless where a reader shows it, and none is a link or a placeholder."""
    assert_json(text)
    for key, value in _strings(json.loads(text)):
        assert value
        assert_visible(value)
        if key == "markdown":
            children = [
                child for token in _MARKDOWN.parse(value) for child in (token.children or ())
            ]
            shown = [child for child in children if MARK in child.content]
            assert {child.type for child in shown} <= {"code_inline"}
        if key in ("text", "justification"):
            assert "](" not in value or not _SARIF_LINK.search(value)
            assert not _SARIF_PLACEHOLDER.search(value)


def assert_junit(text: str) -> None:
    """XML whose texts are harmless."""
    assert text.isascii()
    assert_harmless(text.replace("\t", " "))
    root = ElementTree.fromstring(text)  # noqa: S314 (our own)
    for element in root.iter():
        for value in (*element.attrib.values(), element.text or ""):
            assert_visible(value.strip("\t"))


def assert_page(text: str) -> None:
    """HTML whose texts, and which as a text, are harmless."""
    assert_harmless(text)
    assert_visible("".join(_page(text).words))


def assert_svg(text: str) -> None:
    """XML of shapes and texts: nothing that runs, links or loads."""
    assert_harmless(text)
    root = ElementTree.fromstring(text)  # noqa: S314 (our own)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] in _OF_A_PICTURE
        assert set(element.attrib) <= _OF_A_SHAPE
        assert_visible(element.text or "")


def assert_mermaid(text: str) -> None:
    """Lines of our own; in the labels nothing that Mermaid could read."""
    assert_harmless(text)
    for line in text.splitlines():
        assert _MERMAID.fullmatch(line), line


def json_shape(text: str) -> object:
    """The keys and the kinds of values, without the values."""
    return _shape(json.loads(text))


def sarif_shape(text: str) -> object:
    """The same of SARIF; a file's name that begins with a slash has another base than others."""
    return json_shape(text.replace(',\n                  "uriBaseId": "%SRCROOT%"', ""))


def xml_shape(text: str) -> object:
    """The elements with the names of their attributes."""
    root = ElementTree.fromstring(text)  # noqa: S314 (our own)
    return [(element.tag, sorted(element.attrib)) for element in root.iter()]


def html_shape(text: str) -> object:
    """The elements with the names of their attributes, counted: they are sorted by name."""
    return _page(text).tags


def line_shape(text: str) -> object:
    """How many lines there are."""
    return text.count("\n")


def github_shape(text: str) -> object:
    """The commands with the names of their properties."""
    found = commands(text)
    return [(command.name, sorted(command.properties)) for command in found], text.count("\n")


@lru_cache(maxsize=1)
def _page(text: str) -> "_Page":
    """Parsed once for the check and for the shape."""
    return _Page(text)


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[tuple[str, ...]] = Counter()
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag, *sorted(name for name, _ in attrs)] += 1

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def _strings(value: object, key: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in _strings(item, name)]
    if isinstance(value, list):
        return [found for item in value for found in _strings(item, key)]
    return [(key, value)] if isinstance(value, str) else []


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shape(item) for name, item in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else type(value).__name__
