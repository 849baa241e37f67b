"""Which rows of two sides a plan must look at, found by whole columns of fingerprints."""

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kgitops.fleet.tables.reading import HEADER_BUCKET, LAST_BUCKET, Rows
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.names import ALL_INTERNAL

DESIRED_KEYS = ("bucket", "fingerprint", "address", "kind", "name", "context")
STATE_KEYS = (
    "bucket",
    "fingerprint",
    "address",
    "kind",
    "name",
    "owner",
    "spent",
    "exists",
    "context",
)


_INTERNAL = pa.array(sorted(map(topic_address, ALL_INTERNAL)), pa.string())
"""Topics of the brokers and of kgitops, which no plan speaks of."""

EVERY_BUCKET = range(HEADER_BUCKET, LAST_BUCKET + 1)


@dataclass(frozen=True, slots=True)
class Keys:
    """The small columns of both sides, the header rows among them.

    It is about the rows of ``buckets``; others may lie beside them, and are passed over.
    """

    desired: pa.Table
    state: pa.Table
    buckets: range = EVERY_BUCKET


@dataclass(frozen=True, slots=True)
class Differing:
    """The rows of both sides to look at, a value for each row, never null."""

    desired: pa.BooleanArray
    state: pa.BooleanArray


def differing(
    keys: Keys, identity: str, also: Collection[str], former: Collection[str] = ()
) -> Differing:
    """What the project ``identity`` must look at: what differs, and what stands ``also`` there.

    A row is passed over only where the other side has its fingerprint, on the state's side in a row
    that is the project's. A state's row of others is passed over unless its address is declared
    with a difference, it bears on others, or it is of a ``former`` identity of the project.

    Whatever is looked at on one side is looked at on the other: an object without its document
    would seem removed.
    """
    declared = keys.desired["fingerprint"].combine_chunks()
    found = keys.state["fingerprint"].combine_chunks()
    mine = _mine(keys, identity)
    own = found.filter(_flat(mine))
    new = pc.invert(pc.is_in(declared, value_set=own, skip_nulls=True))
    left = pc.and_(mine, pc.invert(pc.is_in(found, value_set=declared, skip_nulls=True)))
    left = pc.or_(left, _true(keys.state["context"]))
    if former:
        handed = pc.is_in(keys.state["owner"], value_set=pa.array(sorted(former), pa.string()))
        left = pc.or_(left, pc.and_(handed, _false(keys.state["spent"])))
    return together(keys, Differing(_flat(new), _flat(left)), also)


def together(keys: Keys, some: Differing, also: Collection[str] = ()) -> Differing:
    """These rows, and all with an address of theirs or one of ``also``, on both sides."""
    addresses = [
        keys.desired["address"].filter(some.desired),
        keys.state["address"].filter(some.state),
        pa.chunked_array([sorted(also)], pa.string()),
    ]
    wanted = pc.unique(pa.chunked_array([c for a in addresses for c in a.chunks], pa.string()))
    return _only_inside(
        keys,
        pc.or_(some.desired, pc.is_in(keys.desired["address"], value_set=wanted)),
        pc.or_(some.state, pc.is_in(keys.state["address"], value_set=wanted)),
    )


def everything(keys: Keys) -> Differing:
    """All rows of both sides."""
    return _only_inside(keys, _all(keys.desired), _all(keys.state))


def _only_inside(keys: Keys, desired: pa.Array, state: pa.Array) -> Differing:
    """An address is of the same bucket on both sides, so nothing is torn apart."""
    return Differing(
        _flat(pc.and_(desired, _inside(keys.desired, keys.buckets))),
        _flat(pc.and_(state, _inside(keys.state, keys.buckets))),
    )


def both(some: Differing, more: Differing) -> Differing:
    """The rows of either."""
    return Differing(pc.or_(some.desired, more.desired), pc.or_(some.state, more.state))


def settled(keys: Keys, differing: Differing, identity: str) -> dict[str, int]:
    """How many objects of the project are passed over, by the kind of their address.

    Raises:
        ValueError: the two sides disagree about how many, so one has a row twice.
    """
    mine = _mine(keys, identity)
    passed = pc.and_(mine, _passed(keys.state, differing.state, keys.buckets))
    counts = pc.value_counts(keys.state["kind"].filter(passed).combine_chunks())
    found = {count["values"]: count["counts"] for count in counts.to_pylist()}
    declared = pc.sum(_passed(keys.desired, differing.desired, keys.buckets)).as_py() or 0
    if sum(found.values()) != declared:
        raise ValueError("it has rows twice")
    return found


def kept(keys: Keys, differing: Differing, identity: str) -> dict[str, int]:
    """Others' objects and nobody's that are passed over, by the rule of a plan's kept rows."""
    passed = _passed(keys.state, differing.state, keys.buckets)
    passed = pc.and_(passed, _true(keys.state["exists"]))
    passed = pc.and_not(passed, pc.is_in(keys.state["address"], value_set=_INTERNAL))
    owned = pc.and_(pc.is_valid(keys.state["owner"]), _false(keys.state["spent"]))
    foreign = pc.and_(owned, pc.invert(_true(pc.equal(keys.state["owner"], identity))))
    rules = {"foreign": foreign, "unmanaged": pc.invert(owned)}
    counts = {rule: pc.sum(pc.and_(passed, mask)).as_py() or 0 for rule, mask in rules.items()}
    return {rule: count for rule, count in counts.items() if count}


def _mine(keys: Keys, identity: str) -> pa.ChunkedArray:
    return pc.and_(_true(pc.equal(keys.state["owner"], identity)), _false(keys.state["spent"]))


def _passed(side: pa.Table, looked_at: pa.BooleanArray, buckets: range) -> pa.ChunkedArray:
    return pc.and_(_inside(side, buckets), pc.invert(looked_at))


def _inside(side: pa.Table, buckets: range) -> pa.ChunkedArray:
    least = pc.greater_equal(side["bucket"], buckets.start)
    return pc.and_(least, pc.less(side["bucket"], buckets.stop))


def selected(rows: Rows, keys: pa.Table, mask: pa.BooleanArray, names: tuple[str, ...]) -> pa.Table:
    """These columns of the rows in ``mask``: those in ``keys`` of there, the others read now."""
    known = keys.filter(mask).select([name for name in names if name in keys.column_names])
    more = rows.chosen(mask, [name for name in names if name not in keys.column_names])
    for name in more.column_names:
        known = known.append_column(more.field(name), more[name])
    return known.select(list(names))


def _true(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(values, fill_value=False)


def _false(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.invert(_true(values))


def _all(table: pa.Table) -> pa.BooleanArray:
    return pa.repeat(pa.scalar(value=True), table.num_rows)


def _flat(mask: pa.BooleanArray | pa.ChunkedArray) -> pa.BooleanArray:
    return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
