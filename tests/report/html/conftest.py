"""One browser for all tests of the page, in one process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from report.html.browser import Browser, chromium
from report.plans import sealed

from kgitops.plan.document.plan import Plan
from kgitops.report.html import render_html


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Started once; tests that use it bear the group ``chromium``."""
    with chromium() as started:
        yield started


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Plan], Path]:
    """A plan's page on disk."""

    def save(plan: Plan) -> Path:
        file = tmp_path / "plan.html"
        file.write_text(render_html(plan, sealed=sealed(plan)), encoding="utf-8")
        return file

    return save


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who uses the browser runs where it is."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("chromium"))
