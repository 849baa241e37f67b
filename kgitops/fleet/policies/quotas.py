"""The quotas of a saved state, of which few are at hand and the others read once needed."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from kgitops.fleet.policies.stored import Late, Stored
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState

Quotas = Mapping[ClientQuotaEntity, ClientQuotaState]


class QuotasAtLarge(Late, Quotas):
    """``at_hand`` are quotas of the state, ``absent`` entities without any there."""

    def __init__(
        self, stored: Stored, at_hand: Quotas, absent: frozenset[ClientQuotaEntity]
    ) -> None:
        super().__init__(stored)
        self._at_hand = at_hand
        self._absent = absent

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return QuotasAtLarge, (self._stored, dict(self._at_hand), self._absent)

    def __getitem__(self, entity: ClientQuotaEntity) -> ClientQuotaState:
        found = self._at_hand.get(entity)
        if found is not None:
            return found
        if entity in self._absent:
            raise KeyError(entity)
        return self._all[entity]

    def __iter__(self) -> Iterator[ClientQuotaEntity]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Quotas:
        found: dict[ClientQuotaEntity, ClientQuotaState] = {}
        for read in self._stored.pieces(lambda reader, piece: reader.quotas(piece)):
            found |= read
        return found
