"""Reads a saved state for policies, piece by piece: each is one group of rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kgitops.fleet.tables.hydrating import (
    BODY,
    OWNED,
    acls_in,
    open_state,
    owners_in,
    quotas_in,
    topics_in,
)
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState

_STAYS = '"marked_for_deletion":false'


class StateReader:
    """A saved state that is open. Every method but ``pieces`` reads files.

    Raises:
        UnreachableError: a file can't be read.
        SafetyError: the state can't be trusted; every method may raise it.
    """

    def __init__(self, files: Sequence[Path], cluster: str) -> None:
        self._rows = open_state(files, cluster)

    @property
    def pieces(self) -> range:
        """The pieces that the methods take."""
        return range(len(self._rows.groups))

    def names(self, piece: int) -> pa.Table:
        """The topics' names and numbers of partitions, and which row of the piece each is."""
        table = self._rows.group(piece, ["kind", "exists", "name", "partitions"])
        table = table.append_column("row", pa.array(range(table.num_rows), pa.int32()))
        found = table.filter(_is_topic(table)).select(["name", "partitions", "row"])
        if found["name"].null_count or found["partitions"].null_count:
            raise self._rows.broken("a topic there has no name, or no number of partitions")
        return found

    def bodies(self, piece: int) -> pa.Table:
        """All rows of the piece as ``topics`` takes them."""
        return self._rows.group(piece, BODY)

    def topics(self, bodies: pa.Table, name: str) -> Mapping[str, TopicState]:
        """The topics among rows of ``bodies``, by name; ``name`` is one of them."""
        found = topics_in(self._rows, bodies)
        if name not in found:
            raise self._rows.broken(f"the row of the topic {name} holds another one")
        return found

    def places(self, tables: Sequence[pa.Table], rows: int) -> Mapping[str, int]:
        """Each topic's piece times ``rows``, plus its row. ``tables`` are all ``names``."""
        found: dict[str, int] = {}
        for piece, table in enumerate(tables):
            places = pc.add(pc.cast(table["row"], pa.int64()), piece * rows)
            found.update(zip(table["name"].to_pylist(), places.to_pylist(), strict=True))
        if len(found) != sum(table.num_rows for table in tables):
            raise self._rows.broken("it has more than one row of a topic")
        return found

    def sums(self, tables: Sequence[pa.Table]) -> "TopicSums":
        """The sums over ``tables``, which are all ``names``."""
        table = pa.concat_tables(tables)
        internal = pc.is_in(table["name"], value_set=pa.array(sorted(ALL_INTERNAL), pa.string()))
        table = table.filter(pc.invert(internal))
        return TopicSums(table["name"], table["partitions"])

    def going(self, piece: int) -> Sequence[str]:
        """The names of the topics that are marked for deletion."""
        bodies = self.bodies(piece)
        # Canonical JSON has no spaces, and quotes inside of a text are escaped there.
        stays = pc.fill_null(pc.match_substring(bodies["found"], _STAYS), fill_value=False)
        found = topics_in(self._rows, bodies.filter(pc.invert(stays)))
        return [name for name, topic in found.items() if topic.marked_for_deletion]

    def acls(self, piece: int) -> frozenset[AclBinding]:
        """The bindings."""
        return acls_in(self._rows, self.bodies(piece))

    def quotas(self, piece: int) -> Mapping[ClientQuotaEntity, ClientQuotaState]:
        return quotas_in(self._rows, self.bodies(piece))

    def owned(self, piece: int) -> Sequence[str]:
        """The addresses that have an owner, or had one."""
        table = self._rows.group(piece, ["address", "owner"])
        addresses: list[str] = table["address"].filter(pc.is_valid(table["owner"])).to_pylist()
        return addresses

    def owners(self, piece: int) -> Mapping[str, Owner]:
        """The owners by address."""
        return owners_in(self._rows, self._rows.group(piece, OWNED))


class TopicSums(Struct, frozen=True):
    """The small columns of all topics but internal ones."""

    names: pa.ChunkedArray
    partitions: pa.ChunkedArray

    def partitions_below(self, prefix: str) -> int:
        """The partitions of the topics with this prefix."""
        chosen = self.partitions.filter(pc.starts_with(self.names, pattern=prefix))
        return int(pc.sum(pc.cast(chosen, pa.int64()), min_count=0).as_py())


def _is_topic(table: pa.Table) -> pa.ChunkedArray:
    exists = pc.fill_null(table["exists"], fill_value=False)
    return pc.and_(pc.equal(table["kind"], "topic"), exists)
