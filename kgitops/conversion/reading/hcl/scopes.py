"""Values of Terraform's language, and the scopes in which expressions find them."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

Data = Any
"""A value: text, number, boolean, None, list, dict with text keys; or ``Unknown`` in any place."""

Step = str | int
"""An attribute's name, a key or an index."""


Reference = tuple[str, tuple[Step, ...]]
"""The names in ``root.step[step]``."""


class Unknown(Struct, frozen=True):
    """A value that only Terraform knows; ``text`` shows it as a template: ``${var.name}``."""

    text: str


class NotKnownError(LookupError):
    """The files do not tell the value."""


class Attributes(dict[str, Data]):
    """A resource's attributes as written; one that is not may have a value of its provider's."""

    def __missing__(self, name: str) -> Data:
        raise NotKnownError(name)


class Scope(Protocol):
    """The names that an expression may refer to."""

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """The value of ``root.step[step]``.

        Raises:
            NotKnownError: it is not known.
        """

    def spend(self, steps: int) -> None:
        """Take steps of what the expressions of the source may take.

        Raises:
            TooMuchError: not so many are left.
        """

    def files(self) -> "Files | None":
        """The files that functions may read; None if they read none."""


class Files(Protocol):
    """The files of the source, by the paths that expressions have for them."""

    def text(self, path: str) -> str:
        """The text of a file.

        Raises:
            LookupError: it is not among the files, or is no text.
        """

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""

    def matching(self, folder: str, pattern: str) -> list[str]:
        """The paths of the files below a folder that match, in order."""


class Local:
    """A scope with further names, as those of a ``for``."""

    def __init__(self, outer: Scope, names: Mapping[str, Data]) -> None:
        self._outer = outer
        self._names = names

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """The value of a name of its own, or of the outer scope."""
        if root in self._names:
            return follow(self._names[root], steps)
        return self._outer.find(root, steps)

    def spend(self, steps: int) -> None:
        """Take steps from the outer scope."""
        self._outer.spend(steps)

    def files(self) -> Files | None:
        """The files of the outer scope."""
        return self._outer.files()


class OnlyFiles:
    """The scope of a template in a file, which has no other names than those it is given."""

    def __init__(self, outer: Scope) -> None:
        self._outer = outer

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """Refuse every name."""
        raise NotKnownError(root, steps)

    def spend(self, steps: int) -> None:
        """Take steps from the outer scope."""
        self._outer.spend(steps)

    def files(self) -> Files | None:
        """The files of the outer scope."""
        return self._outer.files()


def follow(value: Data, steps: tuple[Step, ...]) -> Data:
    """The value that the steps lead to.

    Raises:
        LookupError: there is none.
    """
    for step in steps:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, list):
            index = int(step)
            if index < 0:
                raise NotKnownError(step)
            value = value[index]
        elif isinstance(value, dict):
            value = value[str(step)]
        else:
            raise NotKnownError(step)
    return value
