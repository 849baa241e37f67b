"""The catalogue in a real browser: searched, without errors, without the network."""

from pathlib import Path

import pytest
from report.html.browser import Browser
from selenium.webdriver.common.by import By

from kgitops.report.catalogue.content import catalogue_of
from kgitops.report.catalogue.page import render_catalogue
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    selection = Selection(paths=(EXAMPLES / "virtual-clusters",), offline=True)
    workspace = open_workspace(selection)
    with loaded(workspace) as everything:
        found = catalogue_of(everything.desired, workspace.target_name)
    file = tmp_path / "index.html"
    file.write_text(render_catalogue(found), encoding="utf-8")
    return file


def shown(browser: Browser) -> list[str]:
    names = browser.driver.find_elements(By.CSS_SELECTOR, ".entry:not([hidden]) h3")
    return [name.text for name in names]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (390, 844)])
def test_it_is_seen_without_errors_or_the_network(
    browser: Browser, page: Path, scheme: str, width: int, height: int
) -> None:
    browser.open(page, width=width, height=height, scheme=scheme)
    assert browser.logged() == []
    assert {address.split(":")[0] for address in browser.requested()} == {"file"}
    assert browser.overflow() == 0
    colours, _ = browser.colours()
    assert colours > 5
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "svg.tenants")) == 1
    assert "emea.sales/Orders" in shown(browser)


def test_who_reads_a_topic_by_a_link_is_told(browser: Browser, page: Path) -> None:
    browser.open(page)
    (entry,) = [
        item
        for item in browser.driver.find_elements(By.CSS_SELECTOR, ".entry")
        if item.text.startswith("emea.sales/Orders")
    ]
    assert "User:ana-reader (as analytics/sales.orders)" in entry.text


def test_it_is_searched_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    everything = shown(browser)
    browser.driver.find_element(By.ID, "query").send_keys("ana-reader topic")
    assert browser.after_frames("0") == 0
    found = shown(browser)
    assert 0 < len(found) < len(everything)
    assert "User:sales-admin" not in found
    assert browser.text("#status") == f"{len(found)} of {len(everything)} shown"
    browser.driver.find_element(By.ID, "query").send_keys(" nothing-has-this")
    assert shown(browser) == []


def test_a_label_s_button_shows_what_has_this_label(tmp_path: Path, browser: Browser) -> None:
    documents = "---\n".join(
        "apiVersion: kgitops/v1\nkind: Topic\n"
        f"metadata: {{name: {name}, labels: {{team: {team}}}}}\n"
        "spec: {partitions: 1, replicationFactor: 1}\n"
        for name, team in (("a", "pay"), ("b", "payments"), ("c", "pay, roll"))
    ).replace("team: pay, roll", "team: 'pay, roll'")
    (tmp_path / "a.yaml").write_text(documents)
    selection = Selection(paths=(tmp_path / "a.yaml",), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        found = catalogue_of(everything.desired, "local")
    file = tmp_path / "index.html"
    file.write_text(render_catalogue(found), encoding="utf-8")
    browser.open(file)
    chips = browser.driver.find_elements(By.CSS_SELECTOR, ".chip")
    for chip, expected in zip(chips, (["a"], ["c"], ["b"]), strict=True):
        chip.click()
        assert shown(browser) == expected
    browser.driver.find_element(By.ID, "query").clear()
    browser.driver.find_element(By.ID, "query").send_keys("team=pay")
    assert browser.after_frames("0") == 0
    assert shown(browser) == ["a", "b", "c"]


def test_names_are_never_markup(tmp_path: Path, browser: Browser) -> None:
    project = tmp_path / "p"
    (project / "manifests").mkdir(parents=True)
    (project / "kgitops.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: p, "
        "uid: 5b7a2a8e-0c1d-4f6e-9a57-2f8f6f1f9d13}\n"
        "spec: {manifests: [manifests], clusters: {local: {url: 'embedded:'}}}\n"
    )
    (project / "manifests/a.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Topic\n"
        "metadata: {name: a, labels: {team: '<img src=x onerror=alert(1)>\"'}}\n"
        "spec: {partitions: 1, replicationFactor: 1}\n---\n"
        "apiVersion: kgitops/v1\nkind: Acl\nmetadata: {name: b}\n"
        "spec: {principal: 'User:<script>alert(1)</script>', role: producer, topics: [a]}\n"
    )
    with loaded(open_workspace(Selection(paths=(project,), offline=True))) as everything:
        found = catalogue_of(everything.desired, "local")
    file = tmp_path / "index.html"
    file.write_text(render_catalogue(found), encoding="utf-8")
    browser.open(file)
    assert browser.logged() == []
    assert not browser.driver.find_elements(By.CSS_SELECTOR, "img")
    assert "User:<script>alert(1)</script>" in shown(browser)
