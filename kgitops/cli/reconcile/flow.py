"""The course of ``kgitops reconcile``: targets, a loop over them, and its end."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cli.reconcile.listening import Listening
from kgitops.cli.reconcile.options import LookOptions, SourceOptions, SuspendOptions, parse_seconds
from kgitops.cli.reconcile.output import Telling, TurnPrinter
from kgitops.cli.running.signals import graceful
from kgitops.cli.running.streams import print_notice
from kgitops.model.clock import SystemClock
from kgitops.model.errors import UsageError
from kgitops.model.verdict import ExitCode, decide
from kgitops.reconcile.looping.backoff import Pace
from kgitops.reconcile.looping.board import TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.loop import LoopSettings, LoopTarget, ReconcileLoop
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.folder import FolderSource
from kgitops.reconcile.status import TurnResult
from kgitops.workflow.project.project_root import default_paths
from kgitops.workflow.project.selection import CLUSTER_VARIABLE, Selection

_FRESH_S = 30.0


class ReconcileCommand(Struct, frozen=True, kw_only=True):
    """The words of a command line."""

    paths: tuple[Path, ...]
    clusters: tuple[str, ...]
    once: bool
    detailed: bool
    plans: Path | None
    as_json: bool
    interval: str
    jitter: int
    timeout: str
    concurrency: int
    parallelism: int
    source: SourceOptions
    look: LookOptions

    @property
    def folders(self) -> tuple[Path, ...]:
        """The projects' folders."""
        return self.paths or tuple(default_paths(os.environ)) or (Path(),)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The clusters that were named, or the project's own."""
        return self.clusters or (os.environ.get(CLUSTER_VARIABLE) or None,)

    def selections(self) -> Iterator[Selection]:
        """The selection of each project on each cluster."""
        for folder in self.folders:
            for cluster in self.names:
                yield Selection(paths=(folder,), cluster=cluster, environ=dict(os.environ))


def run_reconcile(command: ReconcileCommand, suspension: SuspendOptions) -> int:
    """Take turns until a signal comes, or one of each; the exit code.

    Raises:
        UsageError: an option has an impossible value.
    """
    if suspension.reason or suspension.until or suspension.all_projects:
        raise UsageError("--reason, --until and --all-projects are for reconcile suspend; write it")
    if suspension.lock_timeout is not None:
        raise UsageError(
            "--lock-timeout is for reconcile suspend and resume, because a turn never waits for "
            "the lock; leave it out"
        )
    settings = _settings(command)
    listening = Listening(command.look, once=command.once)
    with ExitStack() as stack:
        if command.plans is None and not command.once:
            folder = stack.enter_context(TemporaryDirectory(prefix="kgitops-plans-"))
            settings = replace(settings, plans=Path(folder))
        printer = TurnPrinter(as_json=command.as_json, all_turns=command.once)
        targets = _targets(command, settings, stack, printer)
        telling = Telling(printer, notify=not command.once)
        stack.callback(telling.close)
        loop = ReconcileLoop(
            targets,
            settings,
            on_event=telling.event,
            on_turn=lambda result: _tell_turn(result, printer, listening),
            on_workspace=telling.workspace,
        )
        interrupts = stack.enter_context(graceful())
        listening.open(loop, stack, telling)
        if not command.once:
            return 128 + loop.run(interrupts)
        results = loop.run_once(interrupts)
        return _exit_code(results, interrupts.signal, detailed=command.detailed)


def _tell_turn(result: TurnResult, printer: TurnPrinter, listening: Listening) -> None:
    listening.turn(result)
    printer.turn(result)


def _settings(command: ReconcileCommand) -> LoopSettings:
    if command.plans is not None and command.plans.exists() and not command.plans.is_dir():
        raise UsageError(f"--plans {command.plans} is not a folder; name one")
    return LoopSettings(
        pace=Pace(
            interval_s=parse_seconds(command.interval, "--interval"), jitter=command.jitter / 100
        ),
        timeout_s=parse_seconds(command.timeout, "--timeout"),
        concurrency=command.concurrency,
        plans=command.plans,
        parallelism=command.parallelism,
    )


def _targets(
    command: ReconcileCommand, settings: LoopSettings, stack: ExitStack, printer: TurnPrinter
) -> list[LoopTarget]:
    targets: dict[TargetKey, LoopTarget] = {}
    fresh_s = min(_FRESH_S, settings.pace.interval_s / 2)
    for name, feed in _feeds(command, fresh_s, stack, printer.notice):
        stack.callback(feed.close)
        for cluster in command.names:
            key = TargetKey(name, cluster)
            targets[key] = LoopTarget(
                key=key, feed=feed, selection=partial(_selection, cluster=cluster)
            )
    return list(targets.values())


def _feeds(
    command: ReconcileCommand, fresh_s: float, stack: ExitStack, tell: Callable[[str], None]
) -> Iterator[tuple[str, RevisionFeed]]:
    """Each project's name as it was typed, and where its manifests come from."""
    clock, source = SystemClock(), command.source
    if source.git is None:
        _refuse_git_options(source)
        for folder in command.folders:
            yield (
                str(folder),
                RevisionFeed(
                    FolderSource(folder, left_out=command.plans),
                    clock,
                    fresh_s=fresh_s,
                    in_place=True,
                ),
            )
        return
    if command.paths:
        raise UsageError("--git takes a project's folder in it as --path, not as PATH")
    from kgitops.reconcile.sources.git import GitOptions, GitSource
    from kgitops.reconcile.sources.git_settings import SignatureKeys

    state = source.state or Path(stack.enter_context(TemporaryDirectory(prefix="kgitops-git-")))
    for path in source.path or ["."]:
        options = GitOptions(
            url=source.git,
            ref=source.ref or "HEAD",
            path=path,
            state=state / quote(path, safe="").replace(".", "%2E"),
            keys=SignatureKeys(allowed_signers=source.allowed_signers, gpg_keys=source.gpg_keys),
            refuse_rewrites=source.refuse_rewrites,
            most_bytes=source.git_max_size << 20,
            most_files=source.git_max_files,
        )
        options.state.mkdir(parents=True, exist_ok=True)
        yield (
            path,
            RevisionFeed(GitSource(options, os.environ), clock, fresh_s=fresh_s, on_notice=tell),
        )


def _refuse_git_options(source: SourceOptions) -> None:
    """Refuse options that would do nothing, as somebody may count on a check of signatures."""
    given = {
        "--ref": source.ref,
        "--path": source.path,
        "--state": source.state,
        "--allowed-signers": source.allowed_signers,
        "--gpg-keys": source.gpg_keys,
        "--refuse-rewrites": source.refuse_rewrites,
    }
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} is for --git; give the repository, or leave it out")


def _selection(revision: Revision, cluster: str | None) -> Selection:
    return Selection(paths=(revision.folder,), cluster=cluster, environ=dict(os.environ))


def _exit_code(results: Sequence[TurnResult], signal: int | None, *, detailed: bool) -> int:
    """The exit code of all turns together, whose reasons go to stderr."""
    if signal is not None:
        return 128 + signal
    reasons = [reason for result in results for reason in result.reasons]
    for reason in dict.fromkeys(reasons):
        print_notice(f"kgitops: {reason.sentence}")
    changes = any(result.exit is ExitCode.CHANGES for result in results)
    verdict = decide(reasons, changes=changes)
    if verdict.exit is ExitCode.CHANGES and not detailed:
        return int(ExitCode.SUCCESS)
    return int(verdict.exit)
