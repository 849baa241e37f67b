"""Who can't see colours, or sees nothing, reads the same page; checked in a real browser."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from report.html.browser import Browser
from report.html.large import large_plan
from report.html.test_html_charts import moving_plan
from report.plans import judged_plan, refused_plan, sealed, twelve_changes

from kgitops.plan.document.plan import Plan
from kgitops.report.html.render import render_html

Save = Callable[[Plan], Path]
PLANS = [judged_plan, twelve_changes, refused_plan, moving_plan]

# Every text against the ground behind it: WCAG 2.2, 1.4.3, at least 4.5 to 1 whatever its size.
CONTRAST = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => {
  const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    if (at.localName === "g") {
      return numbers(getComputedStyle(at.querySelector("rect")).fill);
    }
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) {
      if (colour.length === 4 && colour[3] < 1) throw new Error("half transparent ground");
      return colour;
    }
  }
  throw new Error("no ground");
};
const poor = new Set();
const pairs = new Set();
const look = (text, front, back, what) => {
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  pairs.add([front, back].join("|"));
  if (ratio < 4.5) poor.add(`${what} ${front} on ${back}: ${ratio} (${text.slice(0, 30)})`);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim();
  const element = walker.currentNode.parentElement;
  if (!text || ["SCRIPT", "STYLE", "title", "desc"].includes(element.nodeName)) continue;
  const style = getComputedStyle(element);
  const front = element.closest("svg") ? style.fill : style.color;
  look(text, numbers(front), ground(element), element.className.baseVal ?? element.className);
  if (Number(style.opacity) !== 1) poor.add("opacity " + element.className);
}
const query = document.getElementById("query");
if (query) {
  const paint = getComputedStyle(query, "::placeholder");
  look("placeholder", numbers(paint.color), ground(query), "placeholder");
}
return [pairs.size, [...poor]];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("plan", PLANS)
def test_every_text_stands_out_from_its_ground(
    browser: Browser, saved: Save, plan: Callable[[], Plan], scheme: str
) -> None:
    browser.open(saved(plan()), scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.run("document.querySelectorAll('#filter input').forEach((e) => { e.checked = true; })")
    pairs, poor = browser.run(CONTRAST)  # type: ignore[misc]
    assert poor == []
    assert pairs >= 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_and_pictures_stand_out_too(browser: Browser, saved: Save, scheme: str) -> None:
    """WCAG 1.4.11: at least 3 to 1 for what has to be seen to be used or understood."""
    browser.open(saved(judged_plan()), scheme=scheme)
    ratios = browser.run(
        """
        const style = getComputedStyle(document.documentElement);
        const pen = document.createElement("canvas").getContext("2d");
        const light = (name) => {
          pen.fillStyle = style.getPropertyValue(name);
          const hex = pen.fillStyle.slice(1);
          const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
            .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ratio = ([one, other]) => {
          const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
          return (a + 0.05) / (b + 0.05);
        };
        return arguments[0].map(ratio);
        """,
        [
            ["--muted", "--ground"],
            ["--focus", "--ground"],
            ["--fill-red", "--ground"],
            ["--fill-violet", "--ground"],
            ["--fill-green", "--ground"],
            ["--fill-blue", "--ground"],
            ["--fill-blue", "--track"],
        ],
    )
    assert all(ratio >= 3 for ratio in ratios), ratios  # type: ignore[attr-defined]


def test_landmarks_names_and_roles(browser: Browser, tmp_path: Path) -> None:
    """What Chromium tells a screen reader: everything that acts has a name, every part a role."""
    plan = large_plan(150)
    file = tmp_path / "plan.html"
    file.write_text(render_html(plan, sealed=sealed(plan)), encoding="utf-8")
    browser.open(file)
    found = browser.names_and_roles()
    roles = [role for role, _ in found]
    for landmark in ("banner", "main", "navigation", "complementary", "contentinfo", "search"):
        assert roles.count(landmark) == 1, landmark
    assert roles.count("status") == 1
    regions = [name for role, name in found if role == "region"]
    assert len(set(regions)) == len(regions)
    for role, name in found:
        if role in ("link", "button", "checkbox", "searchbox", "DisclosureTriangle", "image"):
            assert name.strip(), role
        if role in ("region", "img"):
            assert name.strip(), role
    assert ("searchbox", "Search changes by name, file or risk code") in found
    assert any(role == "checkbox" and name.startswith("data loss ") for role, name in found)
    # A graph is one picture with a name; the table beside it says the same.
    assert any(name.startswith("Dependency graph of ") for role, name in found if role == "image")
    assert browser.run("return document.documentElement.lang") == "en"
    assert str(browser.run("return document.title")).startswith("Denied by policy · local")


@pytest.mark.parametrize("plan", PLANS)
def test_headings_go_down_one_step_at_a_time(
    browser: Browser, saved: Save, plan: Callable[[], Plan]
) -> None:
    browser.open(saved(plan()))
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    levels = browser.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((e) => +e.localName[1])"
    )
    steps = [int(str(level)) for level in levels]  # type: ignore[attr-defined]
    assert steps[0] == 1
    assert steps.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(steps)), steps


def test_every_id_is_there_once_and_every_reference_leads_somewhere(
    browser: Browser, saved: Save
) -> None:
    browser.open(saved(judged_plan()))
    broken = browser.run(
        """
        const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
        const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
        const named = [...document.querySelectorAll("[aria-labelledby],[aria-describedby],[for]")]
          .flatMap((e) => ["aria-labelledby", "aria-describedby", "for"]
            .flatMap((name) => (e.getAttribute(name) ?? "").split(" ").filter(Boolean)));
        const linked = [...document.querySelectorAll("a[href]")].map((e) => e.hash.slice(1));
        const painted = [...document.querySelectorAll("[class^=fill-]")]
          .map((e) => getComputedStyle(e).fill).filter((fill) => fill.startsWith("url"))
          .map((fill) => fill.match(/#([^")]+)/)[1]);
        return [...twice, ...[...named, ...linked, ...painted].filter((id) => !ids.includes(id))];
        """
    )
    assert broken == []


def test_what_scrolls_can_be_scrolled_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    file.write_text(render_html(large_plan(150)), encoding="utf-8")
    browser.open(file, width=390)
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    scrolling = browser.run(
        """
        return [...document.querySelectorAll("body *")].filter((e) => {
          const way = getComputedStyle(e);
          return ["auto", "scroll"].includes(way.overflowX) && e.scrollWidth > e.clientWidth
            || ["auto", "scroll"].includes(way.overflowY) && e.scrollHeight > e.clientHeight;
        }).map((e) => [e.className, e.tabIndex]);
        """
    )
    assert scrolling == [["scroll", 0]]


def test_nothing_is_told_by_colour_alone(browser: Browser, saved: Save) -> None:
    """Each part of a bar has its number in words beside it, and a pattern or place of its own."""
    browser.open(saved(judged_plan()))
    bars = browser.run(
        """
        return [...document.querySelectorAll("[aria-labelledby=policies] .bars li")].map((e) => [
          e.querySelector(".value").textContent,
          e.querySelectorAll("svg rect:not(.track)").length,
        ]);
        """
    )
    assert bars
    for words, parts in bars:  # type: ignore[attr-defined]
        assert len(str(words).split(", ")) == parts
    paints = browser.run(
        "return [...document.querySelectorAll('.key rect')].map((e) => getComputedStyle(e).fill)"
    )
    assert sum("url" in str(paint) for paint in paints) >= 3  # type: ignore[attr-defined]
    for action in ("create", "update", "delete", "forget"):
        assert action in browser.text(f".act.{action}")
