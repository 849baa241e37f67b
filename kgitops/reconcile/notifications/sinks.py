"""Receivers as values: the HTTP request that an event becomes for each."""

import re
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from kgitops.model.json.codec import encode
from kgitops.reconcile.events import EventKind, ReconcileEvent
from kgitops.reconcile.notifications.templates import Template

_COMMIT = re.compile(r"(?a:[0-9a-f]{40}|[0-9a-f]{64})")
_DESCRIPTION = 140
_STATES = {
    EventKind.SYNCED: "success",
    EventKind.APPLIED: "success",
    EventKind.HEALED: "success",
    EventKind.RECOVERED: "success",
    EventKind.PENDING: "pending",
    EventKind.SUSPENDED: "pending",
    EventKind.DRIFTED: "failure",
    EventKind.FIGHT: "failure",
    EventKind.FAILED: "failure",
}


class HttpPost:
    """A request to send; its address and headers hold secrets, so it shows nothing of them."""

    __slots__ = ("body", "headers", "url")

    def __init__(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep what is sent."""
        self.url = url
        self.headers = dict(headers)
        self.body = body


class Sink(Protocol):
    """Somebody who is told of events."""

    @property
    def name(self) -> str:
        """The name in the project file."""
        ...

    def post(self, event: ReconcileEvent) -> HttpPost | None:
        """The request for an event; None if it is nothing for this sink.

        Raises:
            KgitopsError: its template makes no JSON of the event.
        """
        ...


class Webhook:
    """An address that takes a body made by a template."""

    def __init__(self, name: str, url: str, template: Template, headers: Mapping[str, str]) -> None:
        """Keep the address and the template."""
        self.name = name
        self._url = url
        self._template = template
        self._headers = {"Content-Type": template.content_type, **headers}

    def post(self, event: ReconcileEvent) -> HttpPost | None:
        """The body as the template has it."""
        return HttpPost(self._url, self._headers, self._template.body(event))


class _Status(Struct, frozen=True):
    state: str
    context: str
    description: str


class GithubStatus:
    """The status of a commit on GitHub, one for every cluster."""

    def __init__(self, name: str, api_url: str, repository: str, token: str, context: str) -> None:
        """Keep where the commits are; ``context`` begins the name of the status."""
        self.name = name
        self._base = f"{api_url.rstrip('/')}/repos/{repository}/statuses"
        self._context = context
        self._headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def post(self, event: ReconcileEvent) -> HttpPost | None:
        """The status of the event's revision, if that is a commit."""
        state = _STATES.get(event.kind)
        if state is None or event.revision is None or not _COMMIT.fullmatch(event.revision):
            return None
        text = event.sentence
        short = text if len(text) <= _DESCRIPTION else f"{text[: _DESCRIPTION - 1]}…"
        status = _Status(state, f"{self._context}/{event.cluster}", short)
        return HttpPost(f"{self._base}/{event.revision}", self._headers, encode(status))
