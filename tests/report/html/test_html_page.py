"""The page in a real browser: looked at, filtered by keyboard, read, printed, attacked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from report.html.browser import Browser
from report.html.large import large_plan
from report.plans import (
    ALL_PLANS,
    delete_topic,
    judged_plan,
    make_plan,
    no_changes,
    one_change,
    sealed,
    twelve_changes,
)
from report.poison import poisoned
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from kgitops.model.resources.addresses import object_name
from kgitops.plan.document.documents import summary
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.content.statements import summary_sentence
from kgitops.report.html.render import render_html

Save = Callable[[Plan], Path]


@pytest.fixture(scope="module")
def large() -> Plan:
    """A thousand changes: denied, waived, with data loss and access loss."""
    plan = large_plan()
    assert len(plan.changes) > 1_000
    return plan


@pytest.fixture(scope="module")
def large_page(large: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "plan.html"
    file.write_text(render_html(large, sealed=sealed(large)), encoding="utf-8")
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (390, 844)])
def test_a_thousand_changes_are_seen(
    browser: Browser, large: Plan, large_page: Path, scheme: str, width: int, height: int
) -> None:
    """A screenshot that is not blank, without sideways scrolling, errors or the network."""
    browser.open(large_page, width=width, height=height, scheme=scheme)
    assert browser.logged() == []
    assert {address.split(":")[0] for address in browser.requested()} == {"file"}
    assert browser.overflow() == 0
    assert browser.text("h1") == "Denied by policy"
    assert browser.text(".summary") == summary_sentence(large)
    assert "11 denied" in browser.text(".summary")
    assert browser.driver.find_element(By.ID, "denied").is_displayed()
    colours, light = browser.colours()
    assert colours > 100
    assert light > 200 if scheme == "light" else light < 60


@pytest.mark.parametrize("name", ALL_PLANS)
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_every_plan_fits_its_window(browser: Browser, saved: Save, name: str, width: int) -> None:
    browser.open(saved(ALL_PLANS[name]()), width=width)
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert browser.overflow() == 0
    assert browser.logged() == []


def test_long_names_and_values_fit_too(browser: Browser, saved: Save) -> None:
    browser.open(saved(make_plan(delete_topic("n" * 249), delete_topic("w." * 120))), width=320)
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert browser.overflow() == 0


def _is_shown(browser: Browser) -> int:
    """Rows that are not filtered out."""
    found = browser.run("return document.querySelectorAll('.change:not([hidden])').length")
    return int(str(found))


def _expected(plan: Plan, fits: Callable[[Change], bool]) -> tuple[str, str]:
    """What the page has to say when only what ``fits`` is shown."""
    hidden = [change for change in plan.changes if not fits(change)]
    shown = len(plan.changes) - len(hidden)
    told = []
    for count, one, many in (
        (sum(Action.DELETE in c.actions for c in hidden), "deletion", "deletions"),
        (sum(c.denied for c in hidden), "denied change", "denied changes"),
        (
            sum(c.level is RiskLevel.DATA_LOSS for c in hidden),
            "change with data loss",
            "changes with data loss",
        ),
        (
            sum(c.level is RiskLevel.ACCESS_LOSS for c in hidden),
            "change with access loss",
            "changes with access loss",
        ),
    ):
        if count:
            told.append(f"{count:,} {one if count == 1 else many}")
    unseen = f"Filtered out: {', '.join(told)}" if told else ""
    return f"Showing {shown:,} of {len(plan.changes):,} changes", unseen


def test_filtering_by_keyboard_alone(browser: Browser, large: Plan, large_page: Path) -> None:
    """``/`` searches, what is hidden is told with its risk, Escape shows everything again."""
    browser.open(large_page)
    everything = f"Showing {len(large.changes):,} of {len(large.changes):,} changes"
    assert browser.text("#status") == everything
    assert browser.text("#unseen") == ""
    browser.press("/")
    assert browser.focused() == "query"
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"

    browser.press("team-3")
    status, unseen = _expected(large, lambda c: "team-3" in str(object_name(c.address)))
    assert browser.text("#status") == status
    assert browser.text("#unseen") == unseen
    assert "40 deletions, 11 denied changes, 80 changes with data loss" in unseen
    assert status == f"Showing {_is_shown(browser):,} of {len(large.changes):,} changes"

    browser.press(Keys.ESCAPE)
    assert browser.text("#status") == everything
    assert browser.text("#unseen") == ""
    assert _is_shown(browser) == len(large.changes)

    # On past the buttons to the first box, which the space bar ticks.
    browser.press_tab(4)
    assert browser.run("return document.activeElement.value") == "create"
    browser.press(Keys.SPACE)
    status, unseen = _expected(large, lambda c: Action.CREATE in c.actions)
    assert (browser.text("#status"), browser.text("#unseen")) == (status, unseen)
    browser.press("/", "acl app-1")
    status, unseen = _expected(
        large,
        lambda c: (
            Action.CREATE in c.actions
            and all(w in str(object_name(c.address)).lower() for w in ("acl", "app-1"))
        ),
    )
    assert (browser.text("#status"), browser.text("#unseen")) == (status, unseen)
    # Not only the search field, which browsers empty by themselves.
    browser.press(Keys.ESCAPE)
    assert browser.text("#status") == everything
    assert browser.run("return document.querySelectorAll('#filter :checked').length") == 0
    assert browser.logged() == []


def test_every_choice_shows_as_many_as_it_says(
    browser: Browser, large: Plan, large_page: Path
) -> None:
    """And together with what is hidden, always all; actions and denials are the JSON's counts."""
    browser.open(large_page)
    counts = summary(large)
    boxes = browser.driver.find_elements(By.CSS_SELECTOR, "#filter input[type=checkbox]")
    assert len(boxes) > 12
    for box in boxes:
        chip = str(browser.run("return arguments[0].parentElement.textContent", box))
        said = int(chip.rsplit(maxsplit=1)[-1].replace(",", ""))
        value = str(box.get_attribute("value"))
        box.click()
        browser.after_frames("0")
        assert browser.text("#status").startswith(f"Showing {said:,} of {len(large.changes):,} ")
        assert _is_shown(browser) == said
        if value in counts:
            assert counts[value] == said
        headings = browser.run(
            "return [...document.querySelectorAll('.group > summary .n')].map((e) => e.textContent)"
        )
        here = [str(text).replace(",", "").split(" of ") for text in headings]  # type: ignore[attr-defined]
        assert sum(int(words[0]) for words in here) == said
        assert sum(int(words[-1]) for words in here) == len(large.changes)
        box.click()
        browser.after_frames("0")


def test_choices_of_one_kind_add_up_and_of_two_kinds_narrow(
    browser: Browser, large: Plan, large_page: Path
) -> None:
    browser.open(large_page)
    for value in ("delete", "update", "data-loss"):
        browser.driver.find_element(By.CSS_SELECTOR, f"input[value={value}]").click()
    browser.after_frames("0")
    status, unseen = _expected(
        large,
        lambda c: (
            c.level is RiskLevel.DATA_LOSS and bool({*c.actions} & {Action.DELETE, Action.UPDATE})
        ),
    )
    assert (browser.text("#status"), browser.text("#unseen")) == (status, unseen)


def test_a_change_opens_by_keyboard(browser: Browser, saved: Save) -> None:
    browser.open(saved(one_change()))
    assert not browser.driver.find_element(By.CSS_SELECTOR, ".change .body").is_displayed()
    browser.press("/")
    for _ in range(20):
        browser.press_tab()
        if browser.run("return document.activeElement.matches('.change > summary')"):
            break
    browser.press(Keys.ENTER)
    assert "because it is declared" in browser.text(".change .body")
    assert "604800000 (7 d)" in browser.text(".change .body")
    browser.press(Keys.SPACE)
    assert not browser.driver.find_element(By.CSS_SELECTOR, ".change .body").is_displayed()


def test_a_link_opens_its_change_even_if_it_is_filtered_out(
    browser: Browser, large_page: Path
) -> None:
    browser.open(large_page)
    browser.press("/", "nothing has this name")
    assert browser.text("#status").startswith("Showing 0 of ")
    link = browser.driver.find_element(By.CSS_SELECTOR, ".panel.grave .lines a")
    anchor = str(link.get_attribute("href")).partition("#")[2]
    link.send_keys(Keys.ENTER)
    browser.after_frames("0")
    row = browser.driver.find_element(By.ID, anchor)
    assert row.find_element(By.CSS_SELECTOR, ".body").is_displayed()
    assert browser.run("return arguments[0].contains(document.activeElement)", row)
    assert "denied" in row.text


def test_many_changes_can_be_opened_and_closed_at_once(browser: Browser, large_page: Path) -> None:
    browser.open(large_page)
    opened = "return document.querySelectorAll('.change[open]').length"
    browser.driver.find_element(By.ID, "close-all").click()
    assert browser.run(opened) == 0
    browser.driver.find_element(By.ID, "open-shown").click()
    assert browser.run(opened) == 200
    assert "opened 200 of them" in browser.text("#status")


def test_without_javascript_everything_is_there(browser: Browser, saved: Save) -> None:
    plan = twelve_changes()
    page = saved(plan)
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(page)
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        rows = browser.driver.find_elements(By.CSS_SELECTOR, ".change")
        assert len(rows) == len(plan.changes)
        for row, change in zip(rows, rows, strict=True):
            assert change.is_displayed()
            if row.get_attribute("open") is None:
                row.find_element(By.TAG_NAME, "summary").click()
            assert row.find_element(By.CLASS_NAME, "body").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_it_prints_without_its_controls(browser: Browser, saved: Save) -> None:
    browser.open(saved(judged_plan()))
    assert browser.printed().startswith(b"%PDF")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not browser.driver.find_element(By.ID, "query").is_displayed()
        assert browser.driver.find_element(By.ID, "status").is_displayed()
        assert browser.driver.find_element(By.CSS_SELECTOR, ".change .name").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("plan", [no_changes, one_change, judged_plan, twelve_changes])
def test_the_filter_is_there_only_where_there_are_changes(
    browser: Browser, saved: Save, plan: Callable[[], Plan]
) -> None:
    browser.open(saved(plan()))
    found = browser.driver.find_elements(By.ID, "filter")
    assert len(found) == bool(plan().changes)
    assert browser.logged() == []


ATTACKS = [
    template % "window.__pwned = 1"
    for template in (
        "<script>%s</script>",
        "<img src=x onerror='%s'>",
        '"><img src=x onerror="%s">',
        "'><svg onload='%s'>",
        "</summary></details><script>%s</script>",
        "</title><script>%s</script>",
        "</style><script>%s</script>",
        "</script><script>%s</script>",
        "</text></svg><script>%s</script>",
        "</desc><script>%s</script>",
        "--><script>%s</script>",
        "<iframe srcdoc='<script>parent.%s</script>'>",
        "<iframe src='javascript:%s'>",
        "<a href='javascript:%s'>x</a>",
        "<details open ontoggle='%s'>",
        "<input autofocus onfocus='%s'>",
        "<body onload='%s'>",
        "<svg><animate onbegin='%s' attributeName=x dur=1s>",
        "<svg><script>%s</script></svg>",
        "<math><mtext><script>%s</script></mtext></math>",
        "<object data='javascript:%s'>",
        "<embed src='javascript:%s'>",
        "<link rel=stylesheet href='javascript:%s'>",
        "<meta http-equiv=refresh content='0;url=javascript:%s'>",
        "<base href='javascript:%s//'>",
        "<form action='javascript:%s'><button autofocus>",
        "<video><source onerror='%s'></video>",
        "<audio src=x onerror='%s'>",
        "<marquee onstart='%s'>",
        "<select autofocus onfocus='%s'>",
        "<textarea autofocus onfocus='%s'>",
        "<style>@import 'javascript:%s';</style>",
        "<div style='background:url(javascript:%s)'>",
        "<table background='javascript:%s'>",
        "{{ '%s' }}",
        "{%% raw %%}<script>%s</script>{%% endraw %%}",
        "${%s}",
        "javascript:%s",
        "data:text/html,<script>%s</script>",
        "\u2028%s\u2029",
        "\\x3cscript\\x3e%s\\x3c/script\\x3e",
        "&lt;script&gt;%s&lt;/script&gt;",
        "&#60;script&#62;%s",
        "<scr<script>ipt>%s</script>",
        "<ScRiPt>%s</sCrIpT>",
        "<img/src=x/onerror='%s'>",
        "<img src=`x`onerror='%s'>",
        "\x00<script>%s</script>",
        "\ufeff<script>%s</script>",
        "<template><script>%s</script></template>",
        "<noscript><script>%s</script></noscript>",
        "' onmouseover='%s",
    )
]


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_no_name_or_value_runs(browser: Browser, saved: Save, attack: str) -> None:
    plan = poisoned(attack)
    browser.open(saved(plan))
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.press("/", "window")
    assert browser.run("return window.__pwned") is None
    assert (
        browser.run("return document.querySelectorAll('img, iframe, object, marquee').length") == 0
    )
    assert browser.run("return document.scripts.length") == 1
    assert browser.logged() == []
    assert {address.split(":")[0] for address in browser.requested()} == {"file"}


@pytest.mark.parametrize(
    "smuggled",
    [
        "<script>window.__pwned = 1</script>",
        "<img src=x onerror='window.__pwned = 1'>",
        "<iframe srcdoc='<script>parent.__pwned = 1</script>'></iframe>",
        "<style>body { display: none }</style>",
        "<p style='display: none'>x</p>",
        "<img src='https://kgitops.invalid/x.png'>",
        "<form action='https://kgitops.invalid/' id=f></form><script>f.submit()</script>",
    ],
)
def test_what_was_smuggled_past_the_escaping_is_stopped_too(
    browser: Browser, tmp_path: Path, smuggled: str
) -> None:
    """The Content-Security-Policy is a second wall."""
    page = render_html(one_change())
    assert page.count("<main") == 1
    file = tmp_path / "broken.html"
    file.write_text(page.replace("<main", f"{smuggled}<main"), encoding="utf-8")
    browser.open(file)
    assert browser.run("return window.__pwned") is None
    assert browser.driver.find_element(By.TAG_NAME, "h1").is_displayed()
    refused = browser.logged()
    assert any("Content Security Policy" in line for line in refused), refused
    assert not any("kgitops.invalid" in address for address in browser.requested())
