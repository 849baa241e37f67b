"""The browser that all pages share."""

from report.html.conftest import browser

__all__ = ["browser"]
