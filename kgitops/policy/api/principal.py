"""Who asks for a change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """An authenticated principal (P201-50): ``User:kgitops`` is type and name."""

    type: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """``User:kgitops`` as a principal; only the first colon separates.

        Raises:
            ValueError: there is no colon.
        """
        type_, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"{text!r} is no principal; write for example User:{text}")
        return cls(type_, name)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""Who asks where nobody says (P201-51)."""
