"""The one way to wait."""

import asyncio
import os
from collections.abc import Callable
from itertools import count

import patience
import pytest
from patience import PATIENCE_S, eventually, eventually_async

TWO_CORES = 2


def wait(look: Callable[[], object], *holds: Callable[[object], bool]) -> object:
    return eventually(look, *holds, what="a number")


def wait_in_a_loop(look: Callable[[], object], *holds: Callable[[object], bool]) -> object:
    return asyncio.run(eventually_async(look, *holds, what="a number"))


both = pytest.mark.parametrize("wait_for", [wait, wait_in_a_loop])
Wait = Callable[..., object]


@pytest.fixture
def hours_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes half of the least patience."""
    clock = count(0, PATIENCE_S // 2)
    monkeypatch.setattr(patience, "monotonic", lambda: next(clock))


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets how many processes want to run, on two cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: TWO_CORES)

    def set_load(processes: float) -> None:
        monkeypatch.setattr(os, "getloadavg", lambda: (processes, 0.0, 0.0))

    set_load(0)
    return set_load


@both
def test_the_first_look_that_is_true_is_returned(wait_for: Wait) -> None:
    looks = iter((0, None, "", 7, 8))
    assert wait_for(lambda: next(looks)) == 7
    assert next(looks) == 8, "nobody looks again"


@both
def test_a_condition_says_which_look_is_meant(wait_for: Wait) -> None:
    looks = count()
    assert wait_for(lambda: next(looks), lambda found: found == 3) == 3


@both
@pytest.mark.usefixtures("hours_pass")
def test_patience_ends_with_the_last_look(wait_for: Wait, load: Callable[[float], None]) -> None:
    looks = iter(range(10))
    with pytest.raises(AssertionError) as ended:
        wait_for(lambda: {"looks": next(looks)}, lambda found: False)
    assert str(ended.value) == "not within 180 s: a number; last seen: {'looks': 2}"


@pytest.mark.usefixtures("hours_pass", "load")
def test_a_long_look_is_cut_in_the_middle() -> None:
    """Of a log the end is needed most."""
    with pytest.raises(AssertionError) as ended:
        wait(lambda: f"a{'x' * 5000}z", lambda found: False)
    half = "x" * 1998
    assert str(ended.value).endswith(f"last seen: 'a{half} … {half}z' (5004 characters)")


@both
def test_a_look_that_fails_ends_the_wait(wait_for: Wait) -> None:
    looks = iter([False])
    with pytest.raises((StopIteration, RuntimeError)):
        wait_for(lambda: next(looks))


@pytest.mark.parametrize(
    ("processes", "times"), [(0, 1), (TWO_CORES, 1), (3, 1.5), (20, 10), (1000, 10)]
)
def test_patience_grows_with_the_load(
    load: Callable[[float], None], processes: float, times: float
) -> None:
    load(processes)
    assert patience.patience_s() == PATIENCE_S * times


@pytest.mark.usefixtures("hours_pass")
def test_the_load_may_grow_while_one_waits(load: Callable[[float], None]) -> None:
    looks = count()

    def look() -> int:
        number = next(looks)
        load(8 if number == 2 else 0)
        return number

    with pytest.raises(AssertionError, match=r"not within 180 s: .*: 3$"):
        wait(look, lambda found: False)


def test_it_looks_often_at_first_and_less_often_then(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(patience, "sleep", pauses.append)
    looks = iter([False] * 40 + [True])
    wait(lambda: next(looks))
    assert pauses == sorted(pauses)
    assert (pauses[0] < 0.002, pauses[-1]) == (True, 0.05)
