"""The declared side, as keys to compare and objects to choose from: compiled rows or manifests."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.masks import DESIRED_KEYS, EVERY_BUCKET, select_rows
from kgitops.fleet.tables.desired_rows import DECLARED, declared_in_rows, header_in, keys_of
from kgitops.fleet.tables.format import DESIRED
from kgitops.fleet.tables.reading import Rows
from kgitops.model.json.declared import DesiredObject
from kgitops.model.resources.kinds import KIND_OF_SORT


class DesiredPart(Struct, frozen=True):
    """Some of the rows; ``choose`` gives the objects of a mask over ``keys``.

    It raises SafetyError where a row is not what it must be.
    """

    keys: pa.Table
    choose: Callable[[pa.BooleanArray], Sequence[DesiredObject]]


class DesiredSide(Struct, frozen=True, kw_only=True):
    """``project`` declares no objects itself; ``part`` has those of some buckets, and others.

    ``count`` is the number of all, ``objects`` how many there are of each kind (``Topic``).
    """

    project: DesiredState
    count: int
    objects: Mapping[str, int]
    virtual_clusters: bool
    part: Callable[[range], DesiredPart]

    @property
    def identity(self) -> str:
        """The project's identity in registries."""
        return self.project.project.identity

    def whole(self) -> DesiredState:
        """Everything that is declared.

        Raises:
            SafetyError: a row is not what it must be.
        """
        part = self.part(EVERY_BUCKET)
        mask = pa.repeat(pa.scalar(value=True), part.keys.num_rows)
        return self.project.with_objects(part.choose(mask))


def side_from_rows(rows: Rows) -> DesiredSide:
    """The side that was compiled to rows.

    Raises:
        SafetyError: the rows can't be trusted.
    """

    def part(buckets: range) -> DesiredPart:
        some = rows.part(buckets)
        keys = some.columns(DESIRED_KEYS)

        def choose(mask: pa.BooleanArray) -> list[DesiredObject]:
            return declared_in_rows(some, select_rows(some, keys, mask, DECLARED))

        return DesiredPart(keys, choose)

    header = header_in(rows)
    return DesiredSide(
        project=header.desired,
        count=rows.count,
        objects=_counts(rows.columns(["kind"])),
        virtual_clusters=header.virtual_clusters,
        part=part,
    )


def side_from_manifests(desired: DesiredState) -> DesiredSide:
    """The side that was just built from manifests."""
    identity, objects = desired.project.identity, desired.objects
    schema = pa.schema([DESIRED.field(name) for name in DESIRED_KEYS])
    keys = pa.Table.from_pylist([keys_of(identity, item) for item in objects], schema)

    def choose(mask: pa.BooleanArray) -> list[DesiredObject]:
        return [item for item, chosen in zip(objects, mask.to_pylist(), strict=True) if chosen]

    return DesiredSide(
        project=desired.with_objects(()),
        count=len(objects),
        objects=_counts(keys),
        virtual_clusters=any(item.address.startswith("vc/") for item in objects),
        part=lambda _: DesiredPart(keys, choose),
    )


def _counts(keys: pa.Table) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for row in pc.value_counts(keys["kind"].combine_chunks()).to_pylist():
        kind = KIND_OF_SORT.get(row["values"])
        if kind is not None:
            counts[str(kind)] = counts.get(str(kind), 0) + row["counts"]
    return dict(sorted(counts.items()))
