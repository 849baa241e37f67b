"""Objects that do not differ themselves, and that the plan of another one depends on."""

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from kgitops.fleet.diff.differing import Differing, Keys, together

_MOST_PATTERNS = 20
"""Beyond these it is faster to look at all of them than to compare each with each pattern."""


def with_context(keys: Keys, differing: Differing) -> Differing:
    """These rows and what bears on them.

    A topic whose name collides is in the way of one that is going to be made. Who gains or loses a
    right by an ACL depends on all others that count for the same names, and on whether there are
    topics of these names: the first rule on one shuts others out.
    """
    desired, state = keys.desired.filter(differing.desired), keys.state.filter(differing.state)
    existing = state.filter(state["exists"])["address"].combine_chunks()
    new = desired.filter(pc.invert(pc.is_in(desired["address"], value_set=existing)))
    added = _in_the_way(keys, _names(new, "topic"))
    declared = pc.is_in(state["address"], value_set=desired["address"].combine_chunks())
    gone = state.filter(pc.and_(pc.invert(declared), pc.is_valid(state["owner"])))
    for changing in (new, gone):
        added = pc.or_(added, _of_the_same_names(keys, changing))
    if not pc.any(added).as_py():
        return differing
    none = pc.and_not(differing.desired, differing.desired)
    more = together(keys, Differing(none, added))
    return Differing(pc.or_(differing.desired, more.desired), pc.or_(differing.state, more.state))


def _in_the_way(keys: Keys, created: pa.Array) -> pa.BooleanArray:
    """The state's topics whose metric names are those of topics to be made (A4-11)."""
    if not len(created):
        return _none(keys.state)
    collisions = _plain(created)
    is_topic = pc.equal(keys.state["kind"], "topic")
    hit = pc.is_in(_plain(keys.state["name"]), value_set=collisions)
    return _flat(pc.and_(is_topic, hit))


def _plain(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Names as ``model.names.collision_key`` makes them."""
    return pc.replace_substring(names, ".", "_")


def _of_the_same_names(keys: Keys, changing: pa.Table) -> pa.BooleanArray:
    """The state's ACLs that reach what the changing ones reach, and the topics of these names."""
    acls = changing.filter(pc.equal(changing["kind"], "acl"))
    if not acls.num_rows:
        return _none(keys.state)
    either = pc.is_in(keys.state["kind"], value_set=pa.array(["acl", "topic"]))
    names = keys.state["name"]
    wide = acls.filter(acls["context"])
    prefixes = pc.unique(wide["name"]).to_pylist()
    if "*" in prefixes or len(prefixes) > _MOST_PATTERNS:
        return _flat(either)
    hits = [pc.is_in(names, value_set=pc.unique(acls["name"]))]
    hits += [pc.starts_with(names, prefix) for prefix in prefixes]
    return _flat(pc.and_(either, pc.fill_null(reduce(pc.or_, hits), fill_value=False)))


def _names(table: pa.Table, kind: str) -> pa.Array:
    kept = table.filter(pc.and_(pc.equal(table["kind"], kind), pc.is_valid(table["name"])))
    return kept["name"].combine_chunks()


def _none(table: pa.Table) -> pa.BooleanArray:
    return pa.repeat(pa.scalar(value=False), table.num_rows)


def _flat(mask: pa.BooleanArray | pa.ChunkedArray) -> pa.BooleanArray:
    return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
