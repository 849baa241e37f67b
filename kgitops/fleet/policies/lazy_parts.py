"""The ACLs, quotas and owners of a saved state, read when they are first needed.

The state travels to other processes as its paths.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import nullcontext
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kgitops.model.errors import KgitopsError
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.policy.state import ReadingScope

if TYPE_CHECKING:
    from kgitops.fleet.policies.state_reader import StateReader

T = TypeVar("T")


class ParquetState:
    """A state's files, and the error of reading them, which all its parts share."""

    def __init__(self, files: tuple[Path, ...], cluster: str) -> None:
        self._files = files
        self._cluster = cluster
        self.around: ReadingScope = nullcontext
        self.failure: KgitopsError | None = None

    def __reduce__(self) -> tuple[type["ParquetState"], tuple[tuple[Path, ...], str]]:
        return ParquetState, (self._files, self._cluster)

    def read(self, work: Callable[["StateReader"], T]) -> T:
        """The result of ``work`` on the open files.

        Raises:
            KgitopsError: it can't be read, now or at an earlier try.
        """
        if self.failure is not None:
            raise self.failure
        try:
            with self.around():
                return work(self._reader)
        except KgitopsError as error:
            self.failure = error
            raise

    def pieces(self, work: Callable[["StateReader", int], T]) -> Iterator[T]:
        """The result of ``work`` on each piece, one after another; errors as of ``read``."""
        for piece in self.read(lambda reader: reader.pieces):
            yield self.read(lambda reader, piece=piece: work(reader, piece))  # type: ignore[misc]

    @cached_property
    def _reader(self) -> "StateReader":
        from kgitops.fleet.policies.state_reader import StateReader  # noqa: PLC0415 (see above)

        return StateReader(self._files, self._cluster)


class StatePart:
    """Implements ``LazyPart`` for the parts of a stored state."""

    def __init__(self, stored: ParquetState) -> None:
        self._stored = stored

    @property
    def failure(self) -> KgitopsError | None:
        """The error of reading the state, if it can't be read."""
        return self._stored.failure

    def load_within(self, around: ReadingScope) -> None:
        """From now on read each piece within ``around``; the other parts of the state do too."""
        self._stored.around = around


class LazyAcls(StatePart, Set[AclBinding]):
    """All bindings of a stored state."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return LazyAcls, (self._stored,)

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


class LazyOwners(StatePart, Mapping[str, Owner]):
    """All owners of a stored state, by address."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return LazyOwners, (self._stored,)

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
        owners: dict[str, Owner] = {}
        for read in self._stored.pieces(lambda reader, piece: reader.owners(piece)):
            owners |= read
        return owners


Quotas = Mapping[ClientQuotaEntity, ClientQuotaState]


class LazyQuotas(StatePart, Quotas):
    """``at_hand`` are quotas of the state, ``absent`` entities without any there."""

    def __init__(
        self, stored: ParquetState, at_hand: Quotas, absent: frozenset[ClientQuotaEntity]
    ) -> None:
        super().__init__(stored)
        self._at_hand = at_hand
        self._absent = absent

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return LazyQuotas, (self._stored, dict(self._at_hand), self._absent)

    def __getitem__(self, entity: ClientQuotaEntity) -> ClientQuotaState:
        quota = self._at_hand.get(entity)
        if quota is not None:
            return quota
        if entity in self._absent:
            raise KeyError(entity)
        return self._all[entity]

    def __iter__(self) -> Iterator[ClientQuotaEntity]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Quotas:
        quotas: dict[ClientQuotaEntity, ClientQuotaState] = {}
        for read in self._stored.pieces(lambda reader, piece: reader.quotas(piece)):
            quotas |= read
        return quotas
