"""Both sides without what needs no look: what the planner is given instead of the whole."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.context import with_context
from kgitops.fleet.diff.differing import (
    DESIRED_KEYS,
    STATE_KEYS,
    Keys,
    differing,
    everything,
    kept,
    selected,
    settled,
)
from kgitops.fleet.tables.desired_rows import DECLARED, declared_by, declaring
from kgitops.fleet.tables.hydrating import HYDRATED, bare_state, hydrated
from kgitops.fleet.tables.reading import Rows
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.safety import counted_as

__all__ = ["Reduced", "reduce_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """What differs, and what stands for the rest.

    ``settled`` counts by kind the project's objects that are left out; ``kept`` others', by rule.
    """

    desired: DesiredState
    current: ClusterState
    settled: Mapping[str, int]
    kept: Mapping[str, int]


def reduce_rows(desired: Rows, state: Rows, also: Collection[str] = ()) -> Reduced:
    """The objects that a plan must look at, hydrated; addresses in ``also`` are among them.

    Where either side has virtual clusters nothing is left out: their objects hang together.

    Raises:
        SafetyError: a side can't be trusted.
    """
    project = declared_by(desired)
    bare = bare_state(state)
    identity = project.project.identity
    keys = Keys(desired.columns(DESIRED_KEYS), state.columns(STATE_KEYS))
    if bare.virtual_clusters or bare.lowered or desired.header["virtual_clusters"]:
        found = everything(keys)
    else:
        buried = {tombstone.address for tombstone in project.tombstones}
        found = with_context(keys, differing(keys, identity, {*also, *buried}))
    try:
        left = settled(keys, found, identity)
    except ValueError as error:
        raise desired.broken(str(error)) from error
    return Reduced(
        desired=declaring(desired, selected(desired, found.desired, DECLARED)),
        current=hydrated(state, selected(state, found.state, HYDRATED)),
        settled={str(counted_as(kind)): count for kind, count in left.items()},
        kept=kept(keys, found, identity),
    )
