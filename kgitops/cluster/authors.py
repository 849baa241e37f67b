"""Who changed what, on clusters that keep a record of it. Apache Kafka keeps none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a change, and when, in milliseconds since 1970."""

    principal: str
    timestamp_ms: int


Authors = Mapping[tuple[str, str], Author]
"""(address, field) to who last wrote it; the field "" stands for the object as a whole."""


@runtime_checkable
class KeepsAuthors(Protocol):
    """A cluster that can tell who changed what."""

    def read_authors(self) -> Authors:
        """Who last wrote each field of each object.

        Raises:
            UnreachableError: the record can't be read.
        """
        ...


def author_of(authors: Authors, address: str, path: str) -> Author | None:
    """Who last wrote the field, or else the object as a whole."""
    return authors.get((address, path)) or authors.get((address, ""))
