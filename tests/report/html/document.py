"""The page as its text alone says it, without a browser."""

from collections import Counter
from functools import cached_property
from html.parser import HTMLParser

_VOID = {"meta", "input", "link", "br", "img"}


class Document(HTMLParser):
    """Elements with their attributes, and all text outside of style and script.

    ``tags`` counts elements by tag and the names of their attributes. ``open_tags`` is empty at
    the end of a document that closes what it opens.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open_tags: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open_tags or self.open_tags[-1] not in ("style", "script"):
            self.words.append(data)

    @cached_property
    def text(self) -> str:
        """All text on one line."""
        return " ".join("".join(self.words).split())

    @property
    def tags(self) -> Counter[tuple[str, ...]]:
        """How many elements there are of each tag and set of attributes."""
        return Counter((tag, *sorted(attributes)) for tag, attributes in self.elements)

    def of_class(self, name: str) -> list[dict[str, str]]:
        """The attributes of the elements of a class."""
        found = (attributes for _, attributes in self.elements)
        return [each for each in found if name in each.get("class", "").split()]
