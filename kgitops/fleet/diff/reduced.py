"""Both sides without what needs no look: what the planner is given instead of the whole."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import pyarrow as pa

from kgitops.desired.last_applied import former_identities, with_objects
from kgitops.desired.state import DesiredObject, DesiredState
from kgitops.fleet.diff.context import Changing, changing, with_context
from kgitops.fleet.diff.differing import (
    EVERY_BUCKET,
    STATE_KEYS,
    Differing,
    Keys,
    differing,
    everything,
    kept,
    selected,
    settled,
)
from kgitops.fleet.diff.sides import DesiredSide, Part
from kgitops.fleet.summary import total
from kgitops.fleet.tables.hydrating import HYDRATED, bare_state, hydrated
from kgitops.fleet.tables.reading import Rows
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.safety import counted_as

ROWS_AT_ONCE = 1_000_000
"""Of the larger side, about: a huge cluster is compared a range of buckets at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """What differs, and what stands for the rest.

    ``settled`` counts by kind the project's objects that are left out; ``kept`` others', by rule.
    """

    desired: DesiredState
    current: ClusterState
    settled: Mapping[str, int]
    kept: Mapping[str, int]


def reduce_sides(side: DesiredSide, state: Rows, also: Collection[str] = ()) -> Reduced:
    """The objects that a plan must look at, hydrated; addresses in ``also`` are among them.

    Where either side has virtual clusters nothing is left out: their objects hang together.

    Raises:
        SafetyError: a side can't be trusted.
    """
    ranges = _ranges(max(side.count, state.count))
    found, about = [], Changing()
    wanted = {*also, *(tombstone.address for tombstone in side.project.tombstones)}
    bare = bare_state(state)
    whole = bool(bare.virtual_clusters or bare.lowered or side.virtual_clusters)
    former = former_identities(side.project.project, bare.registry)
    # One pass finds what differs, one takes it and its context; what is huge is read twice.
    read = partial(_parts, side, state, ranges)
    held = tuple(read()) if len(ranges) == 1 else ()
    for part in held or read():
        looked_at = (
            everything(part.keys) if whole else differing(part.keys, side.identity, wanted, former)
        )
        found.append(looked_at)
        about |= changing(part.keys, looked_at)
    return _gathered(side, state, held or read(), found, about)


@dataclass(frozen=True, slots=True)
class _Both:
    """A range of buckets of both sides."""

    keys: Keys
    desired: Part
    state: Rows


def _parts(side: DesiredSide, state: Rows, ranges: Sequence[range]) -> Iterator[_Both]:
    for buckets in ranges:
        desired, current = side.part(buckets), state.part(buckets)
        keys = Keys(desired.keys, current.columns(STATE_KEYS), buckets)
        yield _Both(keys, desired, current)


def _gathered(
    side: DesiredSide,
    state: Rows,
    parts: Iterable[_Both],
    found: Sequence[Differing],
    about: Changing,
) -> Reduced:
    declared: list[DesiredObject] = []
    rows, left, others = [], [], []
    for part, differs in zip(parts, found, strict=True):
        looked_at = with_context(part.keys, differs, about)
        try:
            left.append(settled(part.keys, looked_at, side.identity))
        except ValueError as error:
            raise state.broken(str(error)) from error
        others.append(kept(part.keys, looked_at, side.identity))
        declared += part.desired.choose(looked_at.desired)
        rows.append(selected(part.state, part.keys.state, looked_at.state, HYDRATED))
    return Reduced(
        desired=with_objects(side.project, sorted(declared, key=lambda item: item.address)),
        current=hydrated(state, pa.concat_tables(rows)),
        settled={str(counted_as(kind)): count for kind, count in total(left).items()},
        kept=total(others),
    )


def _ranges(rows: int) -> list[range]:
    """All buckets, in as many ranges as there are times ``ROWS_AT_ONCE`` rows."""
    count = min(1 + rows // ROWS_AT_ONCE, EVERY_BUCKET.stop)
    edges = [EVERY_BUCKET.stop * number // count for number in range(count + 1)]
    edges[0] = EVERY_BUCKET.start
    return [range(least, stop) for least, stop in pairwise(edges)]
