"""Both sides narrowed to the objects that the planner must look at."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import pyarrow as pa
from msgspec import Struct

from kgitops.desired.claims import claims_of, former_identities
from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.dependencies import ChangedNames, changed_names, with_dependencies
from kgitops.fleet.diff.inputs import DesiredPart, DesiredSide
from kgitops.fleet.diff.masks import (
    EVERY_BUCKET,
    STATE_KEYS,
    Keys,
    RowMasks,
    all_rows,
    count_kept,
    count_unchanged,
    differing_rows,
    may_have_twins,
    select_rows,
)
from kgitops.fleet.summary import total
from kgitops.fleet.tables.hydrating import HYDRATED, hydrate, state_without_objects
from kgitops.fleet.tables.reading import Rows
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject
from kgitops.plan.safety import counted_as

ROWS_AT_ONCE = 1_000_000
"""Rows of the larger side, about: a huge cluster is compared a range of buckets at a time."""


class NarrowedSides(Struct, frozen=True, kw_only=True):
    """The objects to look at, and counts of the rest.

    ``unchanged`` counts the project's objects that are left out, by kind; ``kept`` other
    objects, by rule.
    """

    desired: DesiredState
    current: ClusterState
    unchanged: Mapping[str, int]
    kept: Mapping[str, int]


def narrow_sides(side: DesiredSide, state: Rows, also: Collection[str] = ()) -> NarrowedSides:
    """Hydrate the objects that a plan must look at, and those at the addresses in ``also``.

    With virtual clusters on either side nothing is left out: their objects depend on each other.
    Neither is it with names that may look like others, because any two objects can be twins.
    Of a cluster with a gateway a plan tells of all ACLs and quotas.

    Raises:
        SafetyError: a side can't be trusted.
    """
    ranges = _ranges(max(side.count, state.count))
    masks, changed = [], ChangedNames()
    wanted = {*also, *(tombstone.address for tombstone in side.project.tombstones)}
    bare = state_without_objects(state)
    whole = bool(
        bare.virtual_clusters or bare.lowered or side.virtual_clusters or side.project.gateway
    )
    project = side.project.project
    # Of a project that this one claims, the plan counts all objects.
    claimed = (claim.identities for claim in claims_of(project, bare.registry))
    former = former_identities(project, bare.registry).union(*claimed)
    # One pass finds the differences, another takes them with their dependencies: large sides are
    # read twice.
    read = partial(_parts, side, state, ranges)
    parts = tuple(read()) if len(ranges) == 1 else ()
    for part in parts or read():
        if whole := whole or may_have_twins(part.keys):
            break
        looked_at = differing_rows(part.keys, side.identity, wanted, former)
        masks.append(looked_at)
        changed |= changed_names(part.keys, looked_at)
    if whole:
        masks = [all_rows(part.keys) for part in parts or read()]
    return _gathered(side, state, parts or read(), masks, changed)


class _BucketRange(Struct, frozen=True):
    """A range of buckets of both sides."""

    keys: Keys
    desired: DesiredPart
    state: Rows


def _parts(side: DesiredSide, state: Rows, ranges: Sequence[range]) -> Iterator[_BucketRange]:
    for buckets in ranges:
        desired, current = side.part(buckets), state.part(buckets)
        keys = Keys(desired.keys, current.columns(STATE_KEYS), buckets)
        yield _BucketRange(keys, desired, current)


def _gathered(
    side: DesiredSide,
    state: Rows,
    parts: Iterable[_BucketRange],
    masks: Sequence[RowMasks],
    changed: ChangedNames,
) -> NarrowedSides:
    declared: list[DesiredObject] = []
    rows, unchanged, kept = [], [], []
    for part, differing in zip(parts, masks, strict=True):
        looked_at = with_dependencies(part.keys, differing, changed)
        try:
            unchanged.append(count_unchanged(part.keys, looked_at, side.identity))
        except ValueError as error:
            raise state.broken(str(error)) from error
        kept.append(count_kept(part.keys, looked_at, side.identity))
        declared += part.desired.choose(looked_at.desired)
        rows.append(select_rows(part.state, part.keys.state, looked_at.state, HYDRATED))
    return NarrowedSides(
        desired=side.project.with_objects(sorted(declared, key=lambda item: item.address)),
        current=hydrate(state, pa.concat_tables(rows)),
        unchanged={str(counted_as(kind)): count for kind, count in total(unchanged).items()},
        kept=total(kept),
    )


def _ranges(rows: int) -> list[range]:
    """All buckets, in one range for each ``ROWS_AT_ONCE`` rows."""
    count = min(1 + rows // ROWS_AT_ONCE, EVERY_BUCKET.stop)
    edges = [EVERY_BUCKET.stop * number // count for number in range(count + 1)]
    edges[0] = EVERY_BUCKET.start
    return [range(least, stop) for least, stop in pairwise(edges)]
