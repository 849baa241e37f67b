"""Users who log in by SCRAM as expressions see them: never a password, nor where it comes from."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.policy.cel.records.record import CHANGED, Record, RecordField, changed, changes
from kgitops.policy.cel.types import INT, STRING, map_of


class JudgedUser(Struct, frozen=True):
    """A user and its mechanisms; ``mechanism`` and ``iterations`` are those of the request."""

    name: str
    scram: Mapping[str, int]
    mechanism: str = ""
    iterations: int | None = None


_USER = {
    "name": RecordField(STRING, "The user's name, without User:."),
    "scram": RecordField(
        map_of(INT), "The user's mechanisms, such as SCRAM-SHA-512, with their iterations."
    ),
}
CURRENT_USER = Record("a user", _USER)
REQUESTED_USER = Record(
    "a user",
    {
        **_USER,
        "mechanism": RecordField(STRING, "The mechanism that the request is about."),
        "iterations": RecordField(
            INT.or_null, "Its iterations; null where the mechanism is removed."
        ),
    },
)


USER_CHANGE = Record(
    "a change of a user", {"scram": RecordField(changes(INT), CHANGED, changed("scram"))}
)
