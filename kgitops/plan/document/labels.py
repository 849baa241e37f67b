"""Labels of documents, carried along to the changes that they ask for and to the requests."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgitops.desired.state import DesiredState
from kgitops.model.requests import with_labels
from kgitops.plan.document.plan import Change, PlannedRequest


def label_changes(changes: Iterable[Change], desired: DesiredState) -> list[Change]:
    """The changes with the labels of their documents.

    What is derived has those of what it is derived from, and what a Tombstone deletes has the
    Tombstone's: the document that said more is gone.
    """
    known = {
        item.address: item.labels for item in (*desired.tombstones, *desired.objects) if item.labels
    }
    if not known:
        return list(changes)
    return [
        labelled(change, known[address])
        if (address := _declared_at(change, known)) is not None
        else change
        for change in changes
    ]


def labelled(change: Change, labels: Mapping[str, str]) -> Change:
    """The change with these labels, and each of its requests that can have any."""
    if not labels:
        return change
    requests = label_requests(change.requests, labels)
    return replace(change, labels=labels, requests=requests)


def label_requests(
    requests: Iterable[PlannedRequest], labels: Mapping[str, str]
) -> tuple[PlannedRequest, ...]:
    """The requests with these labels, where they can have any."""
    return tuple(
        replace(planned, request=with_labels(planned.request, labels)) for planned in requests
    )


def _declared_at(change: Change, known: Mapping[str, object]) -> str | None:
    addresses = (change.address, *change.derived_from)
    return next((address for address in addresses if address in known), None)
