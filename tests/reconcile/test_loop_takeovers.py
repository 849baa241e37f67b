"""A loop never takes over another project's objects, whatever its mode and the release."""

from pathlib import Path

import pytest
from cli.projects import Project, acl, tombstone, topic
from reconcile.turning import Turns

from kgitops.cli.main import main
from kgitops.cluster.port import Cluster
from kgitops.model.verdict import ExitCode
from kgitops.reconcile.status import TurnOutcome

OTHER = "other-uid"


def others(tmp_path: Path, turns: Turns) -> Project:
    """Another project on the loop's cluster."""
    store = {"url": f"embedded:{turns.project.store}"}
    project = Project(tmp_path / "billing", name="billing", uid=OTHER)
    project.write(topic("orders", deletionPolicy="Delete"), topic("kept"), acl())
    return project.write_file(cluster=store)


def owners(turns: Turns) -> set[str]:
    cluster: Cluster = turns.project.connect()
    registry = cluster.read_state().registry
    cluster.close()
    assert registry is not None
    return {owner.project for owner in registry.owners.values()}


@pytest.mark.parametrize("claim", ["formerly", "takeFrom"])
@pytest.mark.parametrize("released", [False, True], ids=["claimed", "released"])
@pytest.mark.parametrize("mode", ["observe", "converge", "auto"])
def test_a_loop_takes_nothing_over(tmp_path: Path, mode: str, released: bool, claim: str) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode=mode)
    turns.declare(topic("orders"), tombstone("topic/kept"))
    other = others(tmp_path, turns)
    assert main(["apply", str(other.folder), "--auto-approve"]) == 0
    if released:
        assert main(["registry", "release", str(other.folder), "--to", turns.project.uid]) == 0
    turns.project.write_file(metadata={claim: ["billing"]}, reconcile=turns.reconcile)
    result = turns.take()
    assert turns.topics() == {"orders", "kept"}
    assert owners(turns) == {OTHER}
    assert result.applied_actions == {}
    if released:
        assert (result.outcome, result.exit) == (TurnOutcome.PENDING, ExitCode.CHANGES)
        assert result.pending is not None
        assert result.pending.levels == {"data-loss": 1 if claim == "takeFrom" else 3}
    else:
        assert result.exit is ExitCode.REFUSED


def test_a_loop_does_not_finish_the_run_of_a_claimed_project(
    tmp_path: Path,
) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="auto")
    turns.declare(topic("orders"))
    other = others(tmp_path, turns)
    assert main(["apply", str(other.folder), "--auto-approve"]) == 0
    cluster = turns.project.connect()
    entries = cluster.registry.read() or ()
    header = next(
        e for e in reversed(entries) if e.key.startswith("run/") and e.key.count("/") == 1
    )
    assert header.value is not None
    cluster.registry.append([(header.key, {**header.value, "status": "failed"})])
    cluster.close()
    turns.project.write_file(metadata={"formerly": [OTHER]}, reconcile=turns.reconcile)
    result = turns.take()
    assert result.unfinished_run is None
    assert result.others_unfinished == ("billing",)
    assert result.exit is ExitCode.REFUSED
    assert "kgitops apply --resume" in str(result.reasons)
    assert owners(turns) == {OTHER}
