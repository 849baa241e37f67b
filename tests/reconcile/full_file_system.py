"""A file system of a few hundred kilobytes, which a test fills: a tmpfs that only one process sees.

It is in a mount namespace of that process, so nobody needs to be root, and nothing is left behind.
"""

import subprocess
from pathlib import Path

SCRIPT = 'mount -t tmpfs -o size="$1" tmpfs "$2"; shift 2; exec "$@"'
"""Run by ``sh -e``."""


class SmallFileSystem:
    """The process that has it, and its files as this process sees them."""

    def __init__(self, folder: Path, size: str, *command: object, **popen: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        own = ["unshare", "--user", "--map-root-user", "--mount"]
        subprocess.run([*own, "true"], check=True)  # else a machine forbids it, which must be seen
        words = [*own, "sh", "-ec", SCRIPT, "sh", size, str(folder), *map(str, command)]
        self.process = subprocess.Popen(words, **popen)  # type: ignore[call-overload]

    def path(self, name: str) -> Path:
        """A file of it."""
        return Path(f"/proc/{self.process.pid}/root{self._folder}") / name

    def fill(self, *, but: int = 0) -> None:
        """Write a file until there is no room for a byte, or only for so many."""
        with self.path("ballast").open("ab", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while ballast.write(b"\0" * size) == size:
                        pass
                except OSError:
                    continue
            ballast.truncate(ballast.tell() - but)

    def make_room(self) -> None:
        """Take that file away again."""
        self.path("ballast").unlink()

    def __enter__(self) -> "SmallFileSystem":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
