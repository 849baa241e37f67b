"""The folder below ``--plans``: who fights, over restarts, and by clocks that are set back."""

from datetime import timedelta
from pathlib import Path

import pytest
from cli.projects import topic
from hypothesis import given
from hypothesis import strategies as st
from reconcile.turning import FakeClock, Turns

from kgitops.cli.main import main
from kgitops.reconcile.status import PendingPlan, TurnResult
from kgitops.reconcile.turns.fights import HealHistory, history_from_text, history_to_text
from kgitops.reconcile.turns.surroundings import TurnMemory
from kgitops.reconcile.wording import pending_text

ZSTD = {"compression.type": "zstd"}
HOUR = timedelta(hours=1)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    found = Turns(tmp_path / "payments", plans=tmp_path / "my plans")
    found.reconcile["heal"] = {"times": 2, "withinMinutes": 60}
    found.declare(topic(configs=ZSTD)).take()
    return found


def as_a_new_process(turns: Turns, ticks: float = 5.0) -> TurnResult:
    """A turn of a process that has just begun, on a machine that has just begun."""
    turns.memory = TurnMemory()
    turns.clock.ticks = ticks
    return turns.take()


def drift(turns: Turns) -> None:
    turns.set_behind("orders", compression_type="gzip")


def test_single_turns_know_of_each_other_that_somebody_fights(turns: Turns) -> None:
    for _ in range(2):
        drift(turns)
        assert as_a_new_process(turns).healed == ("topic/orders",)
        turns.clock.pass_by(300)
    drift(turns)
    for _ in range(2):
        result = as_a_new_process(turns)
        assert (result.fights, result.healed) == (("topic/orders",), ())
    turns.clock.pass_by(7200)
    assert as_a_new_process(turns).fights == ("topic/orders",), "it goes on however long it lasts"
    turns.set_behind("orders", compression_type="zstd")
    assert as_a_new_process(turns).fights == ()
    drift(turns)
    assert as_a_new_process(turns).healed == ("topic/orders",)


def test_heals_of_long_ago_are_no_fight_for_a_new_process(turns: Turns) -> None:
    for _ in range(4):
        drift(turns)
        assert as_a_new_process(turns).healed == ("topic/orders",)
        turns.clock.pass_by(3700)


@pytest.mark.parametrize("hours", [-1, -24 * 365])
def test_after_the_clock_was_set_back_past_heals_still_count(turns: Turns, hours: int) -> None:
    for _ in range(2):
        drift(turns)
        as_a_new_process(turns)
    turns.clock.moment += hours * HOUR
    drift(turns)
    assert as_a_new_process(turns).fights == ("topic/orders",)


def test_idle_turns_write_no_file(turns: Turns) -> None:
    drift(turns)
    turns.take()
    files = [path for path in Path(turns.plans or "").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {".cluster", ".heals"}
    before = [(kept.stat().st_mtime_ns, kept.stat().st_ino) for kept in files]
    for _ in range(3):
        turns.clock.pass_by(60)
        turns.take()
    as_a_new_process(turns)
    assert [(kept.stat().st_mtime_ns, kept.stat().st_ino) for kept in files] == before


@pytest.mark.parametrize("text", ["", "{}", "no JSON", '{"heals": {"a": ["x"]}, "fights": []}'])
def test_a_file_that_is_no_history_is_written_anew(turns: Turns, text: str) -> None:
    drift(turns)
    turns.take()
    (kept,) = Path(turns.plans or "").rglob(".heals")
    kept.write_text(text)
    drift(turns)
    assert as_a_new_process(turns).healed == ("topic/orders",)
    assert kept.read_text().startswith('{"heals":{"topic/orders":["2')


@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 10_000), max_size=4)),
    st.integers(0, 10**9),
)
def test_a_history_comes_back_at_the_ticks_of_another_machine(ages, ticks) -> None:
    clock = FakeClock()
    heals = {name: tuple(clock.ticks - age for age in found) for name, found in ages.items()}
    history = HealHistory(heals=heals, fights=frozenset(ages))
    text = history_to_text(history, clock.now(), clock.ticks)
    found = history_from_text(text, clock.now(), float(ticks))
    assert found.fights == history.fights
    assert {name: [ticks - at for at in moments] for name, moments in found.heals.items()} == ages


def waiting(turns: Turns) -> PendingPlan:
    pending = turns.take().pending
    assert pending is not None
    return pending


def test_a_plan_that_was_sealed_by_a_clock_ahead_is_sealed_again(
    turns: Turns, monkeypatch, capsys
) -> None:
    """Else it would wait as one that nobody can apply until then."""
    turns.declare(topic(configs=ZSTD, partitions=6))
    turns.clock.moment += HOUR
    ahead = waiting(turns)
    turns.clock.moment -= HOUR
    monkeypatch.chdir(turns.project.folder)
    assert main(["apply", str(ahead.path), "--expect-digest", ahead.digest]) == 9
    assert "is in the future here" in capsys.readouterr().err
    again = waiting(turns)
    assert again.path == ahead.path or not Path(str(ahead.path)).exists()
    assert again.since == ahead.since, "the same changes have waited since then"
    assert main(["apply", str(again.path), "--expect-digest", again.digest]) == 0


def test_a_clock_that_is_set_forward_lets_a_plan_expire_and_seals_it_again(turns: Turns) -> None:
    turns.declare(topic(configs=ZSTD, partitions=6))
    first = waiting(turns)
    turns.clock.moment += 11 * HOUR
    assert waiting(turns) == first
    turns.clock.moment += 25 * HOUR
    second = waiting(turns)
    assert second.expires > first.expires


def test_the_command_quotes_a_path_with_a_blank(turns: Turns) -> None:
    turns.declare(topic(configs=ZSTD, partitions=6))
    pending = waiting(turns)
    assert f"kgitops apply '{pending.path}' --expect-digest" in pending_text(pending)
