"""A document's class gives its JSON Schema, and the codec and the schema agree."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta, Struct, field

from kgitops.model.json.codec import Count, Moment, from_json, to_json
from kgitops.model.json.schema import document_schema
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json


class Colour(StrEnum):
    """An enumeration."""

    RED = "red"


class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    """Allows no other key."""

    name: str = ""


class Sparse(Struct, frozen=True, omit_defaults=True):
    """Its keys are left out if they have their defaults; they are named as JSON Schema's own."""

    default: Colour | None = None
    title: str = ""
    counts: Mapping[str, Count] = field(default_factory=dict)


class Special:
    """No Struct."""


class Also(Struct, frozen=True):
    """Named by no field."""

    special: Special


class Document(Struct, frozen=True):
    """All of them."""

    closed: tuple[Closed, ...] = (Closed(),)
    sparse: Sparse = Sparse()
    kind: Literal["a"] = "a"
    made: Moment = "2026-11-23T00:00:00Z"
    code: Annotated[str, Meta(extra_json_schema={"not": {"const": "b"}})] = "c"


def _schema() -> dict[str, Json]:
    return document_schema(
        Document,
        title="a document",
        description="for a test",
        also=[Also],
        special={Special: {"type": "number"}},
    )


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"more": 1}, True),
        ({"kind": "b"}, False),
        ({"code": "b"}, False),
        ({"made": "yesterday"}, False),
        ({"closed": []}, True),
        ({"closed": [{}]}, False),
        ({"closed": [{"name": "", "more": 1}]}, False),
        ({"sparse": {"default": "red", "title": "x", "counts": {"a": 0}, "more": 1}}, True),
        ({"sparse": {"default": "blue"}}, False),
        ({"sparse": {"title": 1}}, False),
        ({"sparse": {"counts": {"a": -1}}}, False),
    ],
)
def test_the_schema_accepts_and_refuses(change: Mapping[str, Json], fits: bool) -> None:
    Draft202012Validator.check_schema(_schema())
    assert Draft202012Validator(_schema()).is_valid(to_json(Document()) | change) == fits


@pytest.mark.parametrize("key", Document.__struct_fields__)
def test_every_key_that_is_always_written_is_required(key: str) -> None:
    """As it is for the codec."""
    document = to_json(Document())
    assert from_json(Document, document, "document") == Document()
    del document[key]
    assert not Draft202012Validator(_schema()).is_valid(document)
    with pytest.raises(ShapeError, match=f"document has no key '{key}'"):
        from_json(Document, document, "document")


def test_classes_are_defined_by_name_and_enumerations_where_they_are_used() -> None:
    schema = _schema()
    assert schema["$defs"].keys() == {"Closed", "Sparse", "Also"}
    assert schema["$defs"]["Also"]["properties"] == {"special": {"type": "number"}}
    assert "anyOf" in schema["$defs"]["Sparse"]["properties"]["default"]
    assert schema["title"] == "a document"
