"""What an apply tells while it runs: a bar on a terminal's stderr, or one JSON event a line."""

import json
import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kgitops.apply.events import (
    ApplyStarted,
    Event,
    StepDone,
    StepFailed,
    Waiting,
)
from kgitops.cli.options import EventFormat
from kgitops.report.apply_view import event_to_json, render_event_text


class EventPrinter:
    """Receives an apply's events; a context manager, so that the bar is always taken down."""

    def __init__(self, format_: EventFormat) -> None:
        self._json = format_ is EventFormat.JSON
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=self._json or not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("applying", total=None)

    def __enter__(self) -> "EventPrinter":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if self._json:
            print(json.dumps(event_to_json(event), ensure_ascii=False), flush=True)
            return
        match event:
            case ApplyStarted():
                self._bar.update(self._task, total=event.planned, completed=event.earlier)
            case StepDone():
                self._bar.advance(self._task)
            case StepFailed() | Waiting():
                self._bar.console.print(
                    render_event_text(event), markup=False, highlight=False, soft_wrap=True
                )
            case _:
                pass
