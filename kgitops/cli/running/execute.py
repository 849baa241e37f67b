"""Executing a plan in front of the user: events while it runs, in the end what became of it."""

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgitops.apply.context import Surroundings
from kgitops.apply.result import ApplyResult
from kgitops.apply.settings import ApplySettings
from kgitops.cli.console.errors import print_verdict, tell_refusal
from kgitops.cli.console.signals import Interrupts, graceful
from kgitops.cli.console.streams import print_notice, print_result
from kgitops.cli.running.options import EventFormat
from kgitops.cli.running.plan import exit_code
from kgitops.cli.running.progress import EventPrinter
from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError, LockedError
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.plan.document.file import SealedPlan
from kgitops.report.text.apply import render_summary
from kgitops.workflow.execution import execute_plan, execute_resume
from kgitops.workflow.policies.policies import Policies
from kgitops.workflow.project.selection import Workspace

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a plan is executed, and told."""

    parallelism: int
    format: EventFormat
    no_color: bool
    timeout_ms: int = ApplySettings().timeout_ms

    @property
    def as_json(self) -> bool:
        """Whether a program reads what is printed."""
        return self.format is EventFormat.JSON


def run_plan(
    sealed: SealedPlan, cluster: Cluster, workspace: Workspace, policies: Policies, how: How
) -> int:
    """Execute a plan that was agreed to; the exit code."""
    return _run(lambda around: execute_plan(sealed, workspace, policies, around), cluster, how)


def run_resume(cluster: Cluster, workspace: Workspace, policies: Policies, how: How) -> int:
    """Go on with what is unfinished; the exit code."""
    return _run(lambda around: execute_resume(workspace, policies, around), cluster, how)


def _run(execute: Callable[[Surroundings], ApplyResult | None], cluster: Cluster, how: How) -> int:
    # Signals are noted to the very end, so that none hides what was done.
    with graceful() as interrupts:
        with EventPrinter(how.format, no_color=how.no_color) as printer:
            around = Surroundings(
                cluster=cluster,
                settings=ApplySettings(
                    parallelism=how.parallelism,
                    timeout_ms=how.timeout_ms,
                    lease_ms=2 * how.timeout_ms,
                ),
                on_event=printer,
                interrupted=interrupts,
                cancels=lambda addresses: _cancels(addresses, printer, interrupts),
            )
            try:
                result = execute(around)
            except LockedError:
                raise  # the lock was lost after a step was told of, and before one was sent
            except Exception as error:
                if not printer.begun:
                    raise
                return tell_refusal(_broken_off(error), as_json=how.as_json)
        verdict = result.verdict if result else decide((), changes=False)
        if result is None:
            print_notice("Nothing to resume: this project has no unfinished run.")
        elif not how.as_json:
            _print_summary(result)
        if how.as_json and not printer.finished:
            print_verdict(verdict)
        return exit_code(verdict, detailed=False)


def _cancels(addresses: Sequence[str], printer: EventPrinter, interrupts: Interrupts) -> bool:
    """Whether someone at a terminal wants what is being copied cancelled: asked, never assumed."""
    someone = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if interrupts.signal != signal.SIGINT or not someone:
        return False
    named = ", ".join(addresses[:_NAMED])
    others = f" and {len(addresses) - _NAMED} more" if len(addresses) > _NAMED else ""
    with printer.paused():
        print_notice(f"The replicas of {named}{others} are still being copied.")
        question = "Cancel that, so that they stay where they were? Only 'yes' is taken: "
        print(question, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip() == "yes"


def _broken_off(error: Exception) -> Verdict:
    """The failure is our own, in the middle: no other exit code may be given once it has begun."""
    sentence = (
        f"the plan was partly applied, then kgitops failed where it should not "
        f"({type(error).__name__}: {error}); `kgitops apply --resume` looks before it sends "
        "anything again"
    )
    return decide([Reason(exit=ExitCode.PARTIAL, sentence=sentence)], changes=False)


def _print_summary(result: ApplyResult) -> None:
    try:
        print_result(render_summary(result))
    except KgitopsError as error:
        # What was done is done: the exit code speaks of that.
        print_notice(f"kgitops: {error}")
