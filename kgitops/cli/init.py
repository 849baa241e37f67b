"""``kgitops init``: a new project."""

from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where. Default: this folder.")
    ] = Path(),
) -> None:
    """Start a new project.

    Writes a project file, an example manifest, a few policies with their tests, and a CI
    workflow; overwrites nothing.

    Example: kgitops init payments
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.workflow.project.new_project import create_project

    written = create_project(folder)
    print_result("\n".join(f"wrote {path}" for path in written))
    here = "" if folder == Path() else f" {folder}"
    print_result(f"\nnext: kgitops plan{here}")
