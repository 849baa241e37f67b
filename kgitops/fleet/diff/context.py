"""Objects that do not differ themselves, and that the plan of another one depends on."""

from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from kgitops.fleet.diff.differing import Differing, Keys, both, together

_MOST_PREFIXES = 20
"""Beyond these it is faster to look at everything than to compare each name with each prefix."""


@dataclass(frozen=True, slots=True)
class Changing:
    """Names that a plan is about to change something for.

    Topics that are going to be made, as their metric names; resources of ACLs that come or go;
    prefixes of those whose pattern reaches further than a name.
    """

    created: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()

    def __or__(self, other: "Changing") -> "Changing":
        """Both."""
        return Changing(
            self.created | other.created,
            self.names | other.names,
            self.prefixes | other.prefixes,
        )


def changing(keys: Keys, differing: Differing) -> Changing:
    """What the differing rows are about to change."""
    desired, state = keys.desired.filter(differing.desired), keys.state.filter(differing.state)
    existing = state.filter(state["exists"])["address"].combine_chunks()
    new = desired.filter(pc.invert(pc.is_in(desired["address"], value_set=existing)))
    declared = pc.is_in(state["address"], value_set=desired["address"].combine_chunks())
    gone = state.filter(pc.and_(pc.invert(declared), pc.is_valid(state["owner"])))
    acls = [side.filter(pc.equal(side["kind"], "acl")) for side in (new, gone)]
    return Changing(
        frozenset(_plain(_names(new.filter(pc.equal(new["kind"], "topic")))).to_pylist()),
        frozenset().union(*(_names(side).to_pylist() for side in acls)),
        frozenset().union(*(_names(side.filter(side["context"])).to_pylist() for side in acls)),
    )


def with_context(keys: Keys, differing: Differing, about: Changing) -> Differing:
    """These rows and what bears on what is changing.

    A topic whose name collides is in the way of one that is going to be made. Who gains or loses a
    right by an ACL depends on all others that count for the same names, and on whether there are
    topics of these names: the first rule on one shuts others out.
    """
    hits = [*_in_the_way(keys, about), *_of_the_same_names(keys, about)]
    if not hits:
        return differing
    added = pc.fill_null(reduce(pc.or_, hits), fill_value=False).combine_chunks()
    none = pc.and_not(differing.desired, differing.desired)
    return both(differing, together(keys, Differing(none, added)))


def _in_the_way(keys: Keys, about: Changing) -> list[pa.ChunkedArray]:
    """The state's topics whose metric names are those of topics to be made (A4-11)."""
    if not about.created:
        return []
    same = pc.is_in(_plain(keys.state["name"]), value_set=_array(about.created))
    return [pc.and_(pc.equal(keys.state["kind"], "topic"), same)]


def _of_the_same_names(keys: Keys, about: Changing) -> list[pa.ChunkedArray]:
    """The state's ACLs that reach what the changing ones reach, and the topics of these names."""
    if not about.names:
        return []
    either = pc.is_in(keys.state["kind"], value_set=_array(["acl", "topic"]))
    if "*" in about.prefixes or len(about.prefixes) > _MOST_PREFIXES:
        return [either]
    names = keys.state["name"]
    hits = [pc.is_in(names, value_set=_array(about.names))]
    hits += [pc.starts_with(names, prefix) for prefix in sorted(about.prefixes)]
    return [pc.and_(either, pc.fill_null(hit, fill_value=False)) for hit in hits]


def _plain(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Names as ``model.names.collision_key`` makes them."""
    return pc.replace_substring(names, ".", "_")


def _names(table: pa.Table) -> pa.Array:
    return table["name"].drop_null().combine_chunks()


def _array(names: frozenset[str] | list[str]) -> pa.Array:
    return pa.array(sorted(names), pa.string())
