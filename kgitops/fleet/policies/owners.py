"""Who manages what in a saved state; the addresses alone are read first."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from kgitops.fleet.policies.stored import Late
from kgitops.model.registry import Owner


class OwnersAtLarge(Late, Mapping[str, Owner]):
    """All owners of a stored state, by address."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return OwnersAtLarge, (self._stored,)

    def __getitem__(self, address: str) -> Owner:
        return self._all[address]

    def __contains__(self, address: object) -> bool:
        return address in self._addresses

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)

    @cached_property
    def _addresses(self) -> frozenset[str]:
        read = self._stored.pieces(lambda reader, piece: reader.owned(piece))
        return frozenset(chain.from_iterable(read))

    @cached_property
    def _all(self) -> Mapping[str, Owner]:
        found: dict[str, Owner] = {}
        for read in self._stored.pieces(lambda reader, piece: reader.owners(piece)):
            found |= read
        return found
