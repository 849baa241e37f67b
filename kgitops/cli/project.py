"""``kgitops init``, ``validate`` and ``schema``: the commands that need no cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import FindingsFormat, NoColor, ProjectOptions, VariablesOf
from kgitops.cli.running.parameters import with_groups

if TYPE_CHECKING:
    from kgitops.workflow.loading import ManifestValidation


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
    from kgitops.cli.running.streams import print_sentence
    from kgitops.workflow.project.new_project import create_project

    files = create_project(folder)
    print_sentence("\n".join(f"wrote {path}" for path in files))
    here = "" if folder == Path() else f" {folder}"
    print_sentence(f"\nnext: kgitops plan{here}")


@with_groups
def validate(
    project: ProjectOptions,
    format_: Annotated[
        FindingsFormat, typer.Option("--format", help="How to show the findings.")
    ] = FindingsFormat.TEXT,
    variables_of: VariablesOf = None,
    no_color: NoColor = False,
) -> int:
    """Check manifests without a cluster, for every cluster of the project.

    Schema, references, duplicates, Kafka's own rules, and whether the policies can be loaded; each
    finding at FILE:LINE:COLUMN. What policies say of a change depends on the cluster: see plan.

    Example: kgitops validate examples/quickstart
    """
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result
    from kgitops.model.verdict import ExitCode
    from kgitops.workflow.loading import validate_manifests

    selection = make_selection(project, variables_of=variables_of)
    with stages(no_color=no_color) as stage:
        validation = validate_manifests(selection, stage)
    match format_:
        case FindingsFormat.TEXT:
            _print_validation(validation)
        case FindingsFormat.JSON:
            from kgitops.model.json.layout import json_text
            from kgitops.report.json.plans import findings_json

            print_result(
                json_text(findings_json(validation.findings, validation.counts, validation.skipped))
            )
        case FindingsFormat.GITHUB:
            from kgitops.report.ci.github import render_github_findings

            print_result(render_github_findings(validation.findings, _valid_sentence(validation)))
        case FindingsFormat.SARIF:
            from kgitops.report.ci.sarif import render_sarif_findings

            print_result(render_sarif_findings(validation.findings, left=validation.skipped))
    return int(ExitCode.SUCCESS if validation.valid else ExitCode.ERROR)


def _print_validation(validation: "ManifestValidation") -> None:
    """Print errors, warnings and skipped clusters to stderr, and what is valid to stdout."""
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.report.text.listings import render_findings
    from kgitops.workflow.loading import NOT_ASKED_FOR

    if not validation.valid:
        print_notice(render_findings(validation.findings).removesuffix("\n"))
    else:
        for warning in validation.findings:
            print_notice(str(warning))
    for cluster, why in validation.skipped.items():
        if why != NOT_ASKED_FOR:
            print_notice(f"{cluster} was not looked at: {why}")
    if validation.valid:
        print_sentence(_valid_sentence(validation))


def _valid_sentence(validation: "ManifestValidation") -> str:
    """``Valid: 3 topics, …``, by cluster where the project has several."""
    if not validation.valid:
        return ""
    clusters: dict[str, list[str]] = {}
    for cluster, counts in validation.counts.items():
        objects = ", ".join(
            f"{count:,} {_singular(name) if count == 1 else name}"
            for name, count in counts.items()
            if count
        )
        clusters.setdefault(objects or "nothing is declared", []).append(cluster)
    if len(validation.counts) == 1:
        return f"Valid: {next(iter(clusters))}."
    return "\n".join(
        f"Valid on {', '.join(names)}: {objects}." for objects, names in clusters.items()
    )


def _singular(name: str) -> str:
    if name.endswith("metrics"):
        return name
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def _complete_kind(incomplete: str) -> list[str]:
    """The kinds of document that begin with ``incomplete``."""
    from kgitops.manifests.kind_models import DOCUMENT_KINDS

    return [kind for kind in DOCUMENT_KINDS if kind.startswith(incomplete)]


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND", help="One kind, such as Topic.", autocompletion=_complete_kind
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Write the schemas of all kinds and of plans as files into this folder.",
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind, or of all; or write every schema as a file.

    Example: kgitops schema Topic
    """
    import json

    from kgitops.cli.running.streams import print_result, print_sentence
    from kgitops.manifests.schema import build_schema

    name = None if kind is None else _kind_named(kind)
    if out is not None:
        print_sentence("\n".join(map(str, _write_schemas(out, name))))
        return
    print_result(json.dumps(build_schema(name), indent=2, ensure_ascii=False))


def _write_schemas(folder: Path, kind: str | None) -> list[Path]:
    """Write the schema of ``kind``, or all of them, into a folder, which is created; the files.

    Raises:
        KgitopsError: a file can't be written.
    """
    from kgitops.manifests.schema import schema_files
    from kgitops.model.errors import KgitopsError
    from kgitops.report.json.plan_schema import plan_schema_text

    every = {**schema_files(), "plan.schema.json": plan_schema_text()}
    chosen = every if kind is None else {f"{kind}.schema.json": every[f"{kind}.schema.json"]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in chosen.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KgitopsError(
            f"-o {folder} can't be written: {reason}; name another folder"
        ) from error
    return [folder / name for name in chosen]


def _kind_named(name: str) -> str:
    """The kind of this name, in any case of its letters.

    Raises:
        UsageError: there is no such kind.
    """
    from kgitops.manifests.kind_models import DOCUMENT_KINDS
    from kgitops.model.errors import UsageError
    from kgitops.model.wording import nearest

    by_lower = {kind.lower(): kind for kind in DOCUMENT_KINDS}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    near = nearest(name, DOCUMENT_KINDS)
    advice = f"did you mean {near}?" if near else f"there are {', '.join(DOCUMENT_KINDS)}"
    raise UsageError(f"no kind of document is called {name!r}; {advice}")
