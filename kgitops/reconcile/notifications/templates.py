"""Bodies of webhooks: CloudEvents, or templates of JSON in which every value is JSON."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgitops.model.clock import from_text, to_text
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.json.codec import encode, to_json
from kgitops.model.registry import Json
from kgitops.reconcile.events import EventKind, ReconcileEvent
from kgitops.reconcile.notifications.duplicates import ALARMS, ENDS
from kgitops.reconcile.notifications.rendering import LimitExceeded, check, render, render_bounded

CLOUD_EVENTS = "cloudevents"
SHIPPED = ("slack", "teams", "alertmanager")
_FOLDER = Path(__file__).parent / "templates"
_SUFFIX = ".json.j2"
_LONGEST = 32 << 10
"""The bytes of a template; parsing as many takes about a second at worst."""
_VIOLATIONS = 3
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

    def __init__(self, name: str, text: str | None, *, is_shipped: bool = True) -> None:
        """Check ``text``; None is the CloudEvents envelope itself.

        Raises:
            UsageError: it is no template.
        """
        self._name = name
        self._text = text
        self._render = render if is_shipped else render_bounded
        self._broken = 0
        if text is None:
            return
        try:
            check(text)
        except ValueError as error:
            raise UsageError(
                f"the template {name} of a notification can't be used: {error}; correct it"
            ) from error

    @property
    def content_type(self) -> str:
        """The type of the bodies."""
        return CONTENT_TYPE if self._text is None else "application/json"

    def body(self, event: ReconcileEvent) -> bytes:
        """The JSON for an event.

        Raises:
            KgitopsError: the template makes no JSON of it, or more than a template may.
        """
        if self._text is None:
            return json.dumps(cloud_event(event)).encode()
        if self._broken >= _VIOLATIONS:
            raise KgitopsError(
                f"the template {self._name} broke its limits {self._broken} times and is not run "
                "any more; correct it"
            )
        try:
            body = self._render(self._text, values_for(event))
        except OSError as error:
            raise KgitopsError(
                f"the process for the template {self._name} can't be started: {error}; free memory "
                "or processes"
            ) from error
        except LimitExceeded as limit:
            self._broken += 1
            raise KgitopsError(
                f"the template {self._name} makes no body of a {event.kind} event: {limit}"
            ) from None
        except Exception as error:
            raise KgitopsError(
                f"the template {self._name} makes no JSON of a {event.kind} event: "
                f"{str(error).rstrip('.')}; "
                "write every value as {{ name }}, without quotes around it"
            ) from error
        self._broken = 0
        return body


def open_template(name: str, folder: Path) -> Template:
    """The shipped template of that name, or the file of that path from ``folder``.

    Raises:
        UsageError: there is none, or it can't be read.
    """
    if name == CLOUD_EVENTS:
        return Template(name, None)
    is_shipped = name in SHIPPED
    file = _FOLDER / f"{name}{_SUFFIX}" if is_shipped else folder / name
    try:
        content = read_template(file)
        text = content.decode()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the template {name} of a notification can't be read; write one of "
            f"{', '.join((CLOUD_EVENTS, *SHIPPED))}, or the path of a file from the project's "
            "folder"
        ) from error
    if len(content) > _LONGEST:
        raise UsageError(
            f"the template {name} of a notification is longer than {_LONGEST >> 10} KiB; "
            "make it smaller"
        )
    return Template(name, text, is_shipped=is_shipped)


def read_template(file: Path) -> bytes:
    """The bytes of a file, of a longer one a byte more than a template may have.

    Raises:
        OSError: it can't be read, or is a pipe or device, which may have no end.
    """
    if not file.is_file():
        raise FileNotFoundError(file)
    with file.open("rb") as opened:
        return opened.read(_LONGEST + 1)


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
