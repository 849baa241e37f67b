"""Executes a plan in front of the user: events while it runs, and a summary at the end."""

import signal
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.result import ApplyResult
from kgitops.apply.secrets import PasswordSettings
from kgitops.cli.running.errors import print_verdict, tell_refusal
from kgitops.cli.running.options import EventFormat
from kgitops.cli.running.plan_output import exit_code
from kgitops.cli.running.progress import EventPrinter, print_lock_event
from kgitops.cli.running.signals import Interrupts, graceful
from kgitops.cli.running.streams import print_notice, print_result
from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import decide
from kgitops.plan.document.file import SealedPlan
from kgitops.report.text.apply import render_summary
from kgitops.workflow.execution import execute_plan, execute_resume
from kgitops.workflow.policies import OpenPolicies
from kgitops.workflow.project.locking import lock_timeout_ms, wait_until_free
from kgitops.workflow.project.selection import Workspace

_NAMED = 5


class ExecuteOptions(Struct, frozen=True, kw_only=True):
    """The pace of an execution, and the form in which it is reported."""

    parallelism: int
    format: EventFormat
    no_color: bool
    timeout_ms: int = ApplySettings().timeout_ms
    lock_timeout: str | None = None
    allow_plaintext_secrets: bool = False
    allow_secret_commands: bool = False

    @property
    def as_json(self) -> bool:
        """True if a program reads the output."""
        return self.format is EventFormat.JSON


def wait_for_lock(
    cluster: Cluster, workspace: Workspace, options: ExecuteOptions
) -> ExecuteOptions:
    """Wait until no run holds the lock, before the cluster is read; what is left of the timeout.

    Raises:
        LockedError: another run still holds it when the time is over.
    """
    timeout_ms = lock_timeout_ms(options.lock_timeout, workspace)
    left_ms = wait_until_free(cluster, timeout_ms, on_event=print_lock_event)
    return replace(options, lock_timeout=f"{left_ms}ms")


def run_plan(
    sealed: SealedPlan,
    cluster: Cluster,
    workspace: Workspace,
    policies: OpenPolicies,
    options: ExecuteOptions,
) -> int:
    """Execute a plan that was approved; the exit code."""
    return _run(
        lambda ctx: execute_plan(sealed, workspace, policies, ctx), cluster, workspace, options
    )


def run_resume(
    cluster: Cluster, workspace: Workspace, policies: OpenPolicies, options: ExecuteOptions
) -> int:
    """Resume the project's unfinished run; the exit code."""
    return _run(lambda ctx: execute_resume(workspace, policies, ctx), cluster, workspace, options)


def _run(
    execute: Callable[[ApplyContext], ApplyResult | None],
    cluster: Cluster,
    workspace: Workspace,
    options: ExecuteOptions,
) -> int:
    # Signals are only noted until the summary is printed, so that none hides what was done.
    with graceful() as interrupts:
        with EventPrinter(options.format, no_color=options.no_color) as printer:
            ctx = ApplyContext(
                cluster=cluster,
                cluster_name=workspace.target_name,
                settings=ApplySettings(
                    parallelism=options.parallelism,
                    timeout_ms=options.timeout_ms,
                    lease_ms=2 * options.timeout_ms,
                    lock_timeout_ms=lock_timeout_ms(options.lock_timeout, workspace),
                ),
                on_event=printer,
                interrupted=interrupts,
                cancels=lambda addresses: _cancels(addresses, printer, interrupts),
                passwords=PasswordSettings(
                    base=workspace.base,
                    allow_plaintext=options.allow_plaintext_secrets,
                    may_act=options.allow_secret_commands,
                ),
            )
            try:
                result = execute(ctx)
            except Exception:
                if printer.verdict is None:
                    raise
                return tell_refusal(printer.verdict, as_json=False)  # its event has it in JSON
        verdict = result.verdict if result else decide((), changes=False)
        if result is None:
            print_notice(
                f"Nothing to resume: the project {workspace.project.name} has no unfinished run on "
                f"{workspace.target_name} ({workspace.address}, cluster id "
                f"{cluster.read_state(frozenset()).cluster_id})."
            )
        elif not options.as_json:
            _print_summary(result)
        if options.as_json and printer.verdict is None:
            print_verdict(verdict)
        return exit_code(verdict, detailed=False)


def _cancels(addresses: Sequence[str], printer: EventPrinter, interrupts: Interrupts) -> bool:
    """True if a person at a terminal agrees to cancel the copying of these replicas."""
    has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if interrupts.signal != signal.SIGINT or not has_terminal:
        return False
    names = ", ".join(addresses[:_NAMED])
    others = f" and {len(addresses) - _NAMED} more" if len(addresses) > _NAMED else ""
    with printer.paused():
        print_notice(f"The replicas of {names}{others} are still being copied.")
        question = "Cancel that, so that they stay where they were? Only 'yes' is taken: "
        print(question, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip() == "yes"


def _print_summary(result: ApplyResult) -> None:
    try:
        print_result(render_summary(result))
    except KgitopsError as error:
        # The exit code is about the apply, whether or not its summary can be printed.
        print_notice(f"kgitops: {error}")
