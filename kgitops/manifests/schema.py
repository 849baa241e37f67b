"""Makes the JSON Schemas of all kinds from the models, for editors and for ``kgitops schema``."""

import ast
import inspect
import json
import textwrap
from dataclasses import is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from pydantic.alias_generators import to_camel, to_snake

from kgitops.manifests.kind_models import DOCUMENT_KINDS, LISTS, adapter, model
from kgitops.manifests.kinds.fields import Listing

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

_PLACEHOLDER: Schema = {"type": "string", "pattern": r"^\$\{(var|env):[^{}]+\}$"}


def build_schema(kind: str | None = None) -> Schema:
    """The JSON Schema (2020-12) of documents of ``kind``, or of any document."""
    if kind is not None:
        schema = _with_placeholders(kind_schema(kind))
        return {"$schema": DIALECT, "title": f"kgitops {kind}", **schema}
    definitions: Schema = {}
    for name in DOCUMENT_KINDS:
        schema = _with_placeholders(kind_schema(name))
        definitions.update(schema.pop("$defs", {}))
        definitions[name] = schema
    return {
        "$schema": DIALECT,
        "title": "kgitops manifest",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in DOCUMENT_KINDS],
        "$defs": dict(sorted(definitions.items())),
    }


def field_names(kind: str, path: tuple[str | int, ...]) -> list[str]:
    """The fields that a document of ``kind`` may have below ``path``."""
    root = kind_schema(kind)
    return sorted(resolve(_under(path, root), root).get("properties", {}))


def may_be_null(kind: str, path: tuple[str | int, ...]) -> bool:
    """Return whether null is a value of the field or key under ``path``."""
    node = _under(path, kind_schema(kind))
    return {"type": "null"} in node.get("anyOf", ())


def _under(path: tuple[str | int, ...], root: Schema) -> Schema:
    """The schema of the value under ``path``; an empty one if there is none."""
    node = root
    for step in path:
        node = resolve(node, root)
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties") or {}
    return node


def may_be_empty(kind: str, path: tuple[str | int, ...]) -> bool:
    """Return whether the path is the ``spec`` of ``kind`` and requires no field of its own."""
    if path != ("spec",):
        return False
    root = kind_schema(kind)
    spec = resolve(resolve(root, root)["properties"]["spec"], root)
    return not spec.get("required") and not spec.get("oneOf") and "properties" in spec


def schema_files() -> dict[str, str]:
    """The name and text of every schema file."""
    schemas = {"kgitops.schema.json": build_schema(None)}
    schemas.update((f"{kind}.schema.json", build_schema(kind)) for kind in DOCUMENT_KINDS)
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


@cache
def kind_schema(kind: str) -> Schema:
    """The schema of one kind, without placeholders."""
    if kind in LISTS:
        return _list_schema(kind, LISTS[kind])
    schema: Schema = _tidy(adapter(kind).json_schema())
    models = _models(model(kind))
    for name, definition in schema.get("$defs", {}).items():
        _describe(definition, models[name])
    _describe(schema, model(kind))
    return schema


def _list_schema(kind: str, of: str) -> Schema:
    """The schema of a list: what its items have in common stands once, without a name."""
    one = kind_schema(of)
    fields = one["properties"]
    metadata = fields["metadata"]["$ref"].rsplit("/", 1)[1]
    common = dict(one["$defs"][metadata])
    common["required"] = [name for name in common.get("required", ()) if name != "name"]
    names = {name: each for name, each in common["properties"].items() if name != "name"}
    items = {
        "additionalProperties": {"$ref": fields["spec"]["$ref"]},
        "description": f"Maps the name of each {_noun(of)} to its spec.",
        "minProperties": 1,
        "propertyNames": {"minLength": 1},
        "type": "object",
    }
    return {
        **one,
        "$defs": {**one["$defs"], f"{metadata}OfList": {**common, "properties": names}},
        "description": f"Any number of {of} documents that have their metadata in common.",
        "properties": {
            **fields,
            "kind": {**fields["kind"], "const": kind},
            "metadata": {**fields["metadata"], "$ref": f"#/$defs/{metadata}OfList"},
            "spec": {
                "additionalProperties": False,
                "description": fields["spec"]["description"],
                "properties": {"items": items},
                "required": ["items"],
                "type": "object",
            },
        },
        "required": [name for name in one["required"] if name != "metadata" or common["required"]],
    }


def _noun(kind: str) -> str:
    """The kind as a sentence has it: ``virtual cluster``, ``ACL``."""
    return to_snake(kind).replace("_", " ").replace("acl", "ACL")


def _models(root: type) -> dict[str, type]:
    """The model and those of its fields, at any depth, by name."""
    models: dict[str, type] = {}
    waiting: list[Any] = [root]
    while waiting:
        item = waiting.pop()
        waiting += get_args(item)
        if isinstance(item, type) and is_dataclass(item) and item.__name__ not in models:
            models[item.__name__] = item
            waiting += get_type_hints(item, include_extras=True).values()
    return models


def _tidy(node: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Leave out pydantic's titles and null defaults; spell ``oneOf`` as ``anyOf``."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _tidy(field) for name, field in value.items()}
        elif key == "oneOf":
            result["anyOf"] = _tidy(value)
        elif not (key == "title" or (key == "default" and value is None)):
            result[key] = _tidy(value)
    return result


def _describe(schema: Schema, described: type) -> None:
    schema["description"] = " ".join((described.__doc__ or "").split("\n\n")[0].split())
    for name, text in field_docs(described).items():
        schema["properties"][name]["description"] = text


def _with_placeholders(node: Any) -> Any:  # noqa: ANN401 (any JSON)
    """A copy that allows a placeholder for every number, boolean and enum."""
    if isinstance(node, list):
        return [_with_placeholders(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _or_placeholder(field) for name, field in value.items()}
        elif key in ("items", "additionalProperties"):
            result[key] = _or_placeholder(value)
        else:
            result[key] = _with_placeholders(value)
    return result


def _or_placeholder(field: Any) -> Any:  # noqa: ANN401 (any JSON)
    value = _with_placeholders(field)
    if not isinstance(value, dict):
        return value
    if "enum" not in value and value.get("type") not in ("integer", "number", "boolean"):
        return value
    about = {key: value.pop(key) for key in ("description", "default") if key in value}
    return {**about, "anyOf": [value, _PLACEHOLDER]}


def resolve(node: Schema, root: Schema) -> Schema:
    """The schema that ``node`` refers to; of several the one that has fields."""
    if "$ref" in node:
        return resolve(root["$defs"][node["$ref"].rsplit("/", 1)[1]], root)
    for option in node.get("anyOf", []):
        resolved = resolve(option, root)
        if "properties" in resolved:
            return resolved
    return node


@cache
def field_docs(model: type) -> dict[str, str]:
    """Field name, as documents write it, to its description; inherited fields too."""
    docs: dict[str, str] = {}
    hints = get_type_hints(model, include_extras=True)
    for cls in reversed(model.__mro__[:-1]):
        definition = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(definition, ast.ClassDef)  # noqa: S101 (the source of a class)
        for field, after in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                name, text = field.target.id, _docstring(after)
                for listing in get_args(hints[name]):
                    if isinstance(listing, Listing):
                        text = text.replace("{}", listing.text)
                docs[to_camel(name.rstrip("_"))] = text
    return docs


def _docstring(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return " ".join(text.split())
        case _:
            return ""
