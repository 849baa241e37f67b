"""The arguments and options that several commands share, each declared once.

Those that belong together are a dataclass, which a command takes as one parameter
(:func:`kgitops.cli.running.parameters.with_groups`).
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from kgitops.model.errors import KgitopsError


class Format(StrEnum):
    """The forms of a plan."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


class ListFormat(StrEnum):
    """The forms of a list of policies, or of an audit."""

    TEXT = "text"
    JSON = "json"


class FindingsFormat(StrEnum):
    """The forms of findings about manifests."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


class EventFormat(StrEnum):
    """The forms of an apply's events."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """The grades of lowering that a plan can be denied for, from the mildest on."""

    SNAPSHOT = "SNAPSHOT"
    APPROX = "APPROX"
    CLIENT = "CLIENT"
    NONE = "NONE"


def complete_cluster(incomplete: str) -> list[str]:
    """The clusters of the project in this folder that begin with ``incomplete``."""
    from kgitops.manifests.project_file import load_project

    try:
        names = load_project(Path(), env=os.environ).cluster_names
    except KgitopsError:
        names = ()
    return [name for name in (*names, "embedded:", "sandbox:") if name.startswith(incomplete)]


ClusterName = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="NAME|URL",
        help="A cluster of the project file, or a URL such as embedded:FILE. Else KGITOPS_CLUSTER.",
        autocompletion=complete_cluster,
    ),
]
Principal = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="PRINCIPAL", help="Who the requests are made as, such as User:kgitops."
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour, also on a terminal.")]
LockTimeout = Annotated[
    str | None,
    typer.Option(
        "--lock-timeout",
        metavar="DURATION",
        help="How long to wait while another run holds the cluster's lock, such as 10m. Default: "
        "spec.safety.lockTimeout, else 10m where CI is set, else 0s.",
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Show every change and request, fold nothing.")]


class ClusterOptions(Struct, frozen=True, kw_only=True):
    """The cluster of a command that needs no project, named as kgitops or as Kafka's tools do."""

    cluster: ClusterName = None
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            metavar="HOST:PORT",
            help="The cluster, as Kafka's own tools name it; embedded:FILE is taken too.",
        ),
    ] = None
    command_config: Annotated[
        Path | None,
        typer.Option(
            "--command-config",
            metavar="FILE",
            help="Java properties with the client's configs, as Kafka's own tools take them.",
        ),
    ] = None


class ChangeOptions(ClusterOptions, frozen=True, kw_only=True):
    """The cluster of a command that makes one change, and how the change is made."""

    timeout_ms: Annotated[
        int,
        typer.Option("--timeout", metavar="MS", min=1, help="How long a request may take, in ms."),
    ] = 30_000
    lock_timeout: LockTimeout = None
    principal: Principal = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")
    ] = False
    no_color: NoColor = False


class ProjectOptions(Struct, frozen=True, kw_only=True):
    """A project and the one of its clusters that a command is for."""

    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Project folder, or manifest files and folders. "
            "Default: KGITOPS_PROJECT, or here.",
        ),
    ] = None
    cluster: ClusterName = None


AllowEmptyFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-empty-folder",
        metavar="PATH",
        help="Let this plan remove objects although this folder of manifests is empty.",
    ),
]


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The part of a project that is planned, for whom, within which limits, and how it is shown."""

    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="ADDRESS",
            help="Plan only this object, such as topic/orders. May be repeated.",
        ),
    ] = None
    excludes: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="ADDRESS", help="Leave this object out. May be repeated."
        ),
    ] = None
    selectors: Annotated[
        list[str] | None,
        typer.Option(
            "--selector",
            "-l",
            metavar="LABELS",
            help="Plan only what has these labels, such as team=payments,env!=prod.",
        ),
    ] = None
    principal: Principal = None
    allow_deletes: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-deletes",
            metavar="KIND=N",
            help="Let this plan delete up to N objects of a kind, past the safety limits.",
        ),
    ] = None
    allow_empty_folders: AllowEmptyFolders = None
    allow_takeover: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-takeover",
            metavar="UID",
            help="Let this plan take over objects of the project with this uid, which did not "
            "release them. The name, for a project without a uid. May be repeated.",
        ),
    ] = None
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            case_sensitive=False,
            help="Deny the plan where Kafka keeps virtual clusters this badly, or worse.",
        ),
    ] = None
    full: Full = False
    no_color: NoColor = False


VariablesOf = Annotated[
    str | None,
    typer.Option(
        "--variables-of",
        metavar="NAME",
        help="For a cluster given by URL: take the variables of this one of the project.",
        autocompletion=complete_cluster,
    ),
]
VirtualClusterName = Annotated[
    str, typer.Option("--virtual-cluster", metavar="NAME", help="The virtual cluster.")
]
PlanFormat = Annotated[Format, typer.Option("--format", help="How to show the plan.")]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=8_192,
        help="With --format markdown: the size of one comment, in bytes (default: 63488).",
    ),
]
DetailedExitcode = Annotated[
    bool, typer.Option("--detailed-exitcode", help="Exit 2 instead of 0 when there are changes.")
]
ListFormatOption = Annotated[ListFormat, typer.Option("--format", help="How to show them.")]
