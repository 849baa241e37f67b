"""Both sides without what needs no look: what the planner is given instead of the whole."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.context import with_context
from kgitops.fleet.diff.differing import (
    STATE_KEYS,
    Keys,
    differing,
    everything,
    kept,
    selected,
    settled,
)
from kgitops.fleet.diff.sides import DesiredSide
from kgitops.fleet.tables.hydrating import HYDRATED, bare_state, hydrated
from kgitops.fleet.tables.reading import Rows
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.safety import counted_as


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
    bare = bare_state(state)
    identity = side.project.project.identity
    keys = Keys(side.keys, state.columns(STATE_KEYS))
    if bare.virtual_clusters or bare.lowered or side.virtual_clusters:
        found = everything(keys)
    else:
        buried = {tombstone.address for tombstone in side.project.tombstones}
        found = with_context(keys, differing(keys, identity, {*also, *buried}))
    try:
        left = settled(keys, found, identity)
    except ValueError as error:
        raise state.broken(str(error)) from error
    return Reduced(
        desired=side.choose(found.desired),
        current=hydrated(state, selected(state, found.state, HYDRATED)),
        settled={str(counted_as(kind)): count for kind, count in left.items()},
        kept=kept(keys, found, identity),
    )
