"""A process killed at any boundary, then resumed, ends where an undisturbed run ends."""

from collections import Counter
from pathlib import Path

import pytest
from apply.crash_driver import kill_everywhere
from apply.faults import FakeClock, FaultyCluster
from apply.plans import BEFORE, Apply, comparable, open_cluster, prepare, sealed_now, spelt
from builders import UID, plan_of
from used import used

from kgitops.apply.journal.reading import latest_values
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.reading import read_plan


def _prepared(folder: Path, *, first: bool) -> SealedPlan:
    cluster = open_cluster(folder / "store.db")
    plan = plan_of(BEFORE, cluster.read_state()) if first else prepare(cluster)
    sealed = sealed_now(plan, FakeClock())
    cluster.close()
    (folder / "plan.json").write_text(to_text(sealed))
    return sealed


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
def test_a_kill_at_any_boundary_then_a_resume_ends_like_an_undisturbed_run(
    tmp_path: Path, times: int, *, first: bool
) -> None:
    """The very first apply, which also creates the registry, and a later one of every kind."""
    sealed = _prepared(tmp_path, first=first)
    boundaries = kill_everywhere(tmp_path, times)

    undisturbed = open_cluster(tmp_path / "store.db")
    assert Apply(cluster=undisturbed).plan(sealed).verdict.exit == ExitCode.SUCCESS
    expected = comparable(used(undisturbed))
    undisturbed.close()

    for boundary in range(boundaries):
        clock = FakeClock(ahead_s=3600)
        cluster = FaultyCluster(open_cluster(tmp_path / f"{boundary}.db", clock))
        apply = Apply(cluster=cluster, clock=clock)
        result = apply.resume(UID)
        if result is None and not _began(cluster, sealed):
            result = apply.plan(read_plan((tmp_path / "plan.json").read_text(), "plan.json"))
        if result is not None:
            assert result.verdict.exit == ExitCode.SUCCESS, (boundary, result)
            assert len(result.done) == result.planned
        assert comparable(used(cluster)) == expected, boundary
        _assert_tidy(cluster, boundary)
        _assert_sent_once(tmp_path / f"{boundary}.sent", cluster, boundary)
        cluster.close()


def _began(cluster: FaultyCluster, sealed: SealedPlan) -> bool:
    return f"nonce/{sealed.nonce}" in latest_values(cluster.registry.read() or ())


def _assert_tidy(cluster: FaultyCluster, boundary: int) -> None:
    latest = latest_values(cluster.registry.read() or ())
    left = [key for key in latest if key.startswith(("lock/", "run/run-1/"))]
    assert left == [], boundary
    assert latest["run/run-1"]["status"] == "done"


def _assert_sent_once(log: Path, cluster: FaultyCluster, boundary: int) -> None:
    before = log.read_text().splitlines() if log.exists() else []
    counts = Counter([*before, *spelt(cluster.sent)])
    assert set(counts.values()) <= {1}, (boundary, counts.most_common(1))
