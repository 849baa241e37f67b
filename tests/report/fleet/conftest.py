"""One browser for the tests of a fleet's page."""

from report.html.conftest import browser

__all__ = ["browser"]
