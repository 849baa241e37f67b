"""Copies the labels of documents to the changes that they cause, and to the requests."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgitops.desired.state import DesiredState
from kgitops.model.requests import with_labels
from kgitops.plan.document.plan import Change, PlannedRequest


def label_changes(changes: Iterable[Change], desired: DesiredState) -> list[Change]:
    """Give each change the labels of its document.

    A derived change has the labels of the object that it is derived from, and a deletion those of
    its Tombstone, because the document of the object is gone.
    """
    labels = {
        item.address: item.labels for item in (*desired.tombstones, *desired.objects) if item.labels
    }
    if not labels:
        return list(changes)
    return [
        labelled(change, labels[address])
        if (address := _declared_at(change, labels)) is not None
        else change
        for change in changes
    ]


def labelled(change: Change, labels: Mapping[str, str]) -> Change:
    """Add these labels to the change, and to each of its requests that can have labels."""
    if not labels:
        return change
    requests = label_requests(change.requests, labels)
    return replace(change, labels=labels, requests=requests)


def label_requests(
    requests: Iterable[PlannedRequest], labels: Mapping[str, str]
) -> tuple[PlannedRequest, ...]:
    """Add these labels to the requests that can have labels."""
    return tuple(
        replace(planned, request=with_labels(planned.request, labels)) for planned in requests
    )


def _declared_at(change: Change, labels: Mapping[str, object]) -> str | None:
    addresses = (change.address, *change.derived_from)
    return next((address for address in addresses if address in labels), None)
