"""The arguments and options that several commands share, spelt and explained once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.completion import complete_cluster


class Format(StrEnum):
    """How a plan is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


class FindingsFormat(StrEnum):
    """How findings are shown."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


class EventFormat(StrEnum):
    """How an apply tells what it does."""

    TEXT = "text"
    JSON = "json"


Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATH",
        help="Project folder, or manifest files and folders. Default: KGITOPS_PROJECT, or here.",
        show_default=False,
    ),
]
ClusterName = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="NAME|URL",
        help="A cluster of the project file, or a URL such as embedded:FILE. Else KGITOPS_CLUSTER.",
        autocompletion=complete_cluster,
        show_default=False,
    ),
]
VariablesOf = Annotated[
    str | None,
    typer.Option(
        "--variables-of",
        metavar="NAME",
        help="For a cluster given by URL: take the variables of this one of the project.",
        autocompletion=complete_cluster,
        show_default=False,
    ),
]
Principal = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="PRINCIPAL",
        help="Who the requests are made as, such as User:kgitops.",
        show_default=False,
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="ADDRESS",
        help="Plan only this object, such as topic/orders. May be repeated.",
        show_default=False,
    ),
]
Excludes = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="ADDRESS",
        help="Leave this object out. May be repeated.",
        show_default=False,
    ),
]
Selecting = Annotated[
    list[str] | None,
    typer.Option(
        "--selector",
        "-l",
        metavar="LABELS",
        help="Plan only what has these labels, such as team=payments,env!=prod.",
        show_default=False,
    ),
]
AllowDeletes = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-deletes",
        metavar="KIND=N",
        help="Let this plan delete up to N objects of a kind, past the safety limits.",
        show_default=False,
    ),
]


class FailOn(StrEnum):
    """How badly something is kept, from the mildest grade on."""

    SNAPSHOT = "SNAPSHOT"
    APPROX = "APPROX"
    CLIENT = "CLIENT"
    NONE = "NONE"


FailOnGrade = Annotated[
    FailOn | None,
    typer.Option(
        "--fail-on",
        case_sensitive=False,
        help="Deny the plan where Kafka keeps virtual clusters this badly, or worse.",
        show_default=False,
    ),
]
PlanFormat = Annotated[Format, typer.Option("--format", help="How to show the plan.")]
DetailedExitcode = Annotated[
    bool,
    typer.Option("--detailed-exitcode", help="Exit 2 instead of 0 when there are changes."),
]
Full = Annotated[bool, typer.Option("--full", help="Show every change and request, fold nothing.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour, also on a terminal.")]
