"""The fleet's page in a real browser: seen, read aloud, used by keyboard, on a phone, attacked."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from report.fleet.fleets import FLEETS, a_failed_unit, a_history, a_run, a_unit, large
from report.fleet.test_fleet_injection import poisoned_fleet
from report.html.browser import Browser
from report.html.test_html_access import CONTRAST
from report.html.test_html_page import ATTACKS
from selenium.webdriver.common.keys import Keys

from kgitops.fleet.summary import History
from kgitops.report.fleet.fleet_html import render_fleet_html
from kgitops.report.fleet.highlights import headline

Save = Callable[[History], Path]
_OPEN_ALL = "document.querySelectorAll('details').forEach((e) => { e.open = true; })"


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    """A fleet's page on disk."""

    def save(history: History) -> Path:
        file = tmp_path / "fleet.html"
        file.write_text(render_fleet_html(history), encoding="utf-8")
        return file

    return save


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (400, 850)])
def test_five_hundred_clusters_are_seen(
    browser: Browser, saved: Save, scheme: str, width: int, height: int
) -> None:
    """Not blank, without sideways scrolling, errors or the network."""
    history = large()
    browser.open(saved(history), width=width, height=height, scheme=scheme)
    assert browser.logged() == []
    assert {address.split(":")[0] for address in browser.requested()} == {"file"}
    assert browser.overflow() == 0
    assert browser.text("h1") == "5 of 500 plans missing"
    assert browser.text(".summary") == headline(history.latest)
    colours, light = browser.colours()
    assert colours > 100
    assert light > 200 if scheme == "light" else light < 60


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_every_fleet_fits_its_window(browser: Browser, saved: Save, name: str, width: int) -> None:
    browser.open(saved(FLEETS[name]()), width=width)
    browser.run(_OPEN_ALL)
    assert browser.overflow() == 0
    assert browser.logged() == []


def test_long_names_fit_too(browser: Browser, saved: Save) -> None:
    units = [a_unit(f"c{n}{'n' * 240}", "w." * 120, deletes=9, denied=3) for n in range(6)]
    failed = a_failed_unit("f" * 249, sentence="s" * 900)
    browser.open(saved(a_history(a_run(*units, failed))), width=320)
    browser.run(_OPEN_ALL)
    assert browser.overflow() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["large", "calm", "all failed"])
def test_every_text_stands_out_from_its_ground(
    browser: Browser, saved: Save, name: str, scheme: str
) -> None:
    browser.open(saved(FLEETS[name]()), scheme=scheme)
    browser.run(_OPEN_ALL)
    pairs, poor = browser.run(CONTRAST)  # type: ignore[misc]
    assert poor == []
    assert pairs >= 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_parts_of_a_picture_stand_out_from_what_is_behind_them(
    browser: Browser, saved: Save, scheme: str
) -> None:
    """WCAG 1.4.11: at least 3 to 1."""
    browser.open(saved(large()), scheme=scheme)
    ratios = browser.run(
        """
        const style = getComputedStyle(document.documentElement);
        const light = (name) => {
          const hex = style.getPropertyValue(name).trim().slice(1);
          const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
            .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        return arguments[0].flatMap((one) => ["--ground", "--track"].map((other) => {
          const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
          return (a + 0.05) / (b + 0.05);
        }));
        """,
        ["--fill-blue", "--kind-acls", "--kind-quotas", "--kind-tenants", "--kind-others"],
    )
    assert all(ratio >= 3 for ratio in ratios), ratios  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_no_text_of_a_picture_lies_on_another(browser: Browser, saved: Save, width: int) -> None:
    browser.open(saved(large()), width=width)
    laid = browser.run(
        """
        const found = [];
        for (const picture of document.querySelectorAll(".picture")) {
          const boxes = [...picture.querySelectorAll(
            "h2, p, .ticks li, .ends span, .bars .label, .bars .value, .legend li")]
            .filter((e) => !e.querySelector("span, p, li") || e.matches(".label, .value, li"))
            .map((e) => [e.textContent.trim(), e.getBoundingClientRect()])
            .filter(([text, box]) => text && box.width);
          for (const [i, [one, a]] of boxes.entries()) {
            for (const [other, b] of boxes.slice(i + 1)) {
              const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
              const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
              if (wide > 1 && high > 1) found.push([one, other]);
            }
          }
        }
        return found;
        """
    )
    assert laid == []


@pytest.mark.parametrize("width", [320, 1280])
def test_every_point_of_a_line_is_inside_its_picture(
    browser: Browser, saved: Save, width: int
) -> None:
    browser.open(saved(large()), width=width)
    outside = browser.run(
        """
        return [...document.querySelectorAll(".plot circle")].filter((e) => {
          const [dot, plot] = [e, e.closest("svg")].map((x) => x.getBoundingClientRect());
          return dot.left < plot.left || dot.right > plot.right
            || dot.top < plot.top || dot.bottom > plot.bottom;
        }).length;
        """
    )
    assert outside == 0
    drawn_over = browser.run(
        """
        return [...document.querySelectorAll(".plot .ticks li")].filter((e) => {
          const range = document.createRange();
          range.selectNodeContents(e);
          const plot = e.closest(".plot").querySelector("svg").getBoundingClientRect();
          return range.getBoundingClientRect().right > plot.left;
        }).length;
        """
    )
    assert drawn_over == 0
    assert browser.run("return document.querySelectorAll('.plot circle').length") == 3 * 14


def test_what_is_drawn_has_a_name_and_says_it_in_a_table_too(browser: Browser, saved: Save) -> None:
    browser.open(saved(large()))
    browser.run(_OPEN_ALL)
    named = browser.names_and_roles()
    for title in ("Drift over time", "Changes over time", "Denials over time"):
        assert any(role == "image" and name.startswith(title) for role, name in named), title
    for role, name in named:
        if role in ("image", "link", "region", "navigation", "button", "DisclosureTriangle"):
            assert name, role
    tables = browser.run(
        "return [...document.querySelectorAll('table')].map((e) => e.tHead.textContent)"
    )
    for heading in ("KindChanges", "RuleViolationsPlans with most", "MadePlansNo plan"):
        assert any(str(each).startswith(heading) for each in tables), tables  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FLEETS)
def test_headings_go_down_in_order(browser: Browser, saved: Save, name: str) -> None:
    browser.open(saved(FLEETS[name]()))
    found = browser.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((e) => +e.localName[1])"
    )
    steps = [int(str(level)) for level in found]  # type: ignore[attr-defined]
    assert steps[0] == 1
    assert steps.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(steps)), steps


@pytest.mark.parametrize("name", FLEETS)
def test_every_id_is_there_once_and_every_reference_leads_somewhere(
    browser: Browser, saved: Save, name: str
) -> None:
    browser.open(saved(FLEETS[name]()))
    broken = browser.run(
        """
        const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
        const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
        const named = [...document.querySelectorAll("[aria-labelledby],[aria-describedby]")]
          .flatMap((e) => ["aria-labelledby", "aria-describedby"]
            .flatMap((name) => (e.getAttribute(name) ?? "").split(" ").filter(Boolean)));
        const linked = [...document.querySelectorAll("a[href]")].map((e) => e.hash.slice(1));
        const painted = [...document.querySelectorAll("[class^=fill-]")]
          .map((e) => getComputedStyle(e).fill);
        const unpainted = painted.filter((fill) => fill === "rgb(0, 0, 0)");
        const patterns = painted.filter((fill) => fill.startsWith("url"))
          .map((fill) => fill.match(/#([^")]+)/)[1]);
        return [...twice, ...unpainted,
          ...[...named, ...linked, ...patterns].filter((id) => !ids.includes(id))];
        """
    )
    assert broken == []


def test_it_is_used_by_keyboard_alone(browser: Browser, saved: Save) -> None:
    """The link past the head, the parts of the page, and a table that opens."""
    browser.open(saved(large()))
    browser.press_tab()
    assert browser.text("a.skip") == "Skip to the content"
    browser.press(Keys.ENTER)
    assert browser.focused() == "main"
    for _ in range(40):
        browser.press_tab()
        if browser.run("return document.activeElement.matches('.line ~ details > summary')"):
            break
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press(Keys.ENTER)
    assert "2026-11-22T03:00:04Z" in browser.text(".line ~ details table")


def test_what_scrolls_can_be_scrolled_by_keyboard(browser: Browser, saved: Save) -> None:
    browser.open(saved(large()), width=320)
    browser.run(_OPEN_ALL)
    scrolling = browser.run(
        """
        return [...document.querySelectorAll("body *")].filter((e) => {
          const way = getComputedStyle(e);
          return ["auto", "scroll"].includes(way.overflowX) && e.scrollWidth > e.clientWidth
            || ["auto", "scroll"].includes(way.overflowY) && e.scrollHeight > e.clientHeight;
        }).filter((e) => e.className !== "scroll" || e.tabIndex !== 0).length;
        """
    )
    assert scrolling == 0


def test_nothing_is_told_by_colour_alone(browser: Browser, saved: Save) -> None:
    """Each part of a bar has its number in words, and its kind a pattern of its own."""
    kinds = {"Topic": 40, "Acl": 30, "ClientQuota": 20, "TopicLink": 10, "Broker": 5}
    browser.open(saved(a_history(a_run(replace(a_unit(), changes=kinds)))))
    words, parts = browser.run(
        """
        const row = document.querySelector("[aria-labelledby=clusters] .bars li");
        return [row.querySelector(".value").textContent,
          [...row.querySelectorAll("rect:not(.track)")].map((e) => getComputedStyle(e).fill)];
        """
    )  # type: ignore[misc]
    assert words == "40 topics, 30 ACLs, 20 quotas, 10 in virtual clusters, 5 other"
    assert len(set(parts)) == 5
    assert sum("url" in str(paint) for paint in parts) == 3


def test_it_prints(browser: Browser, saved: Save) -> None:
    browser.open(saved(large()))
    assert browser.printed().startswith(b"%PDF")


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_no_name_runs(browser: Browser, saved: Save, attack: str) -> None:
    browser.open(saved(poisoned_fleet(attack)))
    browser.run(_OPEN_ALL)
    assert browser.run("return window.__pwned") is None
    assert browser.run("return document.querySelectorAll('img, iframe, script').length") == 0
    assert browser.logged() == []
    assert {address.split(":")[0] for address in browser.requested()} == {"file"}


@pytest.mark.parametrize(
    "smuggled",
    [
        "<script>window.__pwned = 1</script>",
        "<img src=x onerror='window.__pwned = 1'>",
        "<style>body { display: none }</style>",
        "<img src='https://kgitops.invalid/x.png'>",
    ],
)
def test_what_was_smuggled_past_the_escaping_is_stopped_too(
    browser: Browser, tmp_path: Path, smuggled: str
) -> None:
    """The Content-Security-Policy is a second wall."""
    page = render_fleet_html(FLEETS["lone"]())
    assert page.count("<main") == 1
    file = tmp_path / "broken.html"
    file.write_text(page.replace("<main", f"{smuggled}<main"), encoding="utf-8")
    browser.open(file)
    assert browser.run("return window.__pwned") is None
    assert browser.text("h1")
    assert any("Content Security Policy" in line for line in browser.logged())
    assert not any("kgitops.invalid" in address for address in browser.requested())
