"""Values with a field that equality ignores, and configs overlaid by or compared with others."""

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from msgspec import Struct

V = TypeVar("V", str, float)


class PartlyCompared(Struct, frozen=True, kw_only=True, eq=False):
    """Equal if all fields but one are: that one is for people, or tells where the value is from."""

    not_compared: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._compared() == other._compared()

    def __ne__(self, other: object) -> bool:
        # A Struct has one of its own, which would not ask __eq__.
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))  # most hold a dict, and can't be hashed

    def _compared(self) -> tuple[object, ...]:
        fields = self.__struct_fields__
        return tuple(getattr(self, field) for field in fields if field != self.not_compared)


def overlaid(before: Mapping[str, V], requested: Mapping[str, V | None]) -> dict[str, V]:
    """Configs or quotas overlaid by what is requested; None removes a key (P201-25, P201-27)."""
    merged = {**before, **requested}
    return {key: value for key, value in merged.items() if value is not None}


def has_configs(
    held: Mapping[str, str],
    wanted: Mapping[str, str | None],
    normal: Callable[[str, str], str],
) -> bool:
    """True if all wanted configs are held, by their ``normal`` form, and none that None removes."""
    return all(
        held.get(key) is None
        if value is None
        else key in held and normal(key, held[key]) == normal(key, value)
        for key, value in wanted.items()
    )
