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
            words, own = result.reasons[0].sentence, result.unfinished_run
            assert words.startswith("the cluster is locked by ")
            assert f"(process {apply.process.pid}) for the project payments, run {own} sin" in words
            assert ("whether the run" in words) == (mode != "auto"), "an apply of its own is tried"
            assert "(its lease ends at 20" in words
        code, _, err = apply.open()
    finally:
        apply.stop()
    assert code == 0, err
    result = turns.take()
    assert (result.outcome, result.applied, result.fights) == (TurnOutcome.IN_SYNC, None, ())


@pytest.mark.parametrize(
    ("suspend", "why"),
    [(True, "while reconciliation is suspended"), (False, "in the mode observe")],
)
def test_a_run_that_died_is_told_with_why_it_is_left(
    tmp_path: Path, suspend: bool, why: str
) -> None:
    turns = Turns(tmp_path / "payments", mode="observe", suspend=suspend).declare(topic("new"))
    apply = PausedApply(tmp_path / "gate", "apply", turns.project.folder, "--auto-approve")
    apply.process.kill()
    apply.stop()
    assert turns.take().outcome is TurnOutcome.BUSY
    turns.clock.pass_by(180)
    result = turns.take()
    assert result.outcome is TurnOutcome.REFUSED, result
    words = (
        f"may not be applied {why}; run `kgitops apply --resume -c local {turns.project.folder}`"
    )
    assert words in result.reasons[0].sentence
