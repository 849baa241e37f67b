"""Parses the text of a file to its documents, each with its content; syntax errors are findings."""

import re
from collections.abc import Iterator

import yaml
from msgspec import Struct

from kgitops.manifests.yaml.construct import Constructor, Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.nodes import (
    MAX_DEPTH,
    Node,
    ScalarNode,
    TooDeepError,
    compose_all,
    is_plain,
)
from kgitops.manifests.yaml.text import SourceText
from kgitops.model.source import Finding, Severity

MAX_BROKEN = 50
_CONFLICT = re.compile(r"^(<{7}|>{7})(?= )", re.MULTILINE)
_DOCUMENT_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)


class ParsedDocument(Struct, frozen=True):
    """A document and its content, which is not yet checked against any model.

    ``templated``: it holds a placeholder.
    """

    document: Document
    content: Content
    templated: bool = False
    root: Node | None = None


def parse(file: SourceText, findings: list[Finding]) -> Iterator[ParsedDocument]:
    """The documents of ``file`` that are YAML, in order; problems are added to ``findings``."""
    if marker := _CONFLICT.search(file.text):
        problem = f"git's conflict marker {marker[1]} is in the file"
        advice = "resolve the conflict, and remove its three markers"
        source = file.place(marker.start())
        findings.append(Finding(source=source, problem=problem, advice=advice))
        return
    constructor = Constructor()
    count = 0
    for root, offset in compose_file(file, findings):
        count += 1
        if root is not None and (parsed := _construct(root, file, offset, constructor, findings)):
            yield parsed
    if count == 0:
        findings.append(_nothing_finding(file))


def compose_file(file: SourceText, findings: list[Finding]) -> Iterator[tuple[Node | None, int]]:
    """The root of each document, and the index that its marks count from; None if it isn't YAML.

    After a document that is not YAML, which is added to ``findings``, comes the next one.
    """
    offset = broken = 0
    while offset >= 0:
        try:
            for root in compose_all(file.text[offset:]):
                if not _is_empty(root):
                    yield root, offset
            offset = -1
        except yaml.YAMLError as error:
            index = offset + _error_index(error, len(file.text) - offset)
            findings.append(_syntax_finding(error, file, offset, index))
            yield None, offset
            offset = _next_document(file.text, after=max(index, offset + 1))
            broken += 1
            if broken == MAX_BROKEN and offset >= 0:
                findings.append(_too_many_finding(file, offset))
                return


def _construct(
    root: Node, file: SourceText, offset: int, constructor: Constructor, findings: list[Finding]
) -> ParsedDocument | None:
    start, end = offset + root.start_mark.index, offset + root.end_mark.index
    content = constructor.build(root)
    if not constructor.problems:
        templated = file.text.find("${", start, end) >= 0
        return ParsedDocument(Document(file, start, end), content, templated, root)
    findings += (mistake.finding(file, offset) for mistake in constructor.problems)
    constructor.problems.clear()
    return None


def _is_empty(root: Node) -> bool:
    return isinstance(root, ScalarNode) and not root.value and is_plain(root)


def _nothing_finding(file: SourceText) -> Finding:
    """An empty file may be an accident, and is an error; one with comments is only a warning."""
    empty = not file.text.strip()
    return Finding(
        source=file.place(0),
        problem="the file is empty" if empty else "the file declares nothing",
        advice="delete it if nothing is declared here any more",
        severity=Severity.ERROR if empty else Severity.WARNING,
    )


def _too_many_finding(file: SourceText, offset: int) -> Finding:
    """The finding that ends a file: after each broken document its rest is parsed once more."""
    return Finding(
        source=file.place(offset),
        problem=f"{MAX_BROKEN} documents above are not YAML, so the rest is not read",
        advice="correct those first",
    )


def _next_document(text: str, after: int) -> int:
    """The index at which the next document begins; -1 if there is none."""
    match = _DOCUMENT_START.search(text, after)
    return match.start() if match else -1


def _error_index(error: yaml.YAMLError, end: int) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return min(mark.index, end) if mark else 0


def _syntax_finding(error: yaml.YAMLError, file: SourceText, offset: int, index: int) -> Finding:
    """The finding at ``index``; unclosed text is reported at its beginning."""
    problem = getattr(error, "problem", None) or "it can't be read"
    if isinstance(error, TooDeepError):
        problem = f"collections are nested more than {MAX_DEPTH} deep"
        advice = "flatten the document"
    elif "'\t'" in problem or file.text[index : index + 1] == "\t" or "tab" in problem:
        problem, advice = "a tab can't indent YAML", "indent with spaces"
    elif "${" in file.text[file.text.rfind("\n", 0, index) + 1 : index + 1]:
        advice = (
            "put the placeholder in quotes, or write it on a line of its own without {…} or […]"
        )
    else:
        if problem in _NOT_CLOSED and (mark := getattr(error, "context_mark", None)):
            index = offset + mark.index
        problem, advice = _EXPLAINED.get(
            problem, (f"this is not YAML: {problem}", "correct the syntax")
        )
    return Finding(source=file.place(index), problem=problem, advice=advice)


# libyaml's messages, each with the problem and advice that findings give in its place.
_EXPLAINED = {
    "mapping values are not allowed in this context": (
        "a ':' is not allowed here",
        "correct the indentation, or put the text in quotes",
    ),
    "could not find expected ':'": ("a ':' is missing", "write 'key: value' on one line"),
    "found character that cannot start any token": (
        "no value can start with this character",
        "put the text in quotes",
    ),
    "found undefined alias": ("the alias is not defined", "define its anchor (&name) before it"),
    "found unexpected end of stream": ("the quotes are not closed", "close them"),
    "found unexpected document indicator": ("the quotes are not closed before ---", "close them"),
    "did not find expected key": ("a key is expected here", "correct the indentation"),
    "did not find expected node content": (
        "a value is expected here",
        "write it, or close the bracket",
    ),
    "did not find expected ',' or '}'": ("a ',' or '}' is missing", "close the mapping"),
    "did not find expected ',' or ']'": ("a ',' or ']' is missing", "close the list"),
    "did not find expected '-' indicator": ("a '-' is expected here", "correct the indentation"),
    "did not find expected <document start>": (
        "another document begins here",
        "separate documents by a line ---",
    ),
    "found unknown escape character": (
        "the text has an unknown escape",
        "write \\\\ for a backslash, or use single quotes",
    ),
    "found invalid Unicode character escape code": (
        "the text has an escape that is not a character",
        "write the character itself",
    ),
    "second occurrence": ("the anchor is defined twice", "give it another name"),
}
_NOT_CLOSED = ("found unexpected end of stream", "found unexpected document indicator")
