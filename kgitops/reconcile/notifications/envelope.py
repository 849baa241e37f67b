"""The event as CloudEvents 1.0 writes it, in one JSON object."""

import hashlib
from urllib.parse import quote

from kgitops.model.json.codec import encode, to_json
from kgitops.model.registry import Json
from kgitops.reconcile.events import ReconcileEvent

CONTENT_TYPE = "application/cloudevents+json"
_TYPE = "kgitops.reconcile"


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
