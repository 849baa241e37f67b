"""Whether the PATHs of a command line can be meant at all."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgitops.model.errors import UsageError
from kgitops.workflow.project.project_root import holds_project


def check_paths(
    desired: Sequence[Path], state: Sequence[Path], policies: Sequence[Path], out: Path
) -> None:
    """Refuse what is not there, and a result that the next run would read as its own input.

    Raises:
        UsageError: a PATH does not exist, or ``out`` lies in one.
    """
    check_there((*desired, *state, *policies))
    result = Path(os.path.realpath(out))
    # Of a project only its manifests are read.
    for path in (*(path for path in desired if not holds_project(path)), *state):
        if result.is_relative_to(os.path.realpath(path)):
            raise UsageError(f"--out {out} lies in {path}, which is read; name a folder beside it")


def check_there(paths: Iterable[Path]) -> None:
    """Refuse what is not there.

    Raises:
        UsageError: a PATH does not exist.
    """
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110 (a link in a circle is no error there)
            raise UsageError(f"{path} does not exist; correct the path")
