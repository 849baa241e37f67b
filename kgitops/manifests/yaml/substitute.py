"""Replaces the placeholders of a document, before it is checked."""

from collections.abc import Callable

from kgitops.manifests.yaml.construct import Content, PlainPlaceholder
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.placeholders import Lookup, PlaceholderError
from kgitops.manifests.yaml.scalars import plain_value
from kgitops.model.source import Finding

_STAND_IN = 1
Path = tuple[str | int, ...]
Missing = Callable[[Path, str, PlaceholderError], Content]


def substitute(
    content: Content, document: Document, lookup: Lookup, findings: list[Finding]
) -> Content:
    """The content with every placeholder replaced; one without a value is a finding."""

    def missing(path: Path, text: str, error: PlaceholderError) -> Content:
        findings.append(
            Finding(source=document.at(*path), problem=error.problem, advice=error.advice)
        )
        return text

    return _walk(content, (), lookup, missing)


def substitute_where_known(content: Content, lookup: Lookup) -> Content:
    """The content of a document for other clusters: what has no value here is no mistake.

    A number stands in where a whole value is missing, so that the rest can still be checked. It is
    never taken for a name: a name must be text.
    """

    def missing(_path: Path, text: str, _error: PlaceholderError) -> Content:
        return _STAND_IN if isinstance(text, PlainPlaceholder) else text

    return _walk(content, (), lookup, missing)


def _walk(content: Content, path: Path, lookup: Lookup, missing: Missing) -> Content:
    match content:
        case str() if "${" in content:
            return _text(content, path, lookup, missing)
        case dict():
            return {
                key: _walk(value, (*path, key), lookup, missing) for key, value in content.items()
            }
        case list():
            return [
                _walk(value, (*path, index), lookup, missing) for index, value in enumerate(content)
            ]
        case _:
            return content


def _text(text: str, path: Path, lookup: Lookup, missing: Missing) -> Content:
    try:
        replaced = lookup.replace(text)
        return plain_value(replaced) if isinstance(text, PlainPlaceholder) else replaced
    except PlaceholderError as error:
        return missing(path, text, error)
    except ValueError:
        too_long = PlaceholderError("the number has too many digits", "give a shorter number")
        return missing(path, text, too_long)


def has_placeholder(content: Content) -> bool:
    """Whether a placeholder is left anywhere in ``content``."""
    match content:
        case str():
            return "${" in content
        case dict():
            return any(map(has_placeholder, content.values()))
        case list():
            return any(map(has_placeholder, content))
        case _:
            return False
