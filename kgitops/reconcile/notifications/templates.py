"""Bodies of webhooks: CloudEvents, or templates of JSON in which every value is JSON."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import StrictUndefined, TemplateError, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgitops.model.clock import from_text, to_text
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.json.codec import encode, to_json
from kgitops.model.registry import Json
from kgitops.reconcile.events import EventKind, ReconcileEvent
from kgitops.reconcile.notifications.duplicates import ALARMS, ENDS

CLOUD_EVENTS = "cloudevents"
SHIPPED = ("slack", "teams", "alertmanager")
_FOLDER = Path(__file__).parent / "templates"
_SUFFIX = ".json.j2"
_MOST_BYTES = 256 << 10
_TITLES = {
    EventKind.SYNCED: "as declared",
    EventKind.APPLIED: "changes were applied",
    EventKind.DRIFTED: "others changed it",
    EventKind.HEALED: "others' changes were undone",
    EventKind.PENDING: "a plan waits to be applied",
    EventKind.FIGHT: "somebody keeps changing it back",
    EventKind.FAILED: "turns fail",
    EventKind.RECOVERED: "turns succeed again",
    EventKind.SOURCE_FAILED: "no newer revision is found",
    EventKind.SOURCE_RECOVERED: "newer revisions are found again",
    EventKind.SUSPENDED: "suspended",
    EventKind.RESUMED: "goes on",
}
CONTENT_TYPE = "application/cloudevents+json"
_TYPE = "kgitops.reconcile"


class Template:
    """A body as a function of the event."""

    def __init__(self, name: str, text: str | None) -> None:
        """Compile ``text``; None is the CloudEvents envelope itself.

        Raises:
            UsageError: it is no template.
        """
        self._name = name
        self._compiled = None
        if text is None:
            return
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, finalize=_as_json, autoescape=False
        )
        environment.filters["slack"] = _for_slack
        try:
            self._compiled = environment.from_string(text)
        except TemplateError as error:
            raise UsageError(
                f"the template {name} of a notification can't be used: {error}; correct it"
            ) from error

    @property
    def content_type(self) -> str:
        """The type of the bodies."""
        return CONTENT_TYPE if self._compiled is None else "application/json"

    def body(self, event: ReconcileEvent) -> bytes:
        """The JSON for an event.

        Raises:
            KgitopsError: the template makes no JSON of it.
        """
        if self._compiled is None:
            return json.dumps(cloud_event(event)).encode()
        try:
            text = self._compiled.render(values_for(event))
            body = json.dumps(json.loads(text)).encode()
        except Exception as error:
            raise KgitopsError(
                f"the template {self._name} makes no JSON of a {event.kind} event: "
                f"{str(error).rstrip('.')}; "
                "write every value as {{ name }}, without quotes around it"
            ) from error
        if len(body) > _MOST_BYTES:
            raise KgitopsError(
                f"the template {self._name} makes {len(body):,} bytes of an event; make it smaller"
            )
        return body


def open_template(name: str, folder: Path) -> Template:
    """The shipped template of that name, or the file of that path from ``folder``.

    Raises:
        UsageError: there is none, or it can't be read.
    """
    if name == CLOUD_EVENTS:
        return Template(name, None)
    file = _FOLDER / f"{name}{_SUFFIX}" if name in SHIPPED else folder / name
    try:
        return Template(name, file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the template {name} of a notification can't be read; write one of "
            f"{', '.join((CLOUD_EVENTS, *SHIPPED))}, or the path of a file from the project's "
            "folder"
        ) from error


def values_for(event: ReconcileEvent) -> Mapping[str, Any]:
    """The names in templates: the event's fields, and some that templates can't compute."""
    fields = to_json(event)
    week = to_text(from_text(event.at) + timedelta(days=7))
    return {
        **(fields if isinstance(fields, dict) else {}),
        "title": f"{event.project} on {event.cluster}: {_TITLES[event.kind]}",
        "alarm": event.kind in ALARMS,
        "ends": [str(kind) for kind in ENDS.get(event.kind, ())],
        "in_a_week": week,
        "event": cloud_event(event),
    }


def _as_json(value: Any) -> str:  # noqa: ANN401 (whatever a template writes)
    if isinstance(value, Undefined):
        return str(value)  # which raises
    return json.dumps(value)


def _for_slack(text: str) -> str:
    """Text in which Slack sees no links, mentions and other commands."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cloud_event(event: ReconcileEvent) -> dict[str, Json]:
    """The envelope with the event as its ``data``; the same event has the same ``id``."""
    return {
        "specversion": "1.0",
        "id": hashlib.sha256(encode(event)).hexdigest()[:32],
        "source": f"/kgitops/{quote(event.project, safe='')}/{quote(event.cluster, safe='')}",
        "type": f"{_TYPE}.{event.kind}",
        "subject": event.plan_digest or event.revision or event.cluster,
        "time": event.at,
        "datacontenttype": "application/json",
        "data": to_json(event),
    }
