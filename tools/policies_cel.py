"""The tables of ``docs/reference/policies-cel.md``, made from what expressions may use."""

import re
from collections.abc import Mapping
from pathlib import Path

from kgitops.policy.cel.functions import FUNCTIONS
from kgitops.policy.cel.objects import (
    BROKER_CHANGE,
    QUOTA_CHANGE,
    RECORDS,
    TOPIC_CHANGE,
    USER_CHANGE,
    VIRTUAL_CLUSTER_CHANGE,
    Record,
    RecordField,
)
from kgitops.policy.cel.variables import (
    CLUSTER,
    LABELS,
    PRINCIPAL,
    REQUEST,
    REQUEST_VARIABLES,
    ROOTS,
)

_CHANGES = (TOPIC_CHANGE, QUOTA_CHANGE, USER_CHANGE, BROKER_CHANGE, VIRTUAL_CLUSTER_CHANGE)
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "policies-cel.md"
_FIXED: Mapping[str, Record] = {"request": REQUEST, "cluster": CLUSTER, "principal": PRINCIPAL}
_GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_cel() -> str:
    """The page with every generated table written again, between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    return _GENERATED.sub(lambda match: f"{match[1]}{_table(match[2])}{match[3]}", page)


def _table(name: str) -> str:
    rows = {"requests": _requests, "fields": _fields, "functions": _functions}[name]()
    return "\n".join(rows) + "\n"


def _requests() -> list[str]:
    rows = ["| request | `requested` | `current` | `change` |", "| --- | --- | --- | --- |"]
    for api, shape in REQUEST_VARIABLES.items():
        current = _name(shape.current) + (" or `null`" if shape.may_be_new else "")
        rows.append(f"| `{api}` | {_name(shape.requested)} | {current} | {_name(shape.change)} |")
    return rows


def _name(record: Record | None) -> str:
    return "`null`" if record is None else record.name


def _fields() -> list[str]:
    rows = ["| field | type | |", "| --- | --- | --- |"]
    for root, text in ROOTS.items():
        if root in _FIXED:
            rows += [f"| **`{root}`** | | {text} |", *_rows(f"{root}.", _FIXED[root].fields)]
        elif root == "requested":
            rows.append("| **`requested`**, **`current`** | | The object after and before. |")
            rows += ["| *everything that is requested* | | |", *_rows("", {"labels": LABELS})]
            for name, fields in _objects().items():
                rows += [f"| *{name}* | | |", *_rows("", fields)]
        elif root == "change":
            rows.append(f"| **`{root}`** | | {text} |")
            for record in _CHANGES:
                rows += [f"| *{record.name}* | | |", *_rows(f"{root}.", record.fields)]
    return rows


def _objects() -> Mapping[str, Mapping[str, RecordField]]:
    """Every object's fields; those that only one side has say so."""
    objects: dict[str, dict[str, RecordField]] = {}
    for shape in REQUEST_VARIABLES.values():
        for record in (shape.requested, shape.current):
            if record is not None:
                objects.setdefault(record.name, {}).update(record.fields)
    return objects


def _rows(prefix: str, fields: Mapping[str, RecordField]) -> list[str]:
    return [
        f"| `{prefix}{name}` | {field.type} | {field.doc}{_side(field)} |"
        for name, field in fields.items()
    ]


def _side(field: RecordField) -> str:
    sides = {
        side
        for shape in REQUEST_VARIABLES.values()
        for side, record in (("requested", shape.requested), ("current", shape.current))
        if record is not None and field in record.fields.values()
    }
    paired = sides and field not in RECORDS.fields.values()
    return f" Only of `{sides.pop()}`." if paired and len(sides) == 1 else ""


def _functions() -> list[str]:
    rows = ["| function | gives | |", "| --- | --- | --- |"]
    return rows + [
        f"| `{function.form}` | {function.gives} | {function.doc} |"
        for function in FUNCTIONS.values()
    ]
