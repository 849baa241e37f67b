"""Tells of events: on stdout, and to those whom the projects name."""

import os
import threading
from typing import TYPE_CHECKING

from kgitops.cli.reconcile.output import TurnPrinter
from kgitops.reconcile.events import ReconcileEvent
from kgitops.workflow.project.selection import Workspace

if TYPE_CHECKING:
    from kgitops.reconcile.notifications.routing import NotificationRouter


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
        if not self._notify or file is None or file.reconcile is None:
            return
        documents = tuple(file.reconcile.notifications)
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

    def close(self) -> None:
        """Deliver what can be delivered within a few seconds."""
        if self._router is not None:
            self._router.close()
