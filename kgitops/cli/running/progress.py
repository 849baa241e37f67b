"""Progress of a long command: a line or bar on a terminal's stderr, or one JSON event a line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from kgitops.apply.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Noted,
    RegistryUpgraded,
    StepDone,
    StepFailed,
    Waiting,
)
from kgitops.cli.running.options import EventFormat
from kgitops.cli.running.streams import print_notice, print_result, wants_colour
from kgitops.model.errors import KgitopsError
from kgitops.model.json.layout import json_line
from kgitops.model.verdict import Verdict
from kgitops.report.json.plans import event_to_json
from kgitops.report.text.apply import render_event_text
from kgitops.workflow.loading import OnStage, ignore_stage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


@contextmanager
def stages(*, no_color: bool, as_lines: bool = False) -> Iterator[OnStage]:
    """Show the current stage as a line on a terminal, removed in the end.

    Elsewhere nothing is shown, or with ``as_lines`` a line for each stage.
    """
    if not sys.stderr.isatty():
        yield print_notice if as_lines else ignore_stage
        return
    with _console(no_color=no_color).status("") as status:
        yield status.update


class EventPrinter:
    """Prints an apply's events; a context manager, so that the bar is always removed.

    ``verdict`` is that of the last event, which ends the run; None before.
    It never raises: a reader that has gone away is not a reason to stop half-way.
    """

    def __init__(self, format_: EventFormat, *, no_color: bool) -> None:
        self._json = format_ is EventFormat.JSON
        self._bar = None if self._json or not sys.stderr.isatty() else new_bar(no_color=no_color)
        self._task = self._bar.add_task("applying", total=None) if self._bar else None
        self._last = ""
        self._closed = False
        self.verdict: Verdict | None = None

    def __enter__(self) -> "EventPrinter":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            if self._bar:
                self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, ApplyFinished):
            self.verdict = event.verdict
        with suppress(OSError):
            if self._json:
                self._print_json(event)
            else:
                self._show(event)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar within a ``with`` block, so that a question can be read and answered."""
        with suppress(OSError):
            if self._bar:
                self._bar.stop()
        yield
        with suppress(OSError):
            if self._bar:
                self._bar.start()

    def _show(self, event: Event) -> None:
        match event:
            case ApplyStarted():
                self._move(total=event.planned, completed=event.earlier)
            case StepDone():
                self._move(advance=1)
            case StepFailed() | Waiting() | Noted() | RegistryUpgraded():
                self._print_line(render_event_text(event))
            case _:
                pass

    def _print_json(self, event: Event) -> None:
        if self._closed:
            return
        try:
            print_result(json_line(event_to_json(event)))
        except KgitopsError as error:
            self._closed = True
            print_notice(f"kgitops: {error}; the apply goes on")

    def _print_line(self, text: str) -> None:
        if text == self._last:
            return  # a wait repeats its sentence
        self._last = text
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print_notice(text)

    def _move(
        self, *, total: int | None = None, completed: int | None = None, advance: int = 0
    ) -> None:
        if self._bar and self._task is not None:
            self._bar.update(self._task, total=total, completed=completed, advance=advance)


def print_lock_event(event: Event) -> None:
    """Print a wait for the lock, or an upgrade of the registry, for commands without progress."""
    if isinstance(event, RegistryUpgraded | Waiting):
        print_notice(render_event_text(event))


def new_bar(*, no_color: bool) -> "Progress":
    """A bar on stderr that is removed in the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=_console(no_color=no_color),
        transient=True,
    )


def _console(*, no_color: bool) -> "Console":
    from rich.console import Console

    return Console(stderr=True, no_color=not wants_colour(sys.stderr, no_color=no_color))
