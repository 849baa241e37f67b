"""Records that commands of ``kgitops reconcile`` write for loops: suspensions and confirmations.

``suspend/<project>`` is the suspension of one project, by its identity, and ``suspend`` that of
every one; so are ``confirm/<project>`` and ``confirm`` of the clusters that a person confirmed.
"""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.model import clock as moments
from kgitops.model.errors import SafetyError
from kgitops.model.json.records import Record, check_version, read_record, record
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json

SUSPEND_ALL = "suspend"
CONFIRM_ALL = "confirm"


class SuspensionDocument(Struct, frozen=True, kw_only=True):
    """A record of a suspension; times are RFC 3339, and ``until`` None has no end."""

    by: str
    since: str
    reason: str
    until: str | None


class ConfirmationDocument(Struct, frozen=True, kw_only=True):
    """A record of a confirmation; ``at`` is RFC 3339, and no two have the same ``nonce``."""

    by: str
    at: str
    cluster_id: str
    registry_topic_id: str
    nonce: str


def suspension_key(project: str | None) -> str:
    """The key of a project's suspension, by its identity; None stands for every project."""
    return SUSPEND_ALL if project is None else f"{SUSPEND_ALL}/{project}"


def confirmation_key(project: str | None) -> str:
    """The key of a project's confirmation, by its identity; None stands for every project."""
    return CONFIRM_ALL if project is None else f"{CONFIRM_ALL}/{project}"


def is_suspension(key: str) -> bool:
    """Return whether the record under ``key`` is a suspension."""
    return key.partition("/")[0] == SUSPEND_ALL


def is_confirmation(key: str) -> bool:
    """Return whether the record under ``key`` is a confirmation."""
    return key.partition("/")[0] == CONFIRM_ALL


def read_suspension(key: str, value: Mapping[str, Json]) -> SuspensionDocument:
    """Read the record of a suspension.

    Raises:
        SafetyError: it can't be read, so it is unknown whether anything may be applied.
    """
    check_version(key, value)
    try:
        document = read_record(SuspensionDocument, key, value)
        if document.until is not None:
            moments.from_text(document.until)
    except (ShapeError, ValueError):
        raise SafetyError(
            f"the registry record {key} is damaged, so it is unknown whether reconciliation is "
            "suspended; write it again with kgitops reconcile suspend or resume"
        ) from None
    return document


def read_confirmation(key: str, value: Mapping[str, Json]) -> ConfirmationDocument:
    """Read the record of a confirmation.

    Raises:
        SafetyError: it can't be read, so it is unknown which cluster was confirmed.
    """
    check_version(key, value)
    try:
        return read_record(ConfirmationDocument, key, value)
    except ShapeError:
        raise SafetyError(
            f"the registry record {key} is damaged, so it is unknown which cluster was "
            "confirmed; write it again with kgitops reconcile resume"
        ) from None


def endless_suspension(key: str) -> Record:
    """The record in the place of a suspension that can't be read: it lasts until it is ended."""
    document = SuspensionDocument(
        by="kgitops registry repair", since="", reason="its record was damaged", until=None
    )
    return record(key, document)
