"""Turns pydantic's errors into findings in our own words, each at the scalar that is wrong."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kgitops.manifests.kind_models import LISTS, adapter
from kgitops.manifests.kinds.fields import REFUSED, meant
from kgitops.manifests.schema import field_names, may_be_empty, may_be_null
from kgitops.manifests.yaml.document import EMPTY, ITEMS, Document, plain_value, shown
from kgitops.manifests.yaml.parse import Content, QuotedPlaceholder
from kgitops.model.source import Finding
from kgitops.model.wording import nearest

Path = tuple[str | int, ...]

_WORD = re.compile(r"[\w./*-]{1,60}")
_UNKNOWN_FIELD = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MAPPING = frozenset({"dataclass_type", "dict_type", "model_type"})
_NULL_REMOVES = (("configs",), ("quotas",))
_SCOPE = "virtualCluster"
_SPEC: Path = ("spec",)
_OF_THE_LIST = "write it once for the list, or declare the object in a separate document"
_EXPECTED = {
    "string_type": ("text", "put it in quotes"),
    "list_type": ("a list", "write [a, b], or each item on a line that begins with '-'"),
    "bool_type": ("true or false", "write one of these"),
    "bool_parsing": ("true or false", "write one of these"),
    "int_type": ("a whole number", "write it without quotes and fraction"),
    "bool_strict": ("true or false", "write one of these"),
    "float_type": ("a number", "write it without quotes"),
}


def model_findings(
    error: ValidationError,
    kind: str,
    document: Document,
    content: Content,
    *,
    below: Path = (),
) -> Iterator[Finding]:
    """One finding for every value that is wrong.

    With ``below`` only for values below that path that hold no placeholder, because placeholders
    are not replaced yet.
    """
    reported: set[Path] = set()
    for details in error.errors(include_url=False):
        path, is_key = _path(details, content)
        if below and (path[: len(below)] != below or _is_open(details["input"])):
            continue
        if path not in reported:
            reported.add(path)
            yield _finding(details, kind, document, path, is_key=is_key)


def validated(kind: str, content: Content) -> Any:  # noqa: ANN401 (the kind's model)
    """The declaration of a document; a placeholder in quotes has the type of its field.

    Raises:
        ValidationError: see ``model_findings``.
    """
    validate = adapter(kind).validator.validate_python
    try:
        return validate(content)
    except ValidationError as error:
        if not _retyped(error, content):
            raise
    return validate(content)


def _retyped(error: ValidationError, content: Content) -> bool:
    found = False
    for details in error.errors(include_url=False):
        path, is_key = _path(details, content)
        if is_key or not path:
            continue
        inside = content
        for step in path[:-1]:
            inside = inside[step]
        value = inside.get(path[-1]) if isinstance(inside, dict) else inside[path[-1]]
        if value and isinstance(value, QuotedPlaceholder):
            with suppress(ValueError):  # thousands of digits
                inside[path[-1]] = plain_value(value)
                found = True
    return found


def _is_open(value: object) -> bool:
    return isinstance(value, str) and "${" in value


def dotted(path: Path) -> str:
    """A path as a sentence names it: ``spec.operations[1]``."""
    text = "".join(f".{step}" if _is_word(step) else f"[{shown(step)}]" for step in path)
    return text.removeprefix(".") or "the document"


def _named(document: Document, path: Path) -> str:
    """The path as the file has it."""
    return dotted(document.written_path(path))


def _is_word(step: str | int) -> bool:
    return isinstance(step, str) and _WORD.fullmatch(step) is not None


def written_value(document: Document, path: Path, value: object) -> str:
    """The value as a sentence shows it; a value from a placeholder is shown as the placeholder."""
    written = document.written(*path)
    return shown(written if written is not None and "${" in written else value)


def _finding(
    details: ErrorDetails, kind: str, document: Document, path: Path, *, is_key: bool
) -> Finding:
    match details["type"]:
        case unknown if unknown in _UNKNOWN_FIELD:
            if document.item is not None and path[:1] != _SPEC:
                return unknown_field(f"{kind}List", document.whole, path)
            return unknown_field(kind, document, path)
        case "missing":
            return Finding(
                source=document.at(*path),
                problem=f"{_named(document, path)} is missing",
                advice=f"add it{_empty(kind, document, path)}",
            )
        case "invalid_key":
            key = details["input"]
            return Finding(
                source=document.key_at(*path, key),
                problem=f"the key {shown(key)} in {_named(document, path)} must be text",
                advice="put it in quotes, or remove it",
            )
        case "too_short" | "string_too_short":
            return Finding(
                source=document.at(*path),
                problem=f"{_named(document, path)} must not be empty",
                advice="write it, or remove the line if it is not needed",
            )
        case error_type if "problem" in details.get("ctx", {}):
            context = details["ctx"]
            return Finding(
                source=document.at(*path),
                problem=f"{_named(document, path)}: {context['problem']}",
                advice=context["advice"],
            )
        case error_type if is_key:
            expected, advice = _expected(error_type, details.get("ctx", {}))
            key = _named(document, path)
            return Finding(
                source=document.key_at(*path),
                problem=f"the key {key} must be {expected}, not {shown(path[-1])}",
                advice=advice,
            )
        case _:
            return _wrong_value(details, kind, document, path)


def _wrong_value(details: ErrorDetails, kind: str, document: Document, path: Path) -> Finding:
    expected, advice = _expected(details["type"], details.get("ctx", {}))
    value = details["input"]
    if isinstance(value, str) and "number" in expected:
        is_part = "${" in (document.written(*path) or "")
        advice = (None if is_part else _as_number(path, value)) or advice
    if isinstance(value, list) and (nothing := _first_nothing(value)) is not None:
        path, value, expected = (*path, nothing), value[nothing], "a value"
    text = written_value(document, path, value)
    problem = f"{_named(document, path)} must be {expected}, not {text}"
    if value is None or value is EMPTY:
        advice = _instead_of_nothing(kind, document, path)
        if text != shown(value):
            problem = (
                f"{_named(document, path)} must be {expected}, and {text} is {shown(value)} here"
            )
    return Finding(source=document.at(*path), problem=problem, advice=advice)


def _as_number(path: Path, text: str) -> str | None:
    """Advice on text where a number is wanted, if it is one in quotes, or has a unit."""
    try:
        is_number = isinstance(plain_value(text), int | float)
    except ValueError:
        return None
    return "remove the quotes" if text and is_number else meant(path[-1], text)


def _first_nothing(items: list[object]) -> int | None:
    """The index of the first item that is empty or null."""
    return next((at for at, item in enumerate(items) if item is None or item is EMPTY), None)


def _instead_of_nothing(kind: str, document: Document, path: Path) -> str:
    """The advice about an empty value, or a null where no null is allowed."""
    if may_be_empty(kind, path):
        return f"write {document.written_path(path)[-1]}: {{}}, or its fields below it"
    if path[-2:-1] in _NULL_REMOVES and may_be_null(kind, path):
        below = {"Topic": "the default or the profile's value", "TopicProfile": "the default"}
        return f"write a value, or null to remove {below.get(kind, 'the key')}"
    return "write a value, or remove the line if it is not needed"


def _expected(error_type: str, context: Mapping[str, Any]) -> tuple[str, str]:
    if error_type == REFUSED:
        return context["expected"], context["advice"]
    if error_type in _MAPPING:
        return "a mapping", "write its fields below it, indented"
    if error_type == "literal_error":
        values = context["expected"].replace(" or ", ", ").replace("'", "")
        return f"one of {values}", "write one of these"
    return _EXPECTED.get(error_type, ("another value", "see docs/reference/manifests.md"))


def _empty(kind: str, document: Document, path: Path) -> str:
    if not may_be_empty(kind, path):
        return ""
    return f", as {document.written_path(path)[-1]}: {{}} if it has no fields"


def unknown_field(kind: str, document: Document, path: Path) -> Finding:
    """The finding that documents of ``kind`` have no field ``path``."""
    is_scope = path[-1] == _SCOPE and path[:-1] in (("metadata",), _SPEC)
    advice = _scope_advice if is_scope else _field_advice
    return Finding(
        source=document.key_at(*path),
        problem=f"{_named(document, path)} is not a field of {kind}",
        advice=advice(kind, document, path),
    )


def _field_advice(kind: str, document: Document, path: Path) -> str:
    fields = field_names(kind, path[:-1])
    if near := nearest(path[-1], fields):
        return f"did you mean {near}?"
    place = _place_of(kind, path)
    if place is None:
        return f"remove it; the fields here are {', '.join(fields)}"
    if document.item is None or place[:1] == _SPEC:
        return f"write it in {_named(document, place)}, indented below it"
    if path[-1] == "spec":
        return f"write its fields right below {document.item.name}"
    return _OF_THE_LIST


def _place_of(kind: str, path: Path) -> Path | None:
    """The place of a field that stands too far left or right: ``spec``, ``spec.configs``."""
    name, here, spec = path[-1], path[:-1], _spec_of(kind)
    for place in ((), ("metadata",), _SPEC, spec):
        if place != here and name in field_names(kind, place):
            return place
    is_config = "configs" in field_names(kind, spec) and "." in str(name)
    return (*spec, "configs") if is_config else None


def _scope_advice(kind: str, document: Document, _path: Path) -> str:
    """Every kind has one place for ``virtualCluster``: suggesting a similar word does not help."""
    spec = _spec_of(kind)
    places = (("metadata",), spec, (*spec, "entity"))
    place = next((at for at in places if _SCOPE in field_names(kind, at)), None)
    if place is None:
        return f"remove it: a document of kind {kind} is in no virtual cluster"
    if document.item is not None and place[:1] != _SPEC:
        return _OF_THE_LIST
    named = _named(document, place)
    return f"write {_SCOPE} in {named}, where a document of this kind has it"


def _spec_of(kind: str) -> Path:
    """The place of a ``spec`` in documents of ``kind``: in a list that of any item."""
    return (*_SPEC, ITEMS, "NAME") if kind in LISTS else _SPEC


def _path(details: ErrorDetails, content: Content) -> tuple[Path, bool]:
    """The steps of pydantic's location that are in the document: pydantic adds names of types."""
    steps: list[str | int] = []
    # pydantic ends the location of a key that is not text with some text of its own.
    location = details["loc"][:-1] if details["type"] == "invalid_key" else details["loc"]
    last = len(location) - 1
    for index, step in enumerate(location):
        if step == "[key]" and index == last:
            return tuple(steps), True
        is_in_document, inner = _step(content, step)
        if is_in_document:
            steps.append(step)
            content = inner
        elif index == last and details["type"] == "missing":
            steps.append(step)
    return tuple(steps), False


def _step(content: Content, step: str | int) -> tuple[bool, Content]:
    if isinstance(content, dict):
        for key in (step, str(step)):
            if key in content:
                return True, content[key]
    if isinstance(content, list) and isinstance(step, int) and step < len(content):
        return True, content[step]
    return False, None
