"""The worked scenario, cut off at every boundary and resumed: it ends as if never disturbed."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, sealed_now
from apply.scenario import UID, apply_until, open_scenario, plan_at
from cli.golden import OFFSETS

from kgitops.cluster.port import Cluster
from kgitops.lowering.topics import orphaned_topics
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.virtual_clusters import generated_parts


class Killed(BaseException):
    """The process ends here."""


def _ends_as(state: ClusterState) -> object:
    """All that is declared, with generated names without their uuids."""

    def plain(topic: str) -> str:
        parts = generated_parts(topic)
        return f"<uuid>.{parts[1]}" if parts else topic

    return {
        "topics": sorted((plain(name), it.num_partitions) for name, it in state.topics.items()),
        "links": sorted(
            (name, link.name, plain(link.topic))
            for name, found in state.virtual_clusters.items()
            for link in found.links.values()
        ),
        "members": {
            name: (found.users, dict(found.groups))
            for name, found in state.virtual_clusters.items()
        },
        "acls": state.acls,
        "quotas": dict(state.quotas),
        "owners": sorted(state.registry.owners) if state.registry else [],
    }


def _dying_at(cluster: Cluster, boundary: int) -> FaultyCluster:
    left = boundary

    def pass_boundary(_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    return FaultyCluster(
        cluster,
        before_send=pass_boundary,
        after_send=pass_boundary,
        before_append=pass_boundary,
        after_append=pass_boundary,
    )


@pytest.mark.parametrize("lowered", [False, True], ids=["native", "lowered"])
@pytest.mark.parametrize("commit", [1, 2, 4])
def test_cut_off_anywhere_then_resumed_it_ends_like_one_run(
    commit: int, tmp_path: Path, *, lowered: bool
) -> None:
    """VC-063, VC-243, VC-402: one topic for each name, offsets once, no right without its way."""
    store = tmp_path / "before.db"
    clock = FakeClock()
    before, cluster = open_scenario(store, clock, lowered=lowered)
    apply_until(cluster, clock, commit)
    sealed = sealed_now(plan_at(cluster, commit), clock, "last")
    before.close()

    def run(name: str, boundary: int, go: Callable[[Apply], object], ahead_s: int = 0) -> bool:
        """Return whether it completed; a resume begins when the lease has ended."""
        clock = FakeClock(ahead_s=ahead_s)
        physical, cluster = open_scenario(tmp_path / name, clock, lowered=lowered)
        done = False
        with suppress(Killed):
            go(Apply(cluster=_dying_at(cluster, boundary), clock=clock))
            done = True
        physical.close()
        return done

    def state(name: str) -> tuple[ClusterState, object]:
        physical, cluster = open_scenario(tmp_path / name, clock, lowered=lowered)
        found = cluster.read_state()
        assert plan_at(cluster, commit).changes == ()
        offsets = cluster.read_group_offsets(frozenset({"emea.sales:sales-etl"}))
        physical.close()
        return found, offsets

    shutil.copy(store, tmp_path / "whole.db")
    assert run("whole.db", 10_000, lambda apply: apply.plan(sealed))
    expected, offsets = state("whole.db")
    assert offsets == {"emea.sales:sales-etl": OFFSETS}
    boundary = 0
    finished = False
    while not finished:
        name = f"{boundary}.db"
        shutil.copy(store, tmp_path / name)
        finished = run(name, boundary, lambda apply: apply.plan(sealed))
        if not finished:
            assert run(name, 10_000, lambda apply: apply.resume(UID), ahead_s=1800)
        if finished or _began(tmp_path / name, lowered=lowered):
            found, copied = state(name)
            assert _ends_as(found) == _ends_as(expected), boundary
            assert copied == offsets, boundary
            assert orphaned_topics(found) == orphaned_topics(expected)
        (tmp_path / name).unlink()
        boundary += 3 if lowered else 1  # tests/cluster/lowered dies within a request, too
    assert boundary > 10


def _began(store: Path, *, lowered: bool) -> bool:
    """Return whether the run was recorded before the process died, so that it can be resumed."""
    physical, _ = open_scenario(store, FakeClock(), lowered=lowered)
    keys = {entry.key for entry in physical.registry.read() or ()}
    physical.close()
    return "nonce/last" in keys
