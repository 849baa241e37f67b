"""Removal of managed objects that are no longer declared (contract §1)."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.model.json.declared import DeletionPolicy, Tombstone
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import is_internal
from kgitops.model.source import Finding, Severity, Source
from kgitops.plan.context import PlanContext, selected
from kgitops.plan.document.plan import Basis, Change, NamedTombstone, Precondition
from kgitops.plan.draft import PlanDraft, chain
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership, OwnershipStatus, removal_policy

ALREADY_GONE = "; it is already gone from the cluster"
PROTECTED = "protected"
"""The rule by which an object is kept that would be removed, were it not protected."""
_TOPIC = "topic/"
_NO_FIELDS: Mapping[str, str | None] = {}
_NO_BASIS = Basis()
_OF_SHARED_DOCUMENTS = frozenset({"acl", "user", "client", "group", "txn"})
"""Kinds of which one document can declare several objects."""


class RemovalKind(Enum):
    """The kind of removal of an object that is no longer declared."""

    DELETE = auto()
    FORGET = auto()


class Removal(Struct, frozen=True, kw_only=True):
    """One managed object that leaves the project; ``tombstone`` is the one that names it.

    ``document`` is the place of the only document that may have declared a binding, if it exists.
    """

    address: str
    owner: Owner
    kind: RemovalKind
    tombstone: Tombstone | None = None
    document: Source | None = None

    @property
    def owner_after(self) -> Owner | None:
        """The record that the registry keeps of it."""
        return after_removal(self.owner, self.tombstone.name if self.tombstone else None)

    @property
    def named(self) -> NamedTombstone | None:
        """The Tombstone's name and reason, for the basis of the change."""
        by = self.tombstone
        return NamedTombstone(name=by.name, reason=by.reason) if by else None

    @property
    def source(self) -> Source | None:
        """The source of the Tombstone or of the document; a removed document has none."""
        return self.tombstone.located.source if self.tombstone else self.document


def after_removal(owner: Owner, tombstone: str | None) -> Owner | None:
    """Return the record of a removed object: its executed Tombstones; None if there are none.

    Earlier Tombstones are kept as well, for any kind of removal: their documents may still exist,
    and must not act again. One that acts again, for it names the id of a new topic, is kept with
    that id.
    """
    executed = list(owner.last_applied.get(EXECUTED_TOMBSTONES, ()))
    if tombstone:
        executed.append(f"{tombstone}@{owner.topic_id}" if tombstone in executed else tombstone)
    if not executed:
        return None
    return replace(
        owner, spent=True, last_applied={**owner.last_applied, EXECUTED_TOMBSTONES: executed}
    )


def removal_reason(
    address: str, owner: Owner, tombstone: NamedTombstone | None, document: Source | None
) -> str:
    """Explain why an object is removed: by a Tombstone, or because no document declares it."""
    if tombstone is not None:
        return f"the Tombstone {tombstone.name} names it: {tombstone.reason}"
    if is_internal(address.removeprefix(_TOPIC)):
        return "it is an internal topic, so only its record in the registry is removed"
    absence = absence_reason(address, document)
    if owner.adopted and not owner.last_applied["deletionPolicyWritten"]:
        return (
            f"{absence}, and an adopted object without a written deletionPolicy is only forgotten"
        )
    policy = removal_policy(owner).value
    return f"{absence} and its last applied deletionPolicy is {policy}"


def absence_reason(address: str, document: Source | None) -> str:
    """Explain the absence of an object; that of one of many objects may be an edited document."""
    if document is not None:
        return f"the role at {document.file}:{document.line} does not declare it now"
    if kind_of(address) in _OF_SHARED_DOCUMENTS:
        return "no document declares it any more"
    return "its document was removed"


def find_removals(
    kinds: tuple[str, ...],
    declared: frozenset[str],
    context: PlanContext,
    documents: Mapping[str, Source],
) -> list[Removal]:
    """Find managed objects of these kinds to remove, by a Tombstone or by their absence.

    The kinds are those of :func:`kind_of`: topics of virtual clusters are topics as well.
    ``documents`` are the places of those that may have declared an object, by its address.
    """
    desired, ownership, draft = context.desired, context.ownership, context.draft
    removals = _by_tombstone(kinds, declared, desired, ownership, draft)
    # A spent Tombstone has no effect, so the absence of a document counts.
    tombstoned = {
        tombstone.address for tombstone in desired.tombstones if not _is_spent(tombstone, ownership)
    }
    for address in sorted(ownership.mine(*kinds)):
        if address in declared or address in tombstoned:
            continue
        removal = _by_absence(address, documents.get(address), context)
        if removal:
            removals.append(removal)
    return sorted(removals, key=lambda removal: removal.address)


def _by_tombstone(
    kinds: tuple[str, ...],
    declared: frozenset[str],
    desired: DesiredState,
    ownership: Ownership,
    draft: PlanDraft,
) -> list[Removal]:
    removals: dict[str, Removal] = {}
    for tombstone in sorted(desired.tombstones, key=lambda tombstone: tombstone.name):
        address = tombstone.address
        if kind_of(address) not in kinds:
            continue
        other = removals[address].tombstone if address in removals else None
        if address in declared or other:
            conflicting = f"the Tombstone {other.name}" if other else "a document"
            draft.findings.append(
                Finding(
                    source=tombstone.located.source,
                    problem=f"the Tombstone {tombstone.name} names {address}, and so does "
                    f"{conflicting}",
                    advice="keep one of the two",
                )
            )
            continue
        if not selected(desired, address):
            draft.keep(address, "excluded")
            continue
        if _is_spent(tombstone, ownership):
            draft.warnings.append(
                Finding(
                    source=tombstone.located.source,
                    problem=f"the Tombstone {tombstone.name} was already executed and deleted "
                    f"{address}",
                    advice="remove the document, which has no further effect",
                    severity=Severity.WARNING,
                )
            )
            continue
        owner = ownership.owner(address)
        match ownership.status(address):
            case OwnershipStatus.MINE if owner is not None:
                if tombstone.topic_id and tombstone.topic_id != owner.topic_id:
                    draft.findings.append(
                        Finding(
                            source=tombstone.located.at("spec", "topicId"),
                            problem=f"the Tombstone {tombstone.name} is for the topic id "
                            f"{tombstone.topic_id}, but {address} has {owner.topic_id}",
                            advice="look at the topic again and write its id, or remove the "
                            "Tombstone",
                        )
                    )
                    continue
                removals[address] = Removal(
                    address=address,
                    owner=owner,
                    kind=RemovalKind.DELETE,
                    tombstone=tombstone,
                )
            case OwnershipStatus.FOREIGN | OwnershipStatus.TRANSFERABLE:
                draft.refuse(
                    f"{address} belongs to the project {ownership.label(address)!r}, so the "
                    f"Tombstone {tombstone.name} can't delete it; delete it from there"
                )
            case _:
                draft.findings.append(
                    Finding(
                        source=tombstone.located.source,
                        problem=f"the Tombstone {tombstone.name} names {address}, which nobody "
                        "manages",
                        advice="declare the object and apply to adopt it first, or remove the "
                        "Tombstone",
                    )
                )
    return list(removals.values())


def _is_spent(tombstone: Tombstone, ownership: Ownership) -> bool:
    """True if the Tombstone was executed; it does not apply to an object created since then."""
    owner = ownership.owner(tombstone.address)
    if owner is None or owner.spent:
        return owner is not None
    executed = tombstone.name in owner.last_applied.get(EXECUTED_TOMBSTONES, ())
    mine = ownership.status(tombstone.address) is OwnershipStatus.MINE
    return mine and executed and tombstone.topic_id is None


def _by_absence(address: str, document: Source | None, context: PlanContext) -> Removal | None:
    desired, draft = context.desired, context.draft
    owner = context.ownership.owners[address]
    if not selected(desired, address):
        draft.keep(address, "excluded")
        return None
    if not desired.scope.whole:
        draft.keep(address, "not-loaded")
        return None
    if address in desired.scope.other_clusters:
        draft.keep(address, "other-cluster")
        return None
    if is_internal(address.removeprefix(_TOPIC)):
        return Removal(address=address, owner=owner, kind=RemovalKind.FORGET)
    policy = removal_policy(owner)
    if policy is DeletionPolicy.PROTECT:
        shared = kind_of(address) in _OF_SHARED_DOCUMENTS
        again = "declare it again" if shared else "put the document back"
        context.refuse(
            address,
            f"{address} is protected: {absence_reason(address, document)}, but its last applied "
            f"deletionPolicy is Protect; declare a Tombstone for it, or {again} and apply it with "
            "deletionPolicy: Delete (or Orphan) before removing it",
        )
        draft.keep(address, PROTECTED)
        return None
    kind = RemovalKind.DELETE if policy is DeletionPolicy.DELETE else RemovalKind.FORGET
    return Removal(address=address, owner=owner, kind=kind, document=document)


def remove(
    context: PlanContext,
    removal: Removal,
    kind: Kind,
    requests: Sequence[Request] = (),
    *,
    before: Mapping[str, Json] | None,
    topic_id: str | None = None,
    expected: Mapping[str, str | None] = _NO_FIELDS,
    derived_from: tuple[str, ...] = (),
    basis: Basis = _NO_BASIS,
) -> None:
    """Add the deletion of an object, or that it is forgotten; without ``before`` it is gone.

    ``expected`` are the fields that must still hold.
    """
    expects = Precondition(
        object=removal.address,
        exists=before is not None,
        topic_id=topic_id,
        owner=removal.owner.project,
        fields=expected,
    )
    context.draft.changes.append(
        Change(
            address=removal.address,
            kind=kind,
            source=removal.source,
            before=before,
            preconditions=(expects,),
            requests=chain(requests, expects),
            owner_before=removal.owner,
            owner_after=removal.owner_after,
            derived_from=derived_from,
            basis=replace(basis, tombstone=removal.named),
        )
    )


def remove_whole(
    context: PlanContext,
    removal: Removal,
    kind: Kind,
    request: Request,
    *,
    before: Mapping[str, Json] | None,
    expected: Mapping[str, str | None] = _NO_FIELDS,
) -> None:
    """Add the removal of an object that ``request`` deletes as a whole, if it still exists."""
    deletes = before is not None and removal.kind is RemovalKind.DELETE
    requests = [request] if deletes else ()
    remove(context, removal, kind, requests, before=before, expected=expected)
