"""Imports the modules of users' policies: from their project's folder first."""

import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

# What the project's folder brought into this process. A process judges for one project at a
# time: modules of the same name from another project's folder must not be mistaken for its own.
_brought: dict[str, set[str]] = {}


def import_from(folder: Path | None, module: str) -> ModuleType:
    """The module, looked for in ``folder`` first; it may also raise whatever its code raises.

    The folder stays on the import path, for what a policy imports when it is called. Nothing is
    written beside the user's files.
    """
    if folder is None:
        return importlib.import_module(module)
    place = str(folder.resolve())
    for other in [known for known in _brought if known != place]:
        _forget(other)
    if place not in sys.path:
        sys.path.insert(0, place)
    before = set(sys.modules)
    importlib.invalidate_caches()
    try:
        with _writing_no_bytecode():
            return importlib.import_module(module)
    finally:
        new = set(sys.modules) - before
        _brought.setdefault(place, set()).update(name for name in new if _stands_in(place, name))


def line_of(error: BaseException, folder: Path | None) -> str | None:
    """``policies/naming.py line 7``: where the user's code raised it, None if not in ``folder``."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename, folder)} line {error.lineno or 1}"
    if folder is None:
        return None
    for frame in reversed(frames):
        if Path(frame.filename).is_relative_to(folder.resolve()):
            return f"{_short(frame.filename, folder)} line {frame.lineno}"
    return None


def _short(file: str, folder: Path | None) -> str:
    path = Path(file)
    if folder is not None and path.is_relative_to(folder.resolve()):
        return str(path.relative_to(folder.resolve()))
    return file


def _forget(place: str) -> None:
    for name in _brought.pop(place):
        sys.modules.pop(name, None)
    if place in sys.path:
        sys.path.remove(place)


def _stands_in(place: str, name: str) -> bool:
    """Whether the module's topmost package stands in that folder itself, not deeper."""
    top = sys.modules.get(name.partition(".")[0])
    if top is None or top.__name__ == "kgitops":
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
