"""The conversation of ``kgitops apply``: show, ask, execute, summarise."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kgitops.apply.result import ApplyResult
from kgitops.cli.console import print_notice, print_result
from kgitops.cli.options import EventFormat, Format
from kgitops.cli.planning import exit_code, show_plan
from kgitops.cli.progress import EventPrinter
from kgitops.cli.signals import Interrupts, graceful
from kgitops.cluster.port import Cluster
from kgitops.model.errors import UsageError
from kgitops.model.verdict import ExitCode
from kgitops.plan.plan_file import SealedPlan
from kgitops.report.apply_view import render_summary
from kgitops.workflow.execution import check_digest, execute_plan, execute_resume
from kgitops.workflow.pipeline import check_project, load_desired, plan_against
from kgitops.workflow.saved_plan import is_plan, load_plan
from kgitops.workflow.selection import Selection, Workspace, open_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """How to apply; what to apply is the selection's."""

    auto_approve: bool
    resume: bool
    expect_digest: str | None
    parallelism: int
    format: EventFormat
    full: bool
    no_color: bool


def run_apply(selection: Selection, options: ApplyOptions) -> int:
    """One apply from its words to its exit code."""
    plans = [path for path in selection.paths if is_plan(path)]
    if plans and len(selection.paths) > 1:
        raise UsageError("a saved plan is applied alone; give one PLAN, or only PATHs")
    if plans:
        return _apply_saved(plans[0], selection, options)
    workspace = open_workspace(selection)
    if options.resume:
        code = _resume(workspace, options)
        if code or not selection.paths:
            return code
    return _apply_paths(workspace, selection, options)


def _apply_saved(path: Path, selection: Selection, options: ApplyOptions) -> int:
    if options.resume:
        raise UsageError("--resume takes no PLAN; the journal knows what was begun")
    if selection.targets or selection.excludes or selection.principal or selection.allow_deletes:
        raise UsageError(
            "a saved plan is applied as it is: --target, --exclude, --as and --allow-deletes "
            "belong to kgitops plan"
        )
    sealed = load_plan(path)
    check_digest(sealed, options.expect_digest)
    name = selection.cluster or sealed.plan.target.name
    workspace = open_workspace(replace(selection, paths=(), cluster=_known(name, selection)))
    check_project(sealed, workspace)
    return _with_cluster(workspace, lambda cluster: _execute(sealed, cluster, workspace, options))


def _known(name: str, selection: Selection) -> str | None:
    # Without a project file the default cluster has a name that no file explains.
    is_default = open_workspace(replace(selection, paths=(), cluster=None)).target_name == name
    return None if is_default else name


def _apply_paths(workspace: Workspace, selection: Selection, options: ApplyOptions) -> int:
    desired = load_desired(workspace, selection)

    def go(cluster: Cluster) -> int:
        sealed = plan_against(cluster, desired, workspace)
        check_digest(sealed, options.expect_digest)
        if options.format is EventFormat.TEXT:
            show_plan(sealed, Format.TEXT, full=options.full, no_color=options.no_color)
        verdict = sealed.plan.verdict
        if verdict.stops:
            if options.format is EventFormat.JSON:
                for reason in verdict.reasons:
                    print_notice(reason.sentence)
            return int(verdict.exit)
        if not sealed.plan.changes:
            return int(ExitCode.SUCCESS)
        if not options.auto_approve and not _approved():
            print_notice("Not applied; nothing was changed.")
            return int(ExitCode.ERROR)
        return _execute(sealed, cluster, workspace, options)

    return _with_cluster(workspace, go)


def _approved() -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "there is nobody to ask; pass --auto-approve, or save a plan, review it and apply it"
        )
    print("\nApply this plan? Only 'yes' is taken: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def _execute(
    sealed: SealedPlan, cluster: Cluster, workspace: Workspace, options: ApplyOptions
) -> int:
    def go(printer: EventPrinter, interrupts: Interrupts) -> ApplyResult:
        return execute_plan(
            sealed,
            cluster,
            workspace,
            parallelism=options.parallelism,
            on_event=printer,
            interrupted=interrupts,
        )

    return _run(go, options)


def _resume(workspace: Workspace, options: ApplyOptions) -> int:
    def with_cluster(cluster: Cluster) -> int:
        def go(printer: EventPrinter, interrupts: Interrupts) -> ApplyResult | None:
            return execute_resume(
                cluster,
                workspace,
                parallelism=options.parallelism,
                on_event=printer,
                interrupted=interrupts,
            )

        return _run(go, options)

    return _with_cluster(workspace, with_cluster)


def _run(
    go: Callable[[EventPrinter, Interrupts], ApplyResult | None], options: ApplyOptions
) -> int:
    with EventPrinter(options.format) as printer, graceful() as interrupts:
        result = go(printer, interrupts)
    if result is None:
        print_notice("Nothing to resume: this project has no unfinished run.")
        return int(ExitCode.SUCCESS)
    if options.format is EventFormat.TEXT:
        print_result(render_summary(result))
    return exit_code(result.verdict, detailed=False)


def _with_cluster(workspace: Workspace, go: Callable[[Cluster], int]) -> int:
    cluster = workspace.connect()
    try:
        return go(cluster)
    finally:
        cluster.close()
