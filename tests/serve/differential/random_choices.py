"""Random values for requests: mostly what exists or may exist, sometimes what is wrong."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

Fields = Mapping[str, Any]
"""A message's fields as plain values; a topic's id is ``id of NAME``."""
ADMIN, ALICE = "admin", "alice"


class Coordinator(Struct, frozen=True):
    """The coordinator of a group (key type 0) or of a transactional id (1)."""

    key: str
    key_type: int = 0


class Step(Struct, frozen=True):
    """One request of a program; ``writes`` if it may change the cluster."""

    api: str
    fields: Fields
    writes: bool
    user: str = ADMIN
    version: int | None = None
    """None for the newest."""
    coordinator: Coordinator | None = None
    """Whom to ask; else it is always the same broker."""


class Choices:
    """Draws from a seed, so that a program can be asked again."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - the same again for the same seed
        self.prefix = f"w{seed}-"

    def one(self, *values: Any) -> Any:  # noqa: ANN401 - whatever it is given
        return self.random.choice(values)

    def often(self, usual: Any, *others: Any) -> Any:  # noqa: ANN401 - whatever it is given
        """The usual value in four of five cases."""
        return usual if self.random.random() < 0.8 or not others else self.one(*others)

    def rarely(self) -> bool:
        return self.random.random() < 0.1

    def some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        """One value or a few, seldom none."""
        count = self.often(1, *range(most + 1))
        return [make() for _ in range(count)]

    def topic(self) -> str:
        """A name that a program uses again and again, or one that is no topic's."""
        name: str = self.often(
            self.prefix + self.one("a", "b.c", "d"),
            self.prefix + "b_c",
            self.prefix + "absent",
            "",
            "..",
            "a b",
            "x" * 250,
        )
        return name

    def existing_name(self) -> str:
        return self.prefix + str(self.one("a", "b.c", "d"))

    def user(self) -> str:
        return self.prefix + str(self.one("u", "v", "w"))

    def group(self) -> str:
        name: str = self.often(self.prefix + "group", self.prefix + "other", "")
        return name

    def partitions(self) -> Sequence[int]:
        found: list[int] = self.often([0], [1], [0, 1], [7], [-1], [], [0, 0])
        return found

    def subset(self, values: Sequence[str]) -> list[str]:
        return [value for value in values if self.random.random() < 0.5]
