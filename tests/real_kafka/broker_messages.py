"""Requests of every API of the broker under test, also of those that kafka-python has no class for.

Their schemas are read from the broker's own jar, so that no list here can fall behind.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from zipfile import ZipFile

from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage, ApiMessageData
from kafka.protocol.schemas.load_json import _resolve_common_structs

from kgitops.cluster.kafka.transport.wire import Message
from kgitops.sandbox.jars import KAFKA, fetch_libs

_COMMENT = re.compile(r"(?m)^\s*//.*$")
_LENT = "ApiVersions"  # kafka-python reads a schema of its own before it takes another


@cache
def _schemas() -> Mapping[str, dict[str, object]]:
    """By the name of the message, such as HeartbeatRequest."""
    found = {}
    with ZipFile(fetch_libs(lambda _: None) / f"kafka-clients-{KAFKA}.jar") as jar:
        for path in jar.namelist():
            if re.fullmatch(r"common/message/\w+(Request|Response)\.json", path):
                schema = json.loads(_COMMENT.sub("", jar.read(path).decode()))
                if schema["validVersions"] == "none":
                    continue  # Kafka knows it no more
                structs = {
                    every["name"]: every["fields"] for every in schema.get("commonStructs", ())
                }
                _resolve_common_structs(schema["fields"], structs)
                found[schema["name"]] = schema
    return found


def api_names() -> Mapping[int, str]:
    """All that this version of Kafka defines, by their keys."""
    return {
        schema["apiKey"]: name.removesuffix("Request")
        for name, schema in _schemas().items()
        if schema["type"] == "request"
    }


@cache
def _class(name: str) -> type:
    for module in (admin, consumer, metadata, producer, sasl):
        if known := getattr(module, f"{name}Request", None):
            return known
    # The class of the answer registers itself, and is kept by being remembered here.
    _from_jar(f"{name}Response")
    return _from_jar(f"{name}Request")


@cache
def _from_jar(name: str) -> type:
    schema = _schemas()[name]
    lent = _LENT + ("Request" if schema["type"] == "request" else "Response")
    patch = {"json_patch": staticmethod(lambda _metaclass, _lent: schema)}
    return ApiMessageData(lent, (ApiMessage,), patch)


def request(
    api: str, *, newest: int | None = None, oldest: int | None = None, **fields: object
) -> Message:
    """A request with these fields, structs as dicts; in the newest version that is allowed."""
    kind = _class(api)
    limits = {"max_version": newest, "min_version": oldest}
    return kind(**_converted(kind, fields), **limits)


def _converted(kind: Message, fields: Mapping[str, object]) -> dict[str, object]:
    return {name: _value(kind.fields[name], value) for name, value in fields.items()}


def _value(field: Message, value: object) -> object:
    if isinstance(value, dict):
        return field.data_class(**_converted(field.data_class, value))
    if isinstance(value, list):
        return [_value(field, each) for each in value]
    return value


def codes(answer: Message) -> list[int]:
    """Every error code in an answer, from the outside in."""
    return list(_codes(answer.to_dict(json=False)))


def _codes(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        yield from (code for name, code in value.items() if name.endswith("error_code"))
        for each in value.values():
            yield from _codes(each)
    elif isinstance(value, list):
        for each in value:
            yield from _codes(each)
