"""``kgitops validate``: the manifests alone, no cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import ClusterName, FindingsFormat, NoColor, Paths, VariablesOf

if TYPE_CHECKING:
    from kgitops.workflow.validating import Validation


def validate(
    paths: Paths = None,
    cluster: ClusterName = None,
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
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.model.verdict import ExitCode
    from kgitops.workflow.validating import validate_manifests

    selection = make_selection(paths, cluster, variables_of=variables_of)
    with stages(no_color=no_color) as stage:
        found = validate_manifests(selection, stage)
    match format_:
        case FindingsFormat.TEXT:
            _tell(found)
        case FindingsFormat.JSON:
            from kgitops.model.json.layout import json_text
            from kgitops.report.json.findings import findings_json

            print_result(json_text(findings_json(found.findings, found.counts, found.left)))
        case FindingsFormat.GITHUB:
            from kgitops.report.ci.github import render_github_findings

            print_result(render_github_findings(found.findings, _sentence(found)))
        case FindingsFormat.SARIF:
            from kgitops.report.ci.sarif import render_sarif_findings

            print_result(render_sarif_findings(found.findings, left=found.left))
    return int(ExitCode.SUCCESS if found.valid else ExitCode.ERROR)


def _tell(found: "Validation") -> None:
    """Errors, warnings and what was left on stderr; what is valid on stdout."""
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.report.text.findings import render_findings

    if not found.valid:
        print_notice(render_findings(found.findings).removesuffix("\n"))
    else:
        for warning in found.findings:
            print_notice(str(warning))
    for cluster, why in found.left.items():
        print_notice(f"{cluster} was not looked at: {why}")
    if found.valid:
        print_result(_sentence(found))


def _sentence(found: "Validation") -> str:
    """``Valid: 3 topics, …``, by cluster where the project has several."""
    from kgitops.model.wording import counted

    if not found.valid:
        return ""
    told: dict[str, list[str]] = {}
    for cluster, counts in found.counts.items():
        words = ", ".join(
            counted(count, _singular(name)) for name, count in counts.items() if count
        )
        told.setdefault(words or "nothing is declared", []).append(cluster)
    if len(found.counts) == 1:
        return f"Valid: {next(iter(told))}."
    return "\n".join(f"Valid on {', '.join(names)}: {words}." for words, names in told.items())


def _singular(name: str) -> str:
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")
