"""Imports the modules of users' policies, and describes what they raise."""

import importlib
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

# The projects' folders, and the modules that were there before them. A process judges for one
# project at a time: modules from another project's folder must not be taken for its own.
_folders: dict[str, frozenset[str]] = {}


def import_from(folder: Path | None, module: str) -> ModuleType:
    """Import the module, from ``folder`` first; exceptions of its code come out.

    The folder stays on the import path, for imports when a policy is called. Nothing is written
    next to the user's files.
    """
    if folder is None:
        return importlib.import_module(module)
    place = str(folder.resolve())
    for other in [folder for folder in _folders if folder != place]:
        _forget(other)
    if place not in _folders:
        _folders[place] = frozenset(sys.modules)
        sys.path.insert(0, place)
    importlib.invalidate_caches()
    with _writing_no_bytecode():
        return importlib.import_module(module)


def line_of(error: BaseException) -> str | None:
    """The last of the project's lines that led to the error, as ``policies/naming.py line 7``.

    None where none of them did.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename) or error.filename} line {error.lineno or 1}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        short = _short(frame.filename)
        if short:
            return f"{short} line {frame.lineno}"
    return None


def _short(file: str) -> str | None:
    """The file relative to the project's folder; None outside, and among installed packages."""
    for place in _folders:
        path = Path(file)
        if path.is_relative_to(place) and "site-packages" not in path.parts:
            return str(path.relative_to(place))
    return None


def _forget(place: str) -> None:
    before = _folders.pop(place)
    for name in [name for name in sys.modules if name not in before and _stands_in(place, name)]:
        del sys.modules[name]
    with suppress(ValueError):  # a policy may have taken it from the path
        sys.path.remove(place)


def _stands_in(place: str, name: str) -> bool:
    """Return whether the module's topmost package is in that folder itself, not deeper."""
    top = sys.modules.get(name.partition(".")[0])
    if top is None or name.startswith("kgitops."):
        return False
    paths = [*getattr(top, "__path__", ()), getattr(top, "__file__", None) or ""]
    return any(Path(path).parent == Path(place) for path in paths if path)


@contextmanager
def _writing_no_bytecode() -> Iterator[None]:
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


MOST_CHARACTERS = 4_000
"""A longer message is truncated."""


def describe_exception(error: BaseException) -> str:
    """Describe an exception as ``KeyError: 'x' at policies/naming.py line 7``."""
    name = type(error).__name__
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException:  # noqa: BLE001 (its __str__ is the policy's code, too)
        message = "(its message can't be read)"
    line = line_of(error)
    return truncate(f"{name}: {message}" if message else name) + (f" at {line}" if line else "")


def truncate(text: str) -> str:
    """The text, without its end where it is too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters)"


def is_interrupt(error: BaseException) -> bool:
    """True if a person asks this process to stop, which is impossible where Ctrl-C is ignored."""
    return (
        isinstance(error, KeyboardInterrupt)
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
