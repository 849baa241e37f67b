"""Objects that do not differ themselves, and that the plan of another one depends on."""

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kgitops.fleet.diff.masks import Keys, RowMasks, on_both_sides, union

_MOST_PREFIXES = 20
"""Beyond these it is faster to look at everything than to compare each name with each prefix."""


class ChangedNames(Struct, frozen=True):
    """Names that a plan is about to change something for.

    ``created`` are metric names of new topics, ``names`` resources of ACLs that come or go and
    topics that go, ``prefixes`` resources of ACLs whose pattern matches more than one name.
    ``clients`` are beginnings of addresses: the principal and permission of ACLs that go.
    """

    created: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    clients: frozenset[str] = frozenset()

    def __or__(self, other: "ChangedNames") -> "ChangedNames":
        """The names in either."""
        return ChangedNames(
            self.created | other.created,
            self.names | other.names,
            self.prefixes | other.prefixes,
            self.clients | other.clients,
        )


def changed_names(keys: Keys, masks: RowMasks) -> ChangedNames:
    """The names that the differing rows are about to change something for."""
    desired, state = keys.desired.filter(masks.desired), keys.state.filter(masks.state)
    existing = state.filter(state["exists"])["address"].combine_chunks()
    new = desired.filter(pc.invert(pc.is_in(desired["address"], value_set=existing)))
    declared = pc.is_in(state["address"], value_set=desired["address"].combine_chunks())
    gone = state.filter(pc.and_(pc.invert(declared), pc.is_valid(state["owner"])))
    acls = [side.filter(pc.equal(side["kind"], "acl")) for side in (new, gone)]
    topics = gone.filter(pc.equal(gone["kind"], "topic"))
    return ChangedNames(
        frozenset(_metric_names(_names(new.filter(pc.equal(new["kind"], "topic")))).to_pylist()),
        frozenset().union(*(_names(side).to_pylist() for side in (*acls, topics))),
        frozenset().union(*(_names(side.filter(side["context"])).to_pylist() for side in acls)),
        frozenset(map(_client, acls[1]["address"].to_pylist())),
    )


def with_dependencies(keys: Keys, masks: RowMasks, changed: ChangedNames) -> RowMasks:
    """Add the rows that the plan of the changed names depends on.

    A topic whose name collides is in the way of a new one. Who gains or loses a right by an ACL
    depends on all other ACLs for the same names, and on the existence of topics of these names:
    the first ACL on a resource locks everyone else out, and a right on no topic is a warning. The
    document of an ACL that goes may still declare other ACLs of its principal.
    """
    if changed == ChangedNames():
        return masks
    added = RowMasks(
        _any(_of_the_same_clients(keys, changed), masks.desired),
        _any([*_in_the_way(keys, changed), *_on_the_same_names(keys, changed)], masks.state),
    )
    return union(masks, on_both_sides(keys, added))


def _any(hits: list[pa.ChunkedArray], rows: pa.BooleanArray) -> pa.BooleanArray:
    """Return the rows of any hit, as a mask as long as ``rows``."""
    if not hits:
        return pc.and_not(rows, rows)
    return pc.fill_null(reduce(pc.or_, hits), fill_value=False).combine_chunks()


def _of_the_same_clients(keys: Keys, changed: ChangedNames) -> list[pa.ChunkedArray]:
    """The declared ACLs of principals that lose one."""
    if len(changed.clients) > _MOST_PREFIXES:
        return [pc.equal(keys.desired["kind"], "acl")]
    return [pc.starts_with(keys.desired["address"], start) for start in sorted(changed.clients)]


def _in_the_way(keys: Keys, changed: ChangedNames) -> list[pa.ChunkedArray]:
    """The state's topics whose metric names are those of new topics (A4-11)."""
    if not changed.created:
        return []
    same = pc.is_in(_metric_names(keys.state["name"]), value_set=_array(changed.created))
    return [pc.and_(pc.equal(keys.state["kind"], "topic"), same)]


def _on_the_same_names(keys: Keys, changed: ChangedNames) -> list[pa.ChunkedArray]:
    """The state's ACLs for the names that changing ACLs match, and the topics of these names."""
    if not changed.names:
        return []
    either = pc.is_in(keys.state["kind"], value_set=_array(["acl", "topic"]))
    if "*" in changed.prefixes or len(changed.prefixes) > _MOST_PREFIXES:
        return [either]
    names = keys.state["name"]
    hits = [pc.is_in(names, value_set=_array(changed.names))]
    hits += [pc.starts_with(names, prefix) for prefix in sorted(changed.prefixes)]
    return [pc.and_(either, pc.fill_null(hit, fill_value=False)) for hit in hits]


def _metric_names(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Names as ``collision_key`` makes them."""
    return pc.replace_substring(names, ".", "_")


def _client(address: str) -> str:
    """``acl/User:billing/Allow/`` of an ACL's address, with its scope before it."""
    return f"{address.rsplit('/', 4)[0]}/"


def _names(table: pa.Table) -> pa.Array:
    return table["name"].drop_null().combine_chunks()


def _array(names: frozenset[str] | list[str]) -> pa.Array:
    return pa.array(sorted(names), pa.string())
