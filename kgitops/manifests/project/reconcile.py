"""``spec.reconcile`` of a project, or of one of its clusters: what may be applied by itself."""

from dataclasses import field
from typing import Annotated, Literal

from msgspec import Struct

from kgitops.manifests.kinds.fields import IntRange, NotNull, manifest
from kgitops.manifests.project.notifications import NotificationDocument

Mode = Literal["observe", "converge", "auto"]
MaxRisk = Literal["safe", "disruptive", "access-loss", "data-loss"]


@manifest
class HealSettings:
    """The undoing of what others changed since it was last applied."""

    enabled: Annotated[bool | None, NotNull()] = None
    """False only reports what others changed; true if left out."""
    times: Annotated[int | None, IntRange(1, 1000, 3), NotNull()] = None
    """The number of times that an object is healed within the window; when somebody changes it
    again after that, it is left alone and reported as a fight. 3 if left out."""
    within_minutes: Annotated[int | None, IntRange(1, 10080, 60), NotNull()] = None
    """The length of the window in minutes; 60 if left out."""


@manifest
class ReconcileDocument:
    """Settings of kgitops reconcile: the changes that it may apply by itself."""

    mode: Annotated[Mode | None, NotNull()] = None
    """observe reports only; converge undoes what others changed and applies what is at most
    maxRisk, but no deletion; auto applies whatever limits, protection and policies let through.
    observe if left out."""
    max_risk: Annotated[MaxRisk | None, NotNull()] = None
    """The worst level of a change that converge applies; safe if left out."""
    suspend: Annotated[bool | None, NotNull()] = None
    """True plans and reports, and applies nothing; false if left out."""
    heal: HealSettings = field(default_factory=HealSettings)
    """The undoing of what others changed since it was last applied."""


@manifest
class ProjectReconcileDocument(ReconcileDocument):
    """Settings of kgitops reconcile: the changes that it may apply by itself, and who is told."""

    notifications: list[NotificationDocument] = field(default_factory=list)
    """Those who are told of changes of state: chats, Alertmanager, commits on GitHub."""


class ReconcileSettings(Struct, frozen=True, kw_only=True):
    """The settings on one cluster, with the project's and the defaults filled in."""

    mode: Mode = "observe"
    max_risk: MaxRisk = "safe"
    suspend: bool = False
    heal: bool = True
    heal_times: int = 3
    heal_within_s: int = 3600


def reconcile_settings(
    project: ReconcileDocument | None, cluster: ReconcileDocument | None
) -> ReconcileSettings:
    """The settings of the project, those of the cluster over them, field by field."""
    found: dict[str, object] = {}
    for written in (project, cluster):
        if written is None:
            continue
        minutes = written.heal.within_minutes
        fields = {
            "mode": written.mode,
            "max_risk": written.max_risk,
            "suspend": written.suspend,
            "heal": written.heal.enabled,
            "heal_times": written.heal.times,
            "heal_within_s": None if minutes is None else minutes * 60,
        }
        found |= {name: value for name, value in fields.items() if value is not None}
    return ReconcileSettings(**found)  # type: ignore[arg-type]  # each of its field's own type
