"""One browser for the tests of a fleet's page."""

from collections.abc import Iterator

import pytest
from report.html.browser import Browser, chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Started once; the module that uses it bears the group ``chromium``."""
    with chromium() as started:
        yield started
