"""The work that a source may take: few lines can stand for more than any machine can do."""

from kgitops.model.source import Source

MOST_TEXT = 100_000
"""The most characters of one computed text."""
MOST_ITEMS = 1_000_000
"""The most items of one computed list."""
_LEAST_STEPS = 3_000_000
_STEPS_PER_CHARACTER = 40
_FEW = 1000


class TooMuchError(LookupError):
    """A value, or the object at ``source``, takes more work than a source may ask for."""

    def __init__(self, source: Source | None = None) -> None:
        super().__init__()
        self.source = source


class Budget:
    """The steps that are left for a file, or for all expressions: the more the longer it is."""

    def __init__(self, characters: int = 0) -> None:
        self._left = _LEAST_STEPS + _STEPS_PER_CHARACTER * characters
        self.is_spent = False
        """Not even a few steps are left: later values are not known for that alone."""

    def spend(self, steps: int) -> None:
        """Take ``steps`` of what is left.

        Raises:
            TooMuchError: not so many are left, or none since an earlier request.
        """
        if self.is_spent or steps > self._left:
            self.is_spent |= steps <= _FEW
            raise TooMuchError
        self._left -= steps


def check_size(number: int, most: int) -> None:
    """Refuse to compute a value of so many items or characters.

    Raises:
        TooMuchError: there are more than ``most``.
    """
    if number > most:
        raise TooMuchError
