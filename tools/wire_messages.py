"""Condenses Kafka's message definitions to the field tables in ``kgitops/wire/messages.jsonl``.

    python tools/wire_messages.py kafka-clients-4.3.0.jar

A message is one line, so that a new Kafka shows as a readable difference. Names, types, versions
and defaults are taken over, the facts that a codec needs; no documentation is.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

TABLES = Path(__file__).parents[1] / "kgitops" / "wire" / "messages.jsonl"
_DEFINITION = re.compile(r"common/message/\w+\.json")
_COMMENT = re.compile(r"(^|\s)//.*$", re.MULTILINE)
_FIELD = (
    ("nullableVersions", "nullable"),
    ("taggedVersions", "tagged"),
    ("tag", "tag"),
    ("default", "default"),
    ("flexibleVersions", "flexible"),
    ("entityType", "entity"),
    ("ignorable", "ignorable"),
)

_RESTORED = {
    # Kafka 4 took this field out with the version that had it (KIP-896); seed mode answers it.
    ("DescribeConfigsResponse", "ReadOnly"): {"name": "IsDefault", "type": "bool", "versions": "0"}
}
"""Fields that are no longer in Kafka's definitions, by the message and the field before them."""


def main() -> None:
    """Write the tables of the jar that the command line names."""
    with ZipFile(sys.argv[1]) as jar:
        names = sorted(name for name in jar.namelist() if _DEFINITION.fullmatch(name))
        read = [json.loads(_COMMENT.sub("", jar.read(name).decode())) for name in names]
    lines = [
        json.dumps(_message(definition), separators=(",", ":"))
        for definition in read
        if definition["validVersions"] != "none"
    ]
    TABLES.write_text("\n".join(lines) + "\n")


def _message(definition: dict[str, Any]) -> dict[str, Any]:
    kept = {
        "name": definition["name"],
        "kind": definition["type"],
        "key": definition.get("apiKey"),
        "versions": definition["validVersions"],
        "flexible": definition["flexibleVersions"],
        "listeners": definition.get("listeners"),
        "unstable": definition.get("latestVersionUnstable"),
        "fields": _fields(definition["fields"], definition["name"]),
        "structs": {
            struct["name"]: _fields(struct["fields"], definition["name"])
            for struct in definition.get("commonStructs", ())
        },
    }
    return {
        key: value for key, value in kept.items() if value not in (None, {}) and value is not False
    }


def _fields(fields: list[dict[str, Any]], message: str) -> list[dict[str, Any]]:
    made = []
    for field in fields:
        made.append(_field(field, message))
        if (message, field["name"]) in _RESTORED:
            made.append(_RESTORED[message, field["name"]])
    return made


def _field(field: dict[str, Any], message: str) -> dict[str, Any]:
    kept = {"name": field["name"], "type": field["type"], "versions": field["versions"]}
    kept |= {ours: field[theirs] for theirs, ours in _FIELD if theirs in field}
    if "default" in kept:
        kept["default"] = str(kept["default"]).lower()
    if kept.get("ignorable") is False:
        del kept["ignorable"]
    if "fields" in field:
        kept["fields"] = _fields(field["fields"], message)
    return kept


if __name__ == "__main__":
    main()
