"""Takes each event to the notifications that its project declares, at the revision it has now."""

import threading
from collections.abc import Mapping
from pathlib import Path

from kgitops.manifests.project_document import NotificationDocument
from kgitops.model.errors import KgitopsError
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.notifications.delivery import SinkCounts, Tell
from kgitops.reconcile.notifications.notifying import (
    Notifications,
    Subscription,
    own_templates,
    subscriptions_of,
)


class NotificationRouter:
    """The notifications of all projects of a loop; called from several threads.

    A project's settings are replaced when a revision changes them. Settings that can't be used are
    told, and leave those before them in place.
    """

    def __init__(self, environ: Mapping[str, str], tell: Tell) -> None:
        """Begin with no project; ``tell`` takes sentences about what can't be delivered."""
        self._environ = environ
        self._tell = tell
        self._lock = threading.Lock()
        self._projects: dict[str, Notifications] = {}
        self._settings: dict[str, tuple[tuple[NotificationDocument, ...], tuple[bytes, ...]]] = {}
        self._closed = False

    def configure(
        self, project: str, documents: tuple[NotificationDocument, ...], folder: Path
    ) -> None:
        """Let these be the project's notifications; nothing happens where they already are."""
        with self._lock:
            settings = (documents, own_templates(documents, folder))
            if self._closed or self._settings.get(project, ((), ())) == settings:
                return
            self._settings[project] = settings
        # Without the lock: a template may take long to check, and other projects' turns go on.
        try:
            subscriptions = subscriptions_of(documents, folder, self._environ)
        except KgitopsError as error:
            self._tell(f"the notifications of {project} stay as they were: {error}")
            return
        with self._lock:
            if self._settings[project] is settings:
                self._replace(project, subscriptions)

    def notify(self, event: ReconcileEvent) -> None:
        """Hand the event to its project's notifications."""
        with self._lock:
            notifications = self._projects.get(event.project)
            # A project that was never read has no name yet; with one project it can only be that.
            if notifications is None and len(self._projects) == 1:
                (notifications,) = self._projects.values()
        if notifications is not None:
            notifications.notify(event)

    def counts(self) -> dict[str, tuple[SinkCounts, ...]]:
        """The counts of each project's sinks since its settings were last replaced."""
        with self._lock:
            return {project: one.counts() for project, one in self._projects.items()}

    def close(self) -> None:
        """Deliver what can be delivered within a few seconds, then stop."""
        with self._lock:
            self._closed = True
            closing = [
                threading.Thread(target=one.close, daemon=True) for one in self._projects.values()
            ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def _replace(self, project: str, subscriptions: tuple[Subscription, ...]) -> None:
        if self._closed:
            return
        before = self._projects.pop(project, None)
        if subscriptions:
            self._projects[project] = Notifications(subscriptions, self._tell)
        if before is not None:
            threading.Thread(target=before.close, daemon=True).start()
