"""The notifier of a project: its sinks, each of which may be slow or dead on its own."""

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from kgitops.manifests.project_document import NotificationDocument, SecretFromEnv
from kgitops.model.errors import UsageError
from kgitops.reconcile.events import EventKind, ReconcileEvent
from kgitops.reconcile.notifications.delivery import Delivery, Patience, SinkCounts, Tell
from kgitops.reconcile.notifications.duplicates import Duplicates
from kgitops.reconcile.notifications.sinks import GithubStatus, Sink, Webhook
from kgitops.reconcile.notifications.templates import SHIPPED, open_template, read_template

_CLOSE_WITHIN = 5.0
_PATIENCE = Patience()


class Subscription(Struct, frozen=True):
    """A sink and the kinds of event that it is told of; none means all."""

    sink: Sink
    kinds: frozenset[EventKind] = frozenset()


class Notifications:
    """Takes events to sinks, however slow or dead they are; called from several threads."""

    def __init__(
        self, subscriptions: Iterable[Subscription], tell: Tell, patience: Patience = _PATIENCE
    ) -> None:
        """Start a thread a sink; ``tell`` takes sentences about sinks that fail."""
        self._lock = threading.Lock()
        self._duplicates = Duplicates()
        self._deliveries = [
            (subscription.kinds, Delivery(subscription.sink, patience, tell))
            for subscription in subscriptions
        ]

    def notify(self, event: ReconcileEvent) -> None:
        """Let the event wait for the thread of each sink that wants it."""
        with self._lock:
            if not self._duplicates.is_new(event):
                return
            for kinds, delivery in self._deliveries:
                if not kinds or event.kind in kinds:
                    delivery.put(event)

    def counts(self) -> tuple[SinkCounts, ...]:
        """The counts of each sink so far."""
        return tuple(delivery.counts() for _, delivery in self._deliveries)

    def close(self) -> None:
        """Deliver what can be delivered within a few seconds, then stop."""
        end = time.monotonic() + _CLOSE_WITHIN
        for _, delivery in self._deliveries:
            delivery.end()
        for _, delivery in self._deliveries:
            delivery.join(max(end - time.monotonic(), 0))


def subscriptions_of(
    documents: Iterable[NotificationDocument], folder: Path, environ: Mapping[str, str]
) -> tuple[Subscription, ...]:
    """The sinks of a project file whose folder this is, with secrets from the environment.

    Raises:
        UsageError: a variable is not set, or a template can't be used.
    """
    return tuple(
        Subscription(
            _sink(document, folder, environ),
            frozenset(EventKind(kind) for kind in document.events),
        )
        for document in documents
    )


def own_templates(documents: Iterable[NotificationDocument], folder: Path) -> tuple[bytes, ...]:
    """The contents of the project's own templates, empty where there is no such file."""
    hooks = (document.webhook for document in documents)
    files = (folder / hook.template for hook in hooks if hook and hook.template not in SHIPPED)
    return tuple(_content(file) for file in files)


def _content(file: Path) -> bytes:
    try:
        return read_template(file)
    except OSError:
        return b""


def _sink(document: NotificationDocument, folder: Path, environ: Mapping[str, str]) -> Sink:
    def secret(written: SecretFromEnv) -> str:
        value = environ.get(written.env, "").strip()
        if not value.isascii() or not value.isprintable() or not value:
            raise UsageError(
                f"the notification {document.name!r} needs the environment variable "
                f"{written.env}, which is {'not set' if not value else 'no plain text'}; set it"
            )
        return value

    if document.webhook is not None:
        hook = document.webhook
        return Webhook(
            document.name,
            secret(hook.url),
            open_template(hook.template, folder),
            {name: secret(value) for name, value in hook.headers.items()},
        )
    if document.github_status is not None:
        status = document.github_status
        return GithubStatus(
            document.name, status.api_url, status.repository, secret(status.token), status.context
        )
    raise UsageError(f"the notification {document.name!r} has no receiver; add webhook")
