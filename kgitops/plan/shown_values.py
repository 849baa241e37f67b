"""The values shown of any change, and what all kinds share: creation, alteration, removal."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import GLOBAL_GROUP, Kind
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Basis, Change, FieldChange, Takeover
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.ownership import (
    adoption_reason,
    protection_fields,
    record_change_reason,
    registry_fields,
)
from kgitops.plan.removal import ALREADY_GONE, removal_reason

NO_BASIS = Basis()
UNFINISHED = "an unfinished run left it"
_NO_IMPACT: Mapping[str, Json] = {}
_MEMBER_KINDS = (Kind.LINK, Kind.BINDING, Kind.GROUP)
"""Kinds whose objects are removed from a virtual cluster, not deleted."""


class ContradictionError(ValueError):
    """Parts of a change that do not fit together."""


class Shown(Struct, frozen=True, kw_only=True):
    """The values of a change that a reviewer reads."""

    actions: tuple[Action, ...]
    after: Mapping[str, Json] | None
    fields: tuple[FieldChange, ...] = ()
    risks: tuple[Risk, ...]
    because: str
    impact: Mapping[str, Json] = _NO_IMPACT


class Surroundings(Struct, frozen=True, kw_only=True):
    """The surroundings of a change: the brokers' defaults, and all changes of the plan by address.

    ``moved`` are the addresses that members leave by moving to another virtual cluster.
    ``takeovers`` are the plan's, which then has no other changes.
    """

    defaults: Mapping[str, str]
    changes: Mapping[str, Change]
    moved: frozenset[str]
    takeovers: tuple[Takeover, ...] = ()


def basis_of(change: Change) -> Basis:
    """Return the basis of the change, empty if it has none."""
    return change.basis or NO_BASIS


def requests_of(change: Change) -> tuple[Request, ...]:
    """Return the requests of the change, in order."""
    return tuple(planned.request for planned in change.requests)


def releases_ownership(change: Change) -> bool:
    """Return whether the project manages the object no longer once the change is done."""
    return change.owner_after is None or change.owner_after.spent


def owner_after(change: Change) -> Owner:
    """Return the record after the change.

    Raises:
        ContradictionError: there is none.
    """
    if change.owner_after is None:
        raise ContradictionError("stays without a record")
    return change.owner_after


def last_applied_before(change: Change) -> Mapping[str, Json]:
    """Return what was last applied to the object; nothing if no project manages it."""
    owner = change.owner_before
    return {} if owner is None or owner.spent else owner.last_applied


def is_adopted(change: Change) -> bool:
    """Return whether the project did not manage the existing object before."""
    owner = change.owner_before
    return owner is None or owner.spent or basis_of(change).taken_from is not None


def created(
    change: Change,
    *,
    after: Mapping[str, Json],
    fields: tuple[FieldChange, ...] = (),
    risky: Iterable[Risk] = (),
    because: str = "it is declared",
    impact: Mapping[str, Json] = _NO_IMPACT,
) -> Shown:
    """Show the creation of an object."""
    shown = (*fields, *protection_fields(change.owner_before, owner_after(change)))
    return Shown(
        actions=(Action.CREATE,),
        after=after,
        fields=shown,
        risks=_all_risks(shown, {*risky, *taken_risks(change)}),
        because=_vanished(change) or because,
        impact=impact,
    )


def altered(
    change: Change,
    *,
    after: Mapping[str, Json],
    fields: tuple[FieldChange, ...] = (),
    adoption: Risk | None,
    risky: Iterable[Risk] = (),
    because: str = "it differs from its document",
    impact: Mapping[str, Json] = _NO_IMPACT,
) -> Shown:
    """Show the change of an existing object; ``adoption`` is its risk if it is adopted as well.

    Without ``fields`` only the registry's record changes.
    """
    before, record = change.owner_before, owner_after(change)
    shown = (*fields, *protection_fields(before, record))
    updates = (Action.UPDATE,) if fields or adoption is None else ()
    actions = updates
    if adoption is not None:
        actions = (Action.ADOPT, *updates)
        risky = {*risky, adoption, *taken_risks(change)}
        because = adoption_reason(before, basis_of(change).taken_from)
    elif not fields:
        shown = registry_fields(before, record)
        because = record_change_reason(before, record)
    return Shown(
        actions=actions,
        after=after,
        fields=shown,
        risks=_all_risks(shown, risky),
        because=because,
        impact=impact,
    )


def removed(
    change: Change,
    *,
    risk: Risk | tuple[Risk, ...],
    because: str | None = None,
    deletes: bool | None = None,
    remaining: Mapping[str, Json] | None = None,
    fields: tuple[FieldChange, ...] = (),
    impact: Mapping[str, Json] = _NO_IMPACT,
) -> Shown:
    """Show the deletion of an object, or that it is forgotten.

    It ``deletes`` the object if there are requests, unless stated otherwise; ``remaining`` is what
    is left of it then.
    """
    deletes = bool(change.requests) if deletes is None else deletes
    return Shown(
        actions=(Action.DELETE if deletes else Action.FORGET,),
        after=remaining if deletes else change.before,
        fields=fields,
        risks=risk if isinstance(risk, tuple) else (risk,),
        because=reason_of_removal(change) if because is None else because,
        impact=impact,
    )


def removed_whole(change: Change, deleted: Risk, forgotten: Risk) -> Shown:
    """Show the removal of an object that goes whole, or not at all."""
    because = reason_of_removal(change, gone=change.before is None)
    return removed(change, risk=deleted if change.requests else forgotten, because=because)


def reason_of_removal(change: Change, *, gone: bool = False) -> str:
    """Explain why the object is removed; ``gone`` if there is nothing of it left."""
    if change.owner_before is None:
        raise ContradictionError("is removed, though no project manages it")
    tombstone = basis_of(change).tombstone
    reason = removal_reason(change.address, change.owner_before, tombstone, change.source)
    return f"{reason}{ALREADY_GONE}" if gone else reason


def taken_risks(change: Change) -> set[Risk]:
    """Return the risk of an object that is taken over from another project, if it is."""
    return {risks.OBJECT_TAKEN} if basis_of(change).taken_from is not None else set()


def _vanished(change: Change) -> str | None:
    """Explain why an object that was managed is created again; None if it never was.

    A group that has no configs ends with its consumers.
    """
    last = last_applied_before(change)
    if not last or (kind_of(change.address) == GLOBAL_GROUP and not last["configs"]):
        return None
    verb = "removed" if change.kind in _MEMBER_KINDS else "deleted"
    return f"it was {verb} outside of kgitops"


def _all_risks(fields: Iterable[FieldChange], more: Iterable[Risk]) -> tuple[Risk, ...]:
    every = {*more, *(field.risk for field in fields if field.risk)}
    return worst_first(every or {risks.REGISTRY_ONLY})
