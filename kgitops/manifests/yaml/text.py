"""A manifest file's text, with the line and column of each character."""

import re
from bisect import bisect_right
from pathlib import Path

from kgitops.manifests.yaml.nodes import NoValue
from kgitops.model.source import Finding, Source

MAX_SHOWN = 60
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# The characters that YAML forbids, and those that YAML 1.1, and so libyaml, takes for line breaks
# and YAML 1.2 does not: text after one in a comment would be read, though no editor shows it so.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_OTHER_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class SourceText:
    """The text of one file, without a byte order mark, and its name in findings."""

    __slots__ = ("_line_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._line_starts: list[int] | None = None

    def place(self, index: int) -> Source:
        """The line and column of the character at ``index``."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(self._line_starts, index)
        return Source(self.name, line, index - self._line_starts[line - 1] + 1)


def read_text(path: Path, name: str) -> SourceText | Finding:
    """The text of the file, or the finding that it has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Finding(
            source=None,
            problem=f"{name} can't be read: {error.strerror or error}",
            advice="correct its permissions or remove it",
        )
    return decode(data, name)


def decode(data: bytes, name: str) -> SourceText | Finding:
    """The text of ``data``, which must be UTF-8 and printable."""
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            return Finding(
                source=Source(name, 1, 1),
                problem=f"the file is encoded as {encoding}",
                advice="save it as UTF-8",
            )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = SourceText(name, data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        return Finding(
            source=before.place(len(before.text)),
            problem=f"the file is not UTF-8: the byte 0x{data[error.start]:02x} is not allowed",
            advice="save the file as UTF-8",
        )
    source = SourceText(name, text.removeprefix("\ufeff"))
    if forbidden := _FORBIDDEN.search(source.text):
        return Finding(
            source=source.place(forbidden.start()),
            problem=f"the control character U+{ord(forbidden[0]):04X} is not allowed",
            advice="remove it, or write it as an escape in double quotes",
        )
    return source


def shown(value: object) -> str:
    """A value of a manifest as a sentence shows it: short, and on one line."""
    match value:
        case None:
            return "null"
        case NoValue():
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            text = repr(value) if isinstance(value, str) else str(value)
            return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
