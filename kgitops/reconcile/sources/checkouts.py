"""Folders with the files of one revision each, which appear whole or not at all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from kgitops.model.errors import SafetyError

_NEW = ".new-"


class Checkouts:
    """The folders of revisions below ``folder``, which nobody else writes to."""

    def __init__(self, folder: Path) -> None:
        """Keep where they are."""
        self._folder = folder

    def prepare(self) -> None:
        """Begin with none: what an earlier process left may be incomplete."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def add(self, name: str, write: Callable[[Path], None]) -> Path:
        """The folder of the revision called ``name``, filled by ``write`` if it is new.

        Raises:
            SafetyError: it has links that lead out of it.
        """
        ready = self._folder / name
        if ready.exists():
            return ready
        new = self._folder / f"{_NEW}{name}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            new.mkdir()
            write(new)
            _check_links(new)
            new.rename(ready)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return ready

    def retain(self, names: frozenset[str]) -> None:
        """Remove the folders of all other revisions."""
        for folder in self._folder.iterdir():
            if folder.name not in names and not folder.name.startswith(_NEW):
                shutil.rmtree(folder, ignore_errors=True)


def _check_links(folder: Path) -> None:
    top = os.path.realpath(folder)
    for place, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(place) / name
            if not path.is_symlink():
                continue
            target = os.path.realpath(path)
            if target != top and not target.startswith(top + os.sep):
                raise SafetyError(
                    f"{path.relative_to(top)} links to {path.readlink()}, out of the repository; "
                    "nothing of this revision is planned until the link is removed"
                )
