"""``kgitops convert``: the files of another tool as a project."""

import os
from pathlib import Path
from typing import Annotated

import typer


def convert(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The other tool's folder or file.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder.")],
    tool: Annotated[
        str, typer.Option("--from", metavar="TOOL", help="The tool; auto looks at the files.")
    ] = "auto",
    var_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--var-file",
            metavar="FILE",
            help="Values of Terraform's variables; may be repeated, and later files win.",
        ),
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact/--no-compact",
            help="Make profiles and defaults of what topics repeat, and lists of documents.",
        ),
    ] = True,
    allow_losses: Annotated[
        bool,
        typer.Option("--allow-losses", help="Write it without what has no counterpart."),
    ] = False,
) -> int:
    """Write a project that declares what another tool's files declare.

    No cluster is asked. What has no counterpart is told at FILE:LINE, and nothing is written unless
    --allow-losses is given; then it stands in DIR/CONVERTED.md, and as a comment where it was.
    Terraform's variables take their values as in Terraform: TF_VAR_NAME, *.tfvars, --var-file.

    Example: kgitops convert --from strimzi examples/convert/strimzi -o kafka
    """
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.conversion.converting import convert as convert_files
    from kgitops.conversion.reading.folder import find_inputs
    from kgitops.conversion.tools.table import AUTO, TOOLS
    from kgitops.conversion.writing.project import put_project
    from kgitops.model.errors import FindingsError, UsageError
    from kgitops.model.verdict import ExitCode
    from kgitops.model.wording import counted, nearest
    from kgitops.report.conversion import converted_page, render_conversion
    from kgitops.workflow.export.files import check_folder

    if tool != AUTO and tool not in TOOLS:
        near = nearest(tool, list(TOOLS))
        names = ", ".join((*TOOLS, AUTO))
        advice = f"did you mean {near}?" if near else f"write one of {names}"
        raise UsageError(f"--from {tool}: there is no such tool; {advice}")
    check_folder(out)
    project = convert_files(
        path,
        tool,
        out.absolute().name,
        compacted=compact,
        inputs=find_inputs(var_files or (), os.environ),
    )
    if not project.conversion.objects and not project.findings:
        used = project.conversion.tool
        raise UsageError(f"{path} has nothing of {used}; name the folder or file with it")
    losses = [loss.finding() for loss in project.conversion.losses]
    stopping = [*project.findings, *(() if allow_losses else losses)]
    if stopping:
        raise FindingsError(stopping)
    for loss in losses:
        print_notice(" ".join(f"not converted: {loss}".splitlines()))
    put_project({**project.files, "CONVERTED.md": converted_page(project.conversion)}, out)
    print_sentence(
        f"{render_conversion(project.conversion)}\n"
        f"Wrote {counted(len(project.files) + 1, 'file')} to {out}; next: kgitops plan {out}"
    )
    return int(ExitCode.SUCCESS)
