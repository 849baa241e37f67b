"""Packages and programs that tests need and this machine lacks; imports none of them."""

import os
import re
import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path

TESTS = Path(__file__).parent
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)
_NAME = re.compile(r"\w+")
PACKAGES = {
    "spark": ("pandas", "pyspark"),
    "browser": ("selenium",),
    "lint": ("check_jsonschema", "mypy"),
}
"""By tier, the packages that are not in the group ``test``; ``uv sync --all-groups`` has them."""
BROWSERS = (
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "chromium",
)
DRIVER = "chromedriver"
BASH = shutil.which("bash") or "/bin/bash"
"""Runs the steps of workflows: there on every machine, on the path or not."""
INSIST = "KGITOPS_TEST_BROWSER"
"""Set to ``required``, as .ci/run does, it makes a missing browser an error."""


@cache
def missing_packages() -> tuple[str, ...]:
    """The packages of all tiers that are not installed."""
    names = sorted(name for packages in PACKAGES.values() for name in packages)
    return tuple(name for name in names if find_spec(name) is None)


def can_not_run(tier: str) -> bool:
    """It needs a package that is not installed, or a browser where there is none."""
    lacks = not set(missing_packages()).isdisjoint(PACKAGES.get(tier, ()))
    return lacks or (tier == "browser" and missing_browser() != "")


def lacks_packages(path: Path) -> bool:
    """A test file that can't be imported here: it, or what it imports, needs such a package."""
    missing = missing_packages()
    return bool(missing) and not _imports(path).isdisjoint(missing)


def _imports(path: Path) -> frozenset[str]:
    """The packages that importing a test file imports, through the tests' helpers too."""
    seen: set[Path] = set()
    todo, packages = [path], set[str]()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            names, helpers = _imported_by(file)
            packages |= names
            todo += helpers
    return frozenset(packages)


@cache
def _imported_by(file: Path) -> tuple[frozenset[str], tuple[Path, ...]]:
    """The packages and the helpers in the import statements at the top level of a file."""
    modules: set[str] = set()
    for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
        modules |= {module, *(f"{module}.{name}" for name in _NAME.findall(names))}
    helpers = (TESTS / f"{module.replace('.', '/')}.py" for module in modules)
    return frozenset(module.partition(".")[0] for module in modules), tuple(
        helper for helper in helpers if helper.is_file()
    )


def missing_browser() -> str:
    """A sentence about the browser that is missing; empty where there is one, or must be."""
    if os.environ.get(INSIST) == "required" or (found(BROWSERS) and found_driver()):
        return ""
    return (
        "there is no Chrome and driver here: install Debian's chromium and chromium-driver, or set "
        "CHROMEWEBDRIVER to the folder of a driver"
    )


def found_driver() -> str | None:
    """The driver of the browser, on the path or in the folder that is named for it."""
    return found((DRIVER,), os.environ.get("CHROMEWEBDRIVER"))


def found(names: tuple[str, ...], folder: str | None = None) -> str | None:
    """Where the first of these programs is; in ``folder`` too, if there is one."""
    paths = (shutil.which(name) or (folder and shutil.which(name, path=folder)) for name in names)
    return next(filter(None, paths), None)
