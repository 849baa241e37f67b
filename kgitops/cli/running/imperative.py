"""A change that a person asks for by a command (``kgitops vc``, ``kgitops acls``), start to end."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kgitops.cli.running.options import (
    ChangeOptions,
    ClusterOptions,
    EventFormat,
    Format,
    PlanOptions,
    ProjectOptions,
)
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.resources.names import is_cluster_url
from kgitops.model.verdict import ExitCode

if TYPE_CHECKING:
    from kgitops.cluster.port import Cluster
    from kgitops.model.cluster_state import ClusterState
    from kgitops.workflow.commands.imperative import ImperativeChange
    from kgitops.workflow.policies import OpenPolicies
    from kgitops.workflow.project.selection import Workspace

_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]+")


def run_change(
    options: ChangeOptions,
    make_change: "Callable[[ClusterState], ImperativeChange]",
    already_done: str,
) -> int:
    """Plan the change that is made for the cluster as it is, and execute it; the exit code.

    ``already_done`` is printed where there is nothing to change.
    """
    from kgitops.cli.running.errors import tell_refusal
    from kgitops.cli.running.execute import ExecuteOptions, run_plan, wait_for_lock
    from kgitops.cli.running.plan_output import exit_code, show_plan
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.model.resources.addresses import object_name
    from kgitops.workflow.commands.imperative import as_command, plan_command

    with open_target(options) as (workspace, policies, cluster):
        execution = ExecuteOptions(
            parallelism=1,
            format=EventFormat.TEXT,
            no_color=options.no_color,
            timeout_ms=options.timeout_ms,
            lock_timeout=options.lock_timeout,
        )
        if not options.dry_run:
            execution = wait_for_lock(cluster, workspace, execution)
        state = cluster.read_state()
        sealed = plan_command(cluster, state, make_change(state), workspace, policies)
        plan = sealed.plan
        if plan.verdict.stops and not options.dry_run:
            return tell_refusal(plan.verdict, as_json=False)
        if not plan.changes and not plan.verdict.stops:
            print_sentence(already_done)
            return int(ExitCode.SUCCESS)
        if options.dry_run:
            show_plan(sealed, Format.TEXT, full=False, no_color=options.no_color)
            return exit_code(plan.verdict, detailed=False)
        for finding in plan.warnings:
            print_notice(f"kgitops: {finding}")
        for change in plan.changes:
            actions = " and ".join(change.actions)
            print_sentence(f"{actions} {object_name(change.address)}")
        code = run_plan(sealed, cluster, as_command(workspace), policies, execution)
        if code:
            print_notice("kgitops: run the same command again: it looks first at what was done")
        return code


@contextmanager
def opened_cluster(options: ClusterOptions) -> "Iterator[Cluster]":
    """The connected cluster within a ``with`` block, for a command that only shows something.

    Raises:
        UsageError: two clusters are named, or none.
    """
    from kgitops.cluster.connect import by_brokers

    with _open_workspace(options, principal=None).connected() as connected:
        yield by_brokers(connected)


def read_cluster(options: ClusterOptions, *, scoped_acls: bool = False) -> "ClusterState":
    """The cluster's state, for a command that only shows something.

    ``scoped_acls`` says that it shows ACLs of virtual clusters.

    Raises:
        UsageError: two clusters are named, or none.
        KgitopsError: the cluster can't tell the ACLs of virtual clusters.
    """
    from kgitops.cluster.connect import tells_scoped_acls

    with opened_cluster(options) as cluster:
        if scoped_acls and not tells_scoped_acls(cluster):
            raise KgitopsError(
                "Kafka's protocol has no ACLs of virtual clusters; read them from the store "
                "itself, with -c embedded:FILE while it is not served"
            )
        return cluster.read_state()


@contextmanager
def open_target(options: ChangeOptions) -> "Iterator[tuple[Workspace, OpenPolicies, Cluster]]":
    """The project in this folder, its policies and the connected cluster, within a ``with`` block.

    Raises:
        UsageError: two clusters are named, or none.
    """
    from kgitops.cluster.connect import by_brokers
    from kgitops.workflow.policies import load_policies, open_policies

    workspace = _open_workspace(options, principal=options.principal)
    with open_policies(load_policies(workspace)) as policies:
        policies.wait()
        with workspace.connected(policies.bundle) as cluster:
            yield workspace, policies, by_brokers(cluster)


def _open_workspace(options: ClusterOptions, *, principal: str | None) -> "Workspace":
    """The project in this folder with the cluster that the options name.

    Raises:
        UsageError: two clusters are named, or none.
    """
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.project.java_properties import read_client_properties
    from kgitops.workflow.project.selection import open_workspace

    if options.cluster and options.bootstrap_server:
        raise UsageError("--cluster and --bootstrap-server both name the cluster; drop one of them")
    server = options.bootstrap_server
    if server is not None and not is_cluster_url(server):
        if not all(_HOST_AND_PORT.fullmatch(part.strip()) for part in server.split(",")):
            raise UsageError(f"--bootstrap-server {server} names no broker; write HOST:PORT")
        server = f"kafka://{server}"
    project = ProjectOptions(cluster=options.cluster or server)
    workspace = open_workspace(make_selection(project, PlanOptions(principal=principal)))
    if options.command_config is None:
        return workspace
    chosen = workspace.cluster
    configs = {**chosen.configs, **read_client_properties(options.command_config)}
    return replace(workspace, cluster=dataclasses.replace(chosen, configs=configs))
