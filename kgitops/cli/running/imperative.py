"""One change that a person asks for by a command, from its words to its exit code."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from kgitops.cli.running.options import EventFormat, Format
from kgitops.model.errors import UsageError
from kgitops.model.verdict import ExitCode

if TYPE_CHECKING:
    from kgitops.cluster.port import Cluster
    from kgitops.model.cluster_state import ClusterState
    from kgitops.workflow.commands.imperative import Wanted
    from kgitops.workflow.policies.policies import Policies
    from kgitops.workflow.project.selection import Workspace

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="The cluster, as Kafka's own tools name it; embedded:FILE is taken too.",
        show_default=False,
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="Java properties with the client's configs, as Kafka's own tools take them.",
        show_default=False,
    ),
]
Timeout = Annotated[
    int,
    typer.Option("--timeout", metavar="MS", min=1, help="How long a request may take, in ms."),
]
VirtualClusterName = Annotated[
    str,
    typer.Option("--virtual-cluster", metavar="NAME", help="The virtual cluster."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")]
DEFAULT_TIMEOUT_MS = 30_000
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]+")


class OnceEach(TyperCommand):
    """A command that takes each value once: of two, Kafka's own tools don't drop the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (click's own)
        """Refuse an option that is given twice, and kafka-acls' flag ``--cluster``.

        Raises:
            UsageError: there is one.
        """
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in given:
            takes_one = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if takes_one and given.count(option) > 1:
                raise UsageError(f"{max(option.opts, key=len)} is given twice; drop one of them")
        left = list(super().parse_args(ctx, args))
        cluster = ctx.params.get("cluster")
        if cluster and cluster.startswith("--"):
            raise UsageError(
                f"--cluster names the cluster to connect to, and {cluster} is none; the resource "
                "of an ACL is --cluster-resource"
            )
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which cluster a command means, and how it is reached."""

    cluster: str | None = None
    bootstrap_server: str | None = None
    command_config: Path | None = None
    principal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a command goes about its change."""

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    dry_run: bool = False
    no_color: bool = False


def run_command(
    reach: Reach, manner: Manner, ask: "Callable[[ClusterState], Wanted]", nothing: str
) -> int:
    """Plan what ``ask`` wants of the cluster as it is, and carry it out; the exit code.

    ``nothing`` is said where all is as wanted already.
    """
    from kgitops.cli.console.errors import tell_refusal
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.execute import How, run_plan
    from kgitops.cli.running.plan import exit_code, show_plan
    from kgitops.desired.state import Project
    from kgitops.model.registry import COMMAND_PROJECT
    from kgitops.report.content.object_names import object_name
    from kgitops.workflow.commands.imperative import plan_command

    with reached(reach) as (workspace, policies, cluster):
        state = cluster.read_state()
        sealed = plan_command(cluster, state, ask(state), workspace, policies)
        plan = sealed.plan
        if plan.verdict.stops and not manner.dry_run:
            return tell_refusal(plan.verdict, as_json=False)
        if not plan.changes and not plan.verdict.stops:
            print_result(nothing)
            return int(ExitCode.SUCCESS)
        if manner.dry_run:
            show_plan(sealed, Format.TEXT, full=False, no_color=manner.no_color)
            return exit_code(plan.verdict, detailed=False)
        for finding in plan.warnings:
            print_notice(f"kgitops: {finding}")
        for change in plan.changes:
            actions = " and ".join(change.actions)
            print_result(f"{actions} {object_name(change.address)}")
        how = How(
            parallelism=1,
            format=EventFormat.TEXT,
            no_color=manner.no_color,
            timeout_ms=manner.timeout_ms,
        )
        # Whoever gives a command manages nothing because of it.
        nobody = replace(workspace, project=Project(name=COMMAND_PROJECT))
        code = run_plan(sealed, cluster, nobody, policies, how)
        if code:
            print_notice("kgitops: run the same command again: it looks first at what was done")
        return code


def read_cluster(reach: Reach) -> "ClusterState":
    """The cluster as it is, for a command that only shows something."""
    with opened_workspace(reach).connected() as cluster:
        return cluster.read_state()


@contextmanager
def reached(reach: Reach) -> "Iterator[tuple[Workspace, Policies, Cluster]]":
    """The project here, its policies and the cluster that is meant, within a ``with`` block."""
    from kgitops.workflow.policies.policies import load_policies, opened

    workspace = opened_workspace(reach)
    with opened(load_policies(workspace)) as policies:
        policies.wait()
        with workspace.connected(policies.bundle) as cluster:
            yield workspace, policies, cluster


def opened_workspace(reach: Reach) -> "Workspace":
    """The project here, and the cluster that is meant.

    Raises:
        UsageError: two clusters are named, or none can be told.
    """
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.project.java_properties import read_client_properties
    from kgitops.workflow.project.selection import open_workspace

    if reach.cluster and reach.bootstrap_server:
        raise UsageError("--cluster and --bootstrap-server both name the cluster; drop one of them")
    server = reach.bootstrap_server
    if server is not None and not server.startswith(("embedded:", "kafka:")):
        if not all(_HOST_AND_PORT.fullmatch(one.strip()) for one in server.split(",")):
            raise UsageError(f"--bootstrap-server {server} names no broker; write HOST:PORT")
        server = f"kafka://{server}"
    workspace = open_workspace(
        make_selection(None, reach.cluster or server, principal=reach.principal)
    )
    if reach.command_config is None:
        return workspace
    chosen = workspace.cluster
    configs = {**chosen.configs, **read_client_properties(reach.command_config)}
    return replace(workspace, cluster=replace(chosen, configs=configs))
