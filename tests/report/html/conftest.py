"""One browser for all tests of the page, in one process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from report.plans import sealed

from kgitops.plan.document.plan import Plan
from kgitops.report.html.render import render_html

if TYPE_CHECKING:
    from report.html.browser import Browser


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Started once."""
    from report.html.browser import chromium

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
