"""Reads the commit of the manifests, if they are in a git work tree."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def read_git(folder: Path, sources: Iterable[Path]) -> tuple[str | None, bool]:
    """The commit of ``folder``, and true if anything in ``sources`` differs from it."""
    git = shutil.which("git")
    if git is None:
        return None, False
    sha = _ask(git, folder, "rev-parse", "HEAD")
    if not sha:
        return None, False
    paths = [os.path.abspath(path) for path in sources]  # noqa: PTH100 (links stay links)
    status = _ask(git, folder, "status", "--porcelain", "--", *paths)
    return sha, status != ""


def _ask(git: str, folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 (git itself, found on the path)
            [git, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
