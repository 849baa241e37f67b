"""Masks for the rows of both sides that a plan must look at, from columns of fingerprints."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kgitops.desired.lookalikes import may_have_twin
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
"""Topics of the brokers and of kgitops, which no plan mentions."""

EVERY_BUCKET = range(HEADER_BUCKET, LAST_BUCKET + 1)


class Keys(Struct, frozen=True):
    """The small columns of both sides, the header rows among them.

    Only the rows of ``buckets`` count; others may lie next to them, and are passed over.
    """

    desired: pa.Table
    state: pa.Table
    buckets: range = EVERY_BUCKET


class RowMasks(Struct, frozen=True):
    """The rows of both sides to look at: a boolean for each row, never null."""

    desired: pa.BooleanArray
    state: pa.BooleanArray


def differing_rows(
    keys: Keys, identity: str, also: Collection[str], former: Collection[str] = ()
) -> RowMasks:
    """The rows that the project ``identity`` must look at: differing ones, and those in ``also``.

    A row is passed over only if the other side has its fingerprint, on the state's side in a row of
    the project. A row of the state that others own is passed over unless its address is declared
    with a difference, other plans depend on it, or a ``former`` identity of the project owns it.

    An address that is looked at on one side is looked at on the other: an object without its
    document would seem removed.
    """
    desired_prints = keys.desired["fingerprint"].combine_chunks()
    state_prints = keys.state["fingerprint"].combine_chunks()
    mine = _mine(keys, identity)
    my_prints = state_prints.filter(_flat(mine))
    desired = pc.invert(pc.is_in(desired_prints, value_set=my_prints, skip_nulls=True))
    state = pc.invert(pc.is_in(state_prints, value_set=desired_prints, skip_nulls=True))
    state = pc.or_(pc.and_(mine, state), _true(keys.state["context"]))
    if former:
        inherited = pc.is_in(keys.state["owner"], value_set=pa.array(sorted(former), pa.string()))
        state = pc.or_(state, pc.and_(inherited, _false(keys.state["spent"])))
    return on_both_sides(keys, RowMasks(_flat(desired), _flat(state)), also)


def on_both_sides(keys: Keys, masks: RowMasks, also: Collection[str] = ()) -> RowMasks:
    """Add the rows with the same addresses on the other side, and the addresses in ``also``."""
    addresses = [
        keys.desired["address"].filter(masks.desired),
        keys.state["address"].filter(masks.state),
        pa.chunked_array([sorted(also)], pa.string()),
    ]
    wanted = pc.unique(pa.chunked_array([c for a in addresses for c in a.chunks], pa.string()))
    return _only_inside(
        keys,
        pc.or_(masks.desired, pc.is_in(keys.desired["address"], value_set=wanted)),
        pc.or_(masks.state, pc.is_in(keys.state["address"], value_set=wanted)),
    )


def may_have_twins(keys: Keys) -> bool:
    """Return whether the name of an object may look the same as another object's."""
    for addresses in (keys.desired["address"], keys.state["address"]):
        not_ascii = pc.not_equal(pc.binary_length(addresses), pc.utf8_length(addresses))
        if any(map(may_have_twin, addresses.filter(not_ascii).unique().to_pylist())):
            return True
    return False


def all_rows(keys: Keys) -> RowMasks:
    """All rows of both sides."""
    return _only_inside(keys, _all(keys.desired), _all(keys.state))


def _only_inside(keys: Keys, desired: pa.Array, state: pa.Array) -> RowMasks:
    """An address is of the same bucket on both sides, so no pair is separated."""
    return RowMasks(
        _flat(pc.and_(desired, _inside(keys.desired, keys.buckets))),
        _flat(pc.and_(state, _inside(keys.state, keys.buckets))),
    )


def union(masks: RowMasks, more: RowMasks) -> RowMasks:
    """The rows of either."""
    return RowMasks(pc.or_(masks.desired, more.desired), pc.or_(masks.state, more.state))


def count_unchanged(keys: Keys, masks: RowMasks, identity: str) -> dict[str, int]:
    """Count the project's objects that are passed over, by the kind of their address.

    Raises:
        ValueError: the two sides disagree about how many, so one has a row twice.
    """
    mine = _mine(keys, identity)
    passed = pc.and_(mine, _passed(keys.state, masks.state, keys.buckets))
    counts = pc.value_counts(keys.state["kind"].filter(passed).combine_chunks())
    by_kind = {count["values"]: count["counts"] for count in counts.to_pylist()}
    declared = pc.sum(_passed(keys.desired, masks.desired, keys.buckets)).as_py() or 0
    if sum(by_kind.values()) != declared:
        raise ValueError("it has rows twice")
    return by_kind


def count_kept(keys: Keys, masks: RowMasks, identity: str) -> dict[str, int]:
    """Count foreign and unmanaged objects that are passed over, by the rule of kept rows."""
    passed = _passed(keys.state, masks.state, keys.buckets)
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


def select_rows(
    rows: Rows, keys: pa.Table, mask: pa.BooleanArray, names: tuple[str, ...]
) -> pa.Table:
    """These columns of the rows in ``mask``; columns that ``keys`` lacks are read now."""
    table = keys.filter(mask).select([name for name in names if name in keys.column_names])
    more = rows.chosen(mask, [name for name in names if name not in keys.column_names])
    for name in more.column_names:
        table = table.append_column(more.field(name), more[name])
    return table.select(list(names))


def _true(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(values, fill_value=False)


def _false(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.invert(_true(values))


def _all(table: pa.Table) -> pa.BooleanArray:
    return pa.repeat(pa.scalar(value=True), table.num_rows)


def _flat(mask: pa.BooleanArray | pa.ChunkedArray) -> pa.BooleanArray:
    return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
