"""The course of ``kgitops apply``: check the options, show the plan, ask, and execute."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.secrets import variables_of
from kgitops.cli.running.errors import print_verdict, tell_refusal
from kgitops.cli.running.execute import ExecuteOptions, run_plan, run_resume, wait_for_lock
from kgitops.cli.running.options import Format
from kgitops.cli.running.plan_output import show_plan
from kgitops.cli.running.progress import stages
from kgitops.cli.running.streams import agreed, print_notice
from kgitops.model.errors import OtherClusterError, UsageError
from kgitops.model.verdict import ExitCode, decide
from kgitops.workflow.execution import reasons_of_cluster, verdict_of_stopped_plan
from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.policies import OpenPolicies, load_policies, open_policies
from kgitops.workflow.project.saved_plan import check_digest, is_plan, load_plan
from kgitops.workflow.project.selection import (
    Selection,
    Workspace,
    open_workspace,
    open_workspace_of,
)


class ApplyOptions(Struct, frozen=True, kw_only=True):
    """The options of an apply besides its selection, which names the plan or the paths."""

    auto_approve: bool
    resume: bool
    expect_digest: str | None
    full: bool
    execution: ExecuteOptions


def run_apply(selection: Selection, options: ApplyOptions) -> int:
    """Run one apply; the exit code."""
    plans = [path for path in selection.paths if is_plan(path)]
    _check(selection, options, plans)
    if plans:
        return _apply_saved(plans[0], selection, options)
    workspace = open_workspace(selection)
    if options.resume:
        with _policies(workspace) as policies, workspace.connected(policies.bundle) as cluster:
            code = run_resume(cluster, workspace, policies, options.execution)
        if code or not selection.paths:
            return code
    return _apply_paths(workspace, options)


def _check(selection: Selection, options: ApplyOptions, plans: list[Path]) -> None:
    """Refuse options that exclude each other.

    Raises:
        UsageError: two of them do.
    """
    if plans and len(selection.paths) > 1:
        raise UsageError("a saved plan is applied alone; give one PLAN, or only PATHs")
    if plans and options.resume:
        raise UsageError(
            "--resume takes no PLAN, for the journal knows what was begun; drop one of the two"
        )
    if plans and selection.shapes_a_plan:
        raise UsageError(
            "a saved plan is applied as it is; give --target, --exclude, --selector, --as, "
            "--allow-deletes, --allow-empty-folder and --fail-on to kgitops plan"
        )
    if plans:
        return
    plans_here = not options.resume or bool(selection.paths)
    if not plans_here and (selection.shapes_a_plan or options.expect_digest):
        raise UsageError(
            "--resume alone goes on with the plan that was begun, as it is; give a PATH too for a "
            "new plan after it"
        )
    if plans_here and options.execution.as_json and not options.auto_approve:
        raise UsageError(
            "--format json asks nobody; pass --auto-approve, or save a plan, review it and apply it"
        )


def _apply_saved(path: Path, selection: Selection, options: ApplyOptions) -> int:
    sealed = load_plan(path)
    check_digest(sealed, options.expect_digest)
    if sealed.plan.verdict.stops:
        verdict = verdict_of_stopped_plan(sealed, path, selection)
        return tell_refusal(verdict, as_json=options.execution.as_json)
    workspace = open_workspace_of(sealed.plan, path, selection)
    try:
        with (
            _policies(workspace, variables_of(sealed.plan.requests)) as policies,
            workspace.connected(policies.bundle) as cluster,
        ):
            return run_plan(sealed, cluster, workspace, policies, options.execution)
    except OtherClusterError as error:
        verdict = decide(reasons_of_cluster(sealed.plan, error), changes=True)
        return tell_refusal(verdict, as_json=options.execution.as_json)


@contextmanager
def _policies(
    workspace: Workspace, hidden_env: frozenset[str] = frozenset()
) -> Iterator[OpenPolicies]:
    """The project's policies, within a ``with`` block, for an apply that loads no manifests.

    They don't see the environment variables in ``hidden_env``, nor those that users name.
    """
    bundle = load_policies(workspace)
    with open_policies(replace(bundle, hidden_env=bundle.hidden_env | hidden_env)) as policies:
        policies.wait()
        yield policies


def _apply_paths(workspace: Workspace, options: ApplyOptions) -> int:
    with ExitStack() as stack:
        with stages(no_color=options.execution.no_color) as stage:
            declared = stack.enter_context(loaded(workspace, stage))
        cluster = stack.enter_context(workspace.connected(declared.policies.bundle))
        execution = wait_for_lock(cluster, workspace, options.execution)
        with stages(no_color=options.execution.no_color) as stage:
            sealed = plan_against(cluster, declared, workspace, stage)
        check_digest(sealed, options.expect_digest)
        verdict, as_json = sealed.plan.verdict, options.execution.as_json
        if not as_json:
            show_plan(sealed, Format.TEXT, full=options.full, no_color=options.execution.no_color)
        if verdict.stops:
            # As text the plan itself says why.
            return tell_refusal(verdict, as_json=True) if as_json else int(verdict.exit)
        if not sealed.plan.changes:
            if as_json:
                print_verdict(verdict)
            return int(ExitCode.SUCCESS)
        if not options.auto_approve and not agreed(
            "\nApply this plan?",
            otherwise="pass --auto-approve, or save a plan, review it and apply it",
        ):
            print_notice("Not applied; nothing was changed.")
            return int(ExitCode.ERROR)
        # The plan was made of the manifests just now: it names no program that they don't name.
        execution = replace(execution, allow_secret_commands=True)
        return run_plan(sealed, cluster, workspace, declared.policies, execution)
