"""The page for people in a real browser: without script, the network, or markup of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_desired, a_topic, applied, plan_of
from msgspec.structs import replace
from reconcile.http.serving import State, serving, waiting_plan
from reconcile.loop_states import PENDING, REVISION, SUSPENSION, failed, loop, turn, unit
from report.html.browser import Browser
from selenium.webdriver.common.by import By

from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Plan
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.status import TurnOutcome

HOSTILE = "<img src=x onerror=alert(1)>\"'&</td></table><script>alert(2)</script>\u202e"


def twelve_real_changes() -> Plan:
    """A plan as it is made: a saved plan that shows anything else is not shown."""
    new = [a_topic(f"new.{number}") for number in range(11)]
    current = applied(a_topic("gone", deletion_policy=DeletionPolicy.DELETE))
    return plan_of(a_desired(*new), current)


def everything(folder: Path) -> LoopStatus:
    """A loop with one unit in each state."""
    _, pending = waiting_plan(twelve_real_changes(), folder)
    waits = turn(
        5,
        outcome=TurnOutcome.PENDING,
        exit=ExitCode.CHANGES,
        pending=pending,
        drift={"Topic": 2},
        drifting={"Topic": 1},
        actions={"delete": 2, "update": 1},
    )
    applied = turn(
        4, outcome=TurnOutcome.APPLIED, applied=pending.digest, applied_actions={"create": 7}
    )
    suspended = turn(2, outcome=TurnOutcome.SUSPENDED, suspended=True, suspension=SUSPENSION)
    problem = replace(REVISION, problem="the newest commit is not signed", failures=3)
    return loop(
        unit(cluster="apac"),
        unit(pending=pending, turns=(waits, applied)),
        unit(cluster="dr", suspended=True, suspension=SUSPENSION, turns=(suspended,)),
        unit(cluster="emea", turns=(turn(3, fights=("topic/fought-over",), disabled=2),)),
        unit(cluster="staging", turns=(failed(),), revision=problem, source_failures=3),
        unit(cluster="us", project="billing", turns=(), running=True, last_success=None),
    )


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with serving(everything(tmp_path)) as started:
        yield started


def text_of(browser: Browser, selector: str) -> list[str]:
    return [found.text for found in browser.driver.find_elements(By.CSS_SELECTOR, selector)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (390, 844)])
def test_it_is_seen_without_errors_or_the_network(
    browser: Browser, state: State, scheme: str, width: int, height: int
) -> None:
    browser.open(f"{state.url}/", width=width, height=height, scheme=scheme)
    assert browser.logged() == []
    assert {address for address in browser.requested() if address.startswith("http")} <= {
        f"{state.url}/",
        f"{state.url}/favicon.ico",
    }
    assert browser.overflow() == 0
    colours, _ = browser.colours()
    assert colours > 5


def test_it_says_what_the_loop_does(browser: Browser, state: State) -> None:
    browser.open(f"{state.url}/")
    assert browser.text("h1") == "1 of 6 can't be reconciled"
    assert browser.text(".summary") == "2 projects on 6 clusters"
    (card,) = text_of(browser, ".card")
    pending = state.value.units[1].pending
    assert pending is not None
    assert f"kgitops apply {pending.path} --expect-digest {pending.digest}" in card
    assert "2 delete, 1 update (2 data-loss, 1 disruptive), since 24 hours ago" in card
    suspended = browser.text("section[aria-labelledby=suspended]")
    assert "User:alice suspended every project" in suspended
    assert "until 2026-11-26T08:00:00Z: migration" in suspended
    assert "topic/fought-over" in browser.text("section[aria-labelledby=fights]")
    assert "billing on us is not done" in browser.text("section[aria-labelledby=unready]")
    units = text_of(browser, ".units summary")
    assert units[0].startswith("failed")
    assert "no broker of b1.example.com:9093 answers" in units[0]
    assert "drifted: 1 Topic" in next(one for one in units if "prod" in one)
    assert "a turn is under way" in next(one for one in units if "on us" in one)


def test_last_turns_open_below_their_unit(browser: Browser, state: State) -> None:
    browser.open(f"{state.url}/?refresh=off")
    (prod,) = [
        one
        for one in browser.driver.find_elements(By.CSS_SELECTOR, ".units details")
        if "prod" in one.text
    ]
    assert "7 create" not in prod.text
    prod.find_element(By.TAG_NAME, "summary").click()
    assert "7 create" in prod.text
    assert REVISION.name[:19] in prod.text
    assert "signed by alice@example.com" in prod.text


def test_the_plan_is_a_click_away(browser: Browser, state: State) -> None:
    browser.open(f"{state.url}/?refresh=off")
    browser.driver.find_element(By.LINK_TEXT, "See the plan").click()
    assert browser.text("h1") == "Can be applied, with data loss"
    # Its own script runs, which its own policy allows.
    assert browser.text("#status") == "Showing 12 of 12 changes"
    assert browser.logged() == []


def test_it_refreshes_itself_until_it_is_told_not_to(browser: Browser, state: State) -> None:
    browser.open(f"{state.url}/")
    selector = "meta[http-equiv=refresh]"
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, selector)) == 1
    browser.driver.find_element(By.LINK_TEXT, "stop").click()
    assert browser.driver.find_elements(By.CSS_SELECTOR, selector) == []
    state.value = loop(unit())
    browser.driver.find_element(By.LINK_TEXT, "refresh").click()
    assert browser.text("h1") == "As declared"


def test_a_screen_reader_finds_its_way(browser: Browser, state: State) -> None:
    browser.open(f"{state.url}/")
    met = browser.names_and_roles()
    assert ("main", "") in met
    headings = [name for role, name in met if role == "heading"]
    assert headings[0] == "1 of 6 can't be reconciled"
    assert any(name.startswith("Plans that wait for somebody") for name in headings)
    assert ("region", "Last turns of payments on staging") in met


def test_names_are_never_markup(browser: Browser) -> None:
    sentence = Reason(exit=ExitCode.UNREACHABLE, sentence=HOSTILE)
    hostile = turn(
        project=HOSTILE,
        cluster=HOSTILE,
        mode=HOSTILE,
        outcome=TurnOutcome.FAILED,
        exit=ExitCode.UNREACHABLE,
        reasons=(sentence,),
        revision=HOSTILE,
    )
    seen = turn(fights=(HOSTILE,), drifting={HOSTILE: 1})
    revision = replace(REVISION, name=HOSTILE, branch=HOSTILE, signed_by=HOSTILE, problem=HOSTILE)
    suspension = replace(SUSPENSION, by=HOSTILE, reason=HOSTILE, until=HOSTILE, since=HOSTILE)
    pending = replace(
        PENDING, path=f"/plans/{HOSTILE}", actions={HOSTILE: 1}, since=HOSTILE, digest=HOSTILE
    )
    one = unit(
        project=HOSTILE,
        cluster=HOSTILE,
        mode=HOSTILE,
        turns=(hostile, seen),
        revision=revision,
        suspended=True,
        suspension=suspension,
        pending=pending,
        source_failures=4,
        last_success=HOSTILE,
        next_turn=HOSTILE,
    )
    with serving(loop(one, version=HOSTILE, started=HOSTILE)) as state:
        browser.open(f"{state.url}/")
        assert browser.logged() == []
        assert browser.driver.find_elements(By.CSS_SELECTOR, "img, script, iframe, object") == []
        assert browser.text("h1") == "1 of 1 can't be reconciled"
        shown = browser.text("section[aria-labelledby=fights]")
        assert "<script>alert(2)</script>" in shown
        assert "\u202e" not in browser.driver.page_source


def test_two_hundred_clusters(browser: Browser) -> None:
    turns = tuple(turn(number, cluster="c") for number in range(10))
    units = [unit(cluster=f"cluster-{number:03}", turns=turns) for number in range(199)]
    with serving(loop(*units, unit(cluster="zz", turns=(failed(),)))) as state:
        browser.open(f"{state.url}/")
        assert browser.text("h1") == "1 of 200 can't be reconciled"
        first = text_of(browser, ".units summary")[0]
        assert "zz" in first
        assert browser.overflow() == 0
