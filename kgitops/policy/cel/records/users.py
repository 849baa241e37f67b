"""Users who log in by SCRAM as expressions see them: never a password, nor where it comes from."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.records.record import (
    CHANGED,
    BeforeAndAfter,
    Record,
    RecordField,
    changes,
    differences,
)
from kgitops.policy.cel.types import INT, STRING, map_of


class JudgedUser(Struct, frozen=True):
    """A user and its mechanisms; ``mechanism`` and ``iterations`` are those of the request."""

    name: str
    scram: Mapping[str, int]
    mechanism: str = ""
    iterations: int | None = None


_USER = {
    "name": RecordField(STRING, "The user's name, without User:.", lambda user, _: user.name),
    "scram": RecordField(
        map_of(INT),
        "The user's mechanisms, such as SCRAM-SHA-512, with their iterations.",
        lambda user, _: dict(user.scram),
    ),
}
CURRENT_USER = Record("a user", _USER)
REQUESTED_USER = Record(
    "a user",
    {
        **_USER,
        "mechanism": RecordField(
            STRING, "The mechanism that the request is about.", lambda user, _: user.mechanism
        ),
        "iterations": RecordField(
            INT.or_null,
            "Its iterations; null where the mechanism is removed.",
            lambda user, _: user.iterations,
        ),
    },
)


def _scram(sides: BeforeAndAfter, _: ClusterState) -> object:
    before = {} if sides.before is None else sides.before.scram
    return differences(before, sides.after.scram, _same)


def _same(_key: str, before: object, after: object) -> bool:
    return before == after


USER_CHANGE = Record("a change of a user", {"scram": RecordField(changes(INT), CHANGED, _scram)})
