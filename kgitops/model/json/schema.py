"""The JSON Schema of a document, from its class as ``codec.py`` reads and writes it.

``document_schema(Document, title=…, description=…)`` is the whole schema: the keys of ``Document``
at its top, and each other class under ``$defs`` by its name.

- ``required`` are the keys that are always written, with or without a default in the class.
- An object may have more keys, as readers must ignore what they don't know within a major version.
  A class with ``forbid_unknown_fields`` allows no others.
- An enumeration is written where it is used. ``Annotated[…, Meta(…)]`` adds a pattern or a minimum;
  ``Meta(extra_json_schema={…})`` adds anything else. Descriptions and defaults are left out.
- ``also`` are classes under ``$defs`` that no field names. ``special`` has the schema of each class
  that is no Struct (``codec.special``).
- Classes of one document must differ in their names.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from kgitops.model.json.codec import WHOLE, exact
from kgitops.model.registry import Json

_LEFT_OUT = frozenset({"title", "description", "default"})
_REFERENCE = "#/$defs/"


def document_schema(
    kind: type,
    *,
    title: str,
    description: str,
    also: Sequence[type] = (),
    special: Mapping[type, Json] = MappingProxyType({}),
) -> dict[str, Json]:
    """The schema of a ``kind``, for a file of its own."""

    def of_special(other: type) -> Json:
        return special[other]

    def components(kinds: Sequence[Any]) -> dict[str, Any]:
        return msgspec.json.schema_components(kinds, schema_hook=of_special)[1]

    kinds = (kind, *also)
    written = components(kinds)
    closed = {name for name, schema in written.items() if "additionalProperties" in schema}
    found = components([exact(each) for each in kinds])
    enums = {name: {"enum": each["enum"]} for name, each in found.items() if "enum" in each}
    classes = {name: _tidy(each, enums) for name, each in found.items() if name not in enums}
    for name in classes.keys() - closed:
        classes[name].pop("additionalProperties", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        **classes.pop(kind.__name__),
        "$defs": classes,
    }


def schema_text(schema: Mapping[str, Json]) -> str:
    """The text of a published schema."""
    return json.dumps(schema, indent=2) + "\n"


def _tidy(schema: Json, enums: Mapping[str, Json]) -> Json:
    """A schema without what only msgspec needs; ``properties`` may have any name."""
    if isinstance(schema, list):
        return [_tidy(item, enums) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix(_REFERENCE)
    if name in enums:
        return enums[name]
    tidy = {key: _tidy(item, enums) for key, item in schema.items() if key not in _LEFT_OUT}
    if isinstance(schema.get("pattern"), str):
        tidy["pattern"] = schema["pattern"].removeprefix(WHOLE[0]).removesuffix(WHOLE[1])
    if "properties" in schema:
        parts = schema["properties"].items()
        tidy["properties"] = {key: _tidy(item, enums) for key, item in parts}
    return tidy
