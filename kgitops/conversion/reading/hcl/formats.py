"""Texts in JSON, YAML and CSV as values of Terraform's language, and values as JSON."""

import csv
import json
import re
from typing import Any

from kgitops.conversion.reading.budget import MOST_ITEMS, MOST_TEXT, check_size
from kgitops.conversion.reading.hcl.operators import number_of
from kgitops.conversion.reading.hcl.scopes import Data
from kgitops.manifests.yaml.document import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    SourceText,
    is_merge,
    is_plain,
)
from kgitops.manifests.yaml.parse import compose_file
from kgitops.model.source import Finding

_SIGNS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Signs that Terraform writes as escapes in JSON."""
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BINARY = re.compile(r"-?0b[01]+")
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")


def json_text(value: Data) -> str:
    """The value as `jsonencode` writes it: keys in order, no spaces."""
    encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    parts: list[str] = []
    size = 0
    for part in encoder.iterencode(_whole(value)):
        size += len(part)
        check_size(size, MOST_TEXT)
        parts.append(part)
    return "".join(_SIGNS.get(sign, sign) for sign in "".join(parts))


def _whole(value: Data) -> Data:
    """The value with whole numbers as such: 3 and not 3.0."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_value(text: str) -> Data:
    """The value of a text in JSON.

    Raises:
        ValueError: it is no JSON.
    """
    return json.loads(text, parse_float=number_of, parse_constant=_refuse)


def _refuse(text: str) -> Data:
    raise ValueError(text)


def csv_value(text: str) -> list[dict[str, str]]:
    """The rows of a text in CSV by the names of its first line.

    Raises:
        ValueError: it is no CSV, or a row has more or fewer fields than the first line.
    """
    try:
        names, *rows = csv.reader(text.splitlines(), strict=True)
    except csv.Error as error:
        raise ValueError(text) from error
    return [dict(zip(names, row, strict=True)) for row in rows if row]


def yaml_value(text: str) -> Data:
    """The value of a YAML document, whose scalars are those of Terraform: `no` is false, 010 is 10.

    Raises:
        ValueError: it is no single document, or has a tag or a time.
    """
    findings: list[Finding] = []
    source = SourceText("", text)
    roots = [root for root, _ in compose_file(source, findings) if root is not None]
    if findings or len(roots) != 1:
        raise ValueError(text)
    return _Reading().value(roots[0])


class _Reading:
    """A document being read; aliases may stand for more values than a text has."""

    def __init__(self) -> None:
        self._count = 0

    def value(self, node: Node) -> Data:
        self._count += 1
        check_size(self._count, MOST_ITEMS)
        if isinstance(node, SequenceNode):
            return [self.value(item) for item in node.value]
        if isinstance(node, MappingNode):
            return self._mapping(node)
        assert isinstance(node, ScalarNode)  # noqa: S101 (a node is one of three)
        return _scalar(node)

    def _mapping(self, node: MappingNode) -> dict[str, Data]:
        found: dict[str, Data] = {}
        merged: dict[str, Data] = {}
        for key, item in node.value:
            if is_merge(key):
                several = item.value if isinstance(item, SequenceNode) else [item]
                for one in several:
                    value = self.value(one)
                    merged = {**value, **merged} if isinstance(value, dict) else _refuse("<<")
            elif isinstance(key, ScalarNode):
                found[str(key.value)] = self.value(item)
            else:
                raise ValueError(key)
        return merged | found


def _scalar(node: ScalarNode) -> Data:
    text = str(node.value)
    if node.tag:
        raise ValueError(node.tag)
    if not is_plain(node):
        return text
    if text in _WORDS:
        return _WORDS[text]
    number = text.replace("_", "")
    if _NUMBER.fullmatch(number) and text[0] != "_":
        return number_of(number.removeprefix("+"))
    if _BINARY.fullmatch(number):
        return int(number.replace("0b", ""), 2)
    if _TIME.fullmatch(text) or re.fullmatch(r"[-+]?\.(inf|Inf|INF|nan|NaN|NAN)", text):
        raise ValueError(text)
    return text
