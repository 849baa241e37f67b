"""Two answers compared field by field, without what two clusters can't have alike."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from kgitops.wire.messages import NIL_UUID, Message

_NAMING = (
    # The fields that tell rows of a response apart; brokers give rows in the order of hash maps.
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "resource_type",
    "resource_name",
    "partition_index",
    "partition_id",
    "partition",
    "broker_id",
    "node_id",
    "user",
    "mechanism",
    "key",
    "entity",
    "entity_type",
    "entity_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
    "source",
)
_PLACES = frozenset({"isr_nodes", "offline_replicas"})
"""Lists of brokers whose order says nothing."""


class Difference(msgspec.Struct, frozen=True):
    """A field whose values differ; the path has no numbers of rows."""

    path: str
    real: str
    served: str

    def __str__(self) -> str:
        return f"{self.path}: Kafka {self.real}, served {self.served}"


def plain(message: Message, names: Mapping[bytes, str]) -> Any:  # noqa: ANN401 (any JSON)
    """A message as dicts and lists, the ids of topics as the names that they belong to."""
    if isinstance(message, msgspec.Struct):
        fields = {name: plain(getattr(message, name), names) for name in message.__struct_fields__}
        return {name: _without_chance(name, value) for name, value in fields.items()}
    if isinstance(message, list):
        rows = [plain(row, names) for row in message]
        return sorted(rows, key=_identity) if rows and isinstance(rows[0], dict) else rows
    if isinstance(message, bytes) and len(message) == len(NIL_UUID):
        return "none" if message == NIL_UUID else names.get(message, "unknown")
    return message


def _without_chance(name: str, value: Any) -> Any:  # noqa: ANN401
    match name:
        case "cluster_id":
            return bool(value)
        case "controller_id":
            return value >= 0  # any broker stands for it
        case "port" | "host" if value and isinstance(value, int | str):
            return "an address" if name == "port" or value[:1].isalnum() else value
        case _ if name in _PLACES:
            return sorted(value)
    return value


def _identity(row: Mapping[str, Any]) -> str:
    return str([row[name] for name in _NAMING if name in row])


def differences(path: str, real: Any, served: Any) -> Iterator[Difference]:  # noqa: ANN401
    """The innermost fields whose values differ."""
    if isinstance(real, dict) and isinstance(served, dict):
        for name, value in real.items():
            yield from differences(f"{path}.{name}", value, served[name])
    elif _rows(real) and _rows(served):
        found = ({_identity(row): row for row in rows} for rows in (real, served))
        theirs, ours = found
        for key in sorted(theirs.keys() | ours.keys()):
            if key in theirs and key in ours:
                yield from differences(f"{path}[]", theirs[key], ours[key])
            else:
                rows = (str(side.get(key, "nothing")) for side in (theirs, ours))
                yield Difference(f"{path}[]", *rows)
    elif real != served:
        yield Difference(path, str(real), str(served))


def _rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


Compare = Callable[[Message, Message], list[Difference]]
