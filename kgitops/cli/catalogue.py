"""``kgitops catalogue``: a page of what is declared."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ProjectOptions
from kgitops.cli.running.parameters import with_groups


@with_groups
def catalogue(
    project: ProjectOptions,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder.")],
) -> int:
    """Write a page of what is declared.

    Topics with their owners and labels, who may read and write each by the declared ACLs, quotas,
    virtual clusters as a picture; searchable, in one file. No cluster is asked.

    Example: kgitops catalogue examples/profiles -o catalogue
    """
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_sentence
    from kgitops.conversion.writing.project import put_project
    from kgitops.model.verdict import ExitCode
    from kgitops.report.catalogue.content import catalogue_of
    from kgitops.report.catalogue.page import render_catalogue
    from kgitops.workflow.export.files import check_folder
    from kgitops.workflow.loading import loaded
    from kgitops.workflow.project.selection import open_workspace

    check_folder(out)
    workspace = open_workspace(make_selection(project, offline=True))
    with loaded(workspace) as everything:
        found = catalogue_of(everything.desired, workspace.target_name)
    put_project({"index.html": render_catalogue(found)}, out)
    print_sentence(f"Wrote {out / 'index.html'}: {found.summary}.")
    return int(ExitCode.SUCCESS)
