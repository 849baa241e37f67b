"""The JSON Schemas of all kinds, made from the models, for editors and for ``kgitops schema``."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from kgitops.manifests.kinds import KINDS, adapter

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def build_schema(kind: str | None = None) -> Schema:
    """The JSON Schema (2020-12) of documents of ``kind``, or of any document."""
    if kind is not None:
        schema = _kind_schema(kind)
        return {"$schema": DIALECT, "title": f"kgitops {kind}", **schema}
    definitions: Schema = {}
    for name in KINDS:
        schema = dict(_kind_schema(name))
        definitions.update(schema.pop("$defs", {}))
        definitions[name] = schema
    return {
        "$schema": DIALECT,
        "title": "kgitops manifest",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in KINDS],
        "$defs": dict(sorted(definitions.items())),
    }


def field_names(kind: str, path: tuple[str | int, ...]) -> list[str]:
    """The fields that a document of ``kind`` may have below ``path``."""
    root = _kind_schema(kind)
    node = root
    for step in path:
        node = _resolve(node, root)
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties") or {}
    return sorted(_resolve(node, root).get("properties", {}))


def write_schemas(folder: Path) -> None:
    """Write every schema to ``folder``."""
    folder.mkdir(exist_ok=True)
    for name, text in schema_files().items():
        (folder / name).write_text(text, encoding="utf-8")


def schema_files() -> dict[str, str]:
    """The name and text of every schema file."""
    schemas = {"kgitops.schema.json": build_schema(None)}
    schemas.update((f"{kind}.schema.json", build_schema(kind)) for kind in KINDS)
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


@cache
def _kind_schema(kind: str) -> Schema:
    schema: Schema = _tidy(adapter(kind).json_schema())
    return schema


def _tidy(node: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Without pydantic's titles and null defaults, and without line breaks in descriptions."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _tidy(field) for name, field in value.items()}
        elif key == "description":
            result[key] = " ".join(value.split("\n\nExample:")[0].split())
        elif not (key == "title" or (key == "default" and value is None)):
            result[key] = _tidy(value)
    return result


def _resolve(node: Schema, root: Schema) -> Schema:
    if "$ref" in node:
        return _resolve(root["$defs"][node["$ref"].rsplit("/", 1)[1]], root)
    for option in node.get("anyOf", []):
        resolved = _resolve(option, root)
        if "properties" in resolved:
            return resolved
    return node


if __name__ == "__main__":
    write_schemas(Path("schemas"))
