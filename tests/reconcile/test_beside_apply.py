"""A loop beside a ``kgitops apply`` of the same project that is under way in another process."""

from pathlib import Path

import pytest
from cli.processes import PausedApply
from cli.projects import topic
from reconcile.turning import Turns

from kgitops.cli.main import main
from kgitops.reconcile.status import TurnOutcome


@pytest.mark.parametrize("mode", ["observe", "converge", "auto"])
def test_who_is_at_work_is_waited_for_and_nobody_is_alarmed(tmp_path: Path, mode: str) -> None:
    """Its run is not finished, which is as it should be."""
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode=mode)
    turns.declare(topic("old", deletionPolicy="Delete"), topic("kept"))
    assert main(["apply", str(turns.project.folder), "--auto-approve"]) == 0
    turns.declare(topic("kept"))
    apply = PausedApply(tmp_path / "gate", "apply", turns.project.folder, "--auto-approve")
    try:
        for _ in range(2):
            result = turns.take()
            assert result.outcome is TurnOutcome.BUSY, result
        code, _, err = apply.open()
    finally:
        apply.stop()
    assert code == 0, err
    result = turns.take()
    assert (result.outcome, result.applied, result.fights) == (TurnOutcome.IN_SYNC, None, ())
