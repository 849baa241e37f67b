"""Tells of turns and events: on stdout, and to those whom the projects name."""

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from kgitops.cli.reconcile.loop_log import LoopLog
from kgitops.cli.running.streams import end_log, print_result
from kgitops.model.errors import KgitopsError
from kgitops.model.json.codec import to_json
from kgitops.model.json.layout import json_line
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.status import TurnResult
from kgitops.reconcile.wording import turn_text
from kgitops.report.content.safe_text import guarded_line, terminal_text
from kgitops.workflow.project.selection import Workspace

if TYPE_CHECKING:
    from kgitops.reconcile.notifications.delivery import SinkCounts
    from kgitops.reconcile.notifications.routing import NotificationRouter


class TurnPrinter:
    """Prints turns and events, whole lines each, from several threads; no loop waits for it."""

    def __init__(self, *, as_json: bool, all_turns: bool) -> None:
        """Print JSON or text; without ``all_turns`` text tells only turns with news."""
        self._as_json = as_json
        self._all_turns = all_turns
        self._lock = threading.Lock()
        self._log = None if all_turns else LoopLog(self._lost)
        self._last: dict[tuple[str, str], object] = {}

    def turn(self, result: TurnResult) -> None:
        """Print a turn; as text only where it says something new."""
        if self._as_json:
            self._print(json_line({"type": "turn", **to_json(result)}))
            return
        key = (result.project, result.cluster)
        text = turn_text(result)
        if not self._all_turns:
            if self._last.get(key) == text:
                return
            self._last[key] = text
        moment = "" if self._all_turns else f"{result.ended} "
        self._print("\n".join(_safe(line) for line in f"{moment}{text}".rstrip().split("\n")))

    def event(self, event: ReconcileEvent) -> None:
        """Print an event of JSON; the text of its turn says the same."""
        if self._as_json:
            self._print(json_line({"type": "event", **to_json(event)}))

    def notice(self, sentence: str) -> None:
        """Print a sentence that is of no turn."""
        fields = {"type": "notice", "sentence": sentence}
        self._print(json_line(fields) if self._as_json else _safe(sentence))

    def line(self, text: str, **fields: str) -> None:
        """Print one line of the loop's own, with fields as JSON."""
        self._print(json_line(fields) if self._as_json else text)

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        if self._log is not None:
            self._log.close()

    def _print(self, text: str) -> None:
        if self._log is not None:
            self._log.put(text)
            return
        with self._lock, suppress(KgitopsError):  # turns go on, whoever reads
            print_result(text)

    def _lost(self, lines: int) -> str:
        sentence = f"{lines} lines of this log were lost, since nobody took them"
        return json_line({"type": "notice", "sentence": sentence}) if self._as_json else sentence


def _safe(line: str) -> str:
    return guarded_line(terminal_text(line))


class Telling:
    """Those who are told of events: who reads stdout, and whom the projects name."""

    def __init__(self, printer: TurnPrinter, *, notify: bool) -> None:
        """Tell only stdout if not ``notify``."""
        self._printer = printer
        self._notify = notify
        self._lock = threading.Lock()
        self._router: NotificationRouter | None = None

    def workspace(self, workspace: Workspace) -> None:
        """Take over the notifications that the project declares now."""
        file = workspace.file
        if not self._notify or file is None:
            return
        documents = tuple(file.spec.reconcile.notifications)
        with self._lock:
            if self._router is None and documents:
                from kgitops.reconcile.notifications.routing import NotificationRouter

                self._router = NotificationRouter(os.environ, self._printer.notice)
            router = self._router
        if router is not None:
            router.configure(file.name, documents, file.folder)

    def event(self, event: ReconcileEvent) -> None:
        """Tell of an event."""
        self._printer.event(event)
        if self._router is not None:
            self._router.notify(event)

    def notice(self, sentence: str) -> None:
        """Tell who reads stdout of something that is of no turn."""
        self._printer.notice(sentence)

    def sinks(self) -> "dict[str, tuple[SinkCounts, ...]]":
        """The counts of each project's receivers of notifications so far."""
        return {} if self._router is None else self._router.counts()

    def close(self) -> None:
        """Deliver what can be delivered within a few seconds."""
        if self._router is not None:
            self._router.close()
        self._printer.close()
        end_log()
