"""The ACLs of a saved state, read once somebody needs them: whoever asks, asks for all."""

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from typing import TypeVar

from kgitops.fleet.policies.stored import Late
from kgitops.model.resources.acls import AclBinding

T = TypeVar("T")


class AclsAtLarge(Late, Set[AclBinding]):
    """All bindings of a stored state."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return AclsAtLarge, (self._stored,)

    @classmethod
    def _from_iterable(cls, it: Iterable[T]) -> Set[T]:
        return frozenset(it)

    def __contains__(self, binding: object) -> bool:
        return binding in self._all

    def __iter__(self) -> Iterator[AclBinding]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> frozenset[AclBinding]:
        read = self._stored.pieces(lambda reader, piece: reader.acls(piece))
        return frozenset[AclBinding]().union(*read)
