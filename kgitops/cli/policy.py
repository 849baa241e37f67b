"""``kgitops policy``: the project's policies, explained and tested."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import ListFormat, ListFormatOption, NoColor, ProjectOptions
from kgitops.cli.running.parameters import with_groups
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.verdict import ExitCode

if TYPE_CHECKING:
    from kgitops.workflow.policy_tests.report import PolicyTestReport

policy = typer.Typer(
    help="List, explain and test the project's policies, and audit a cluster by them.",
    add_completion=False,
    rich_markup_mode=None,
)

_DEFAULT_SCORE = 90.0


class TestFormat(StrEnum):
    """The forms of a test report."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


def _complete_policy(incomplete: str) -> list[str]:
    """The policies of the project in this folder that begin with ``incomplete``."""
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.policies import load_policies
    from kgitops.workflow.project.selection import open_workspace

    try:
        workspace = open_workspace(make_selection(ProjectOptions(), offline=True))
        policies = load_policies(workspace).policies
    except KgitopsError:
        policies = ()
    return [policy.name for policy in policies if policy.name.startswith(incomplete)]


@policy.command("list")
@with_groups
def list_policies(
    project: ProjectOptions,
    format_: ListFormatOption = ListFormat.TEXT,
    no_color: NoColor = False,
) -> None:
    """List the policies, and their levels on a cluster.

    Example: kgitops policy list examples/policies
    """
    import sys

    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result, wants_colour
    from kgitops.report.json.policies import policies_to_json
    from kgitops.report.text.policies import render_policies
    from kgitops.workflow.policy_descriptions import describe_policies
    from kgitops.workflow.project.selection import open_workspace

    descriptions = describe_policies(open_workspace(make_selection(project, offline=True)))
    if format_ is ListFormat.JSON:
        print_result(policies_to_json(descriptions))
    else:
        print_result(
            render_policies(descriptions, colour=wants_colour(sys.stdout, no_color=no_color))
        )


@policy.command()
@with_groups
def explain(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The policy's name.", autocompletion=_complete_policy),
    ],
    project: ProjectOptions,
    format_: ListFormatOption = ListFormat.TEXT,
    no_color: NoColor = False,
) -> None:
    """Explain one policy: what it says, where it holds, how to waive and test it.

    Example: kgitops policy explain min-insync examples/policies
    """
    import sys

    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result, wants_colour
    from kgitops.report.json.policies import policy_to_json
    from kgitops.report.text.policies import render_policy
    from kgitops.workflow.policy_descriptions import describe_policies, find_policy
    from kgitops.workflow.policy_tests.offered import offer_test
    from kgitops.workflow.project.selection import open_workspace

    descriptions = describe_policies(open_workspace(make_selection(project, offline=True)))
    description = find_policy(name, descriptions)
    if format_ is ListFormat.JSON:
        print_result(policy_to_json(description))
    else:
        test = offer_test(description.policy, description.judges)
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_policy(description, test, colour=colour))


@policy.command()
@with_groups
def audit(
    project: ProjectOptions,
    format_: ListFormatOption = ListFormat.TEXT,
    no_color: NoColor = False,
) -> int:
    """Show what the cluster holds today, declared or not, that breaks a policy.

    Each object is judged as if it were created now: topics, ACLs, members of virtual clusters and
    all others. Groups, brokers and other resources are judged only by their configs. Exit 3 if a
    policy would deny one.

    Example: kgitops policy audit examples/policies
    """
    import sys

    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_notice, print_result, wants_colour
    from kgitops.model.verdict import ExitCode
    from kgitops.report.json.policies import policy_audit_to_json
    from kgitops.report.text.policy_audit import render_policy_audit
    from kgitops.workflow.loading import loaded
    from kgitops.workflow.policy_audit import audit_policies
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(project))
    with (
        stages(no_color=no_color) as stage,
        loaded(workspace, stage) as declared,
        workspace.connected() as cluster,
    ):
        found = audit_policies(cluster, declared, workspace, stage)
    for reason in found.unread:
        print_notice(reason)
    if format_ is ListFormat.JSON:
        print_result(policy_audit_to_json(found))
    else:
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_policy_audit(found, colour=colour))
    return int(ExitCode.DENIED if found.denied else ExitCode.SUCCESS)


@policy.command("test")
@with_groups
def run_tests(
    project: ProjectOptions,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show which rules the tests saw deny and pass.")
    ] = False,
    least_covered: Annotated[
        float | None,
        typer.Option(
            "--min",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Exit 1 where less than this is covered.",
        ),
    ] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Put mistakes into the policies: do the tests notice?")
    ] = False,
    least_score: Annotated[
        float | None,
        typer.Option(
            "--min-score",
            metavar="PERCENT",
            min=0,
            max=100,
            help="With --mutate: exit 1 where fewer are noticed. Default: 90.",
        ),
    ] = None,
    format_: Annotated[
        TestFormat, typer.Option("--format", help="How to show what came of it.")
    ] = TestFormat.TEXT,
    no_color: NoColor = False,
) -> int:
    """Run the tests of the policies; exit 1 when one fails.

    No cluster is asked: each case says what it starts from.

    Example: kgitops policy test examples/policies --coverage
    """
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result
    from kgitops.workflow.policy_tests.testing import PolicyTestOptions, run_policy_tests
    from kgitops.workflow.project.selection import open_workspace

    if least_score is not None and not mutate:
        raise UsageError("--min-score is about mutants; add --mutate, or leave it out")
    wishes = PolicyTestOptions(
        coverage=coverage or least_covered is not None,
        least_covered=least_covered,
        mutate=mutate,
        least_score=_DEFAULT_SCORE if least_score is None else least_score,
    )
    workspace = open_workspace(make_selection(project, offline=True))
    with stages(no_color=no_color) as stage:
        report = run_policy_tests(workspace, wishes, stage)
    print_result(_render(report, format_, no_color=no_color))
    return int(ExitCode.SUCCESS if report.passed else ExitCode.ERROR)


def _render(report: "PolicyTestReport", format_: TestFormat, *, no_color: bool) -> str:
    import sys

    from kgitops.cli.running.streams import wants_colour

    match format_:
        case TestFormat.JSON:
            from kgitops.report.json.policies import policy_tests_to_json

            return policy_tests_to_json(report)
        case TestFormat.JUNIT:
            from kgitops.report.ci.junit import render_policy_tests_junit

            return render_policy_tests_junit(report)
        case TestFormat.TEXT:
            from kgitops.report.text.policy_tests import render_policy_tests

            colour = wants_colour(sys.stdout, no_color=no_color)
            return render_policy_tests(report, colour=colour)
