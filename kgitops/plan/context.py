"""The context in which each kind is planned: its inputs, and the changes that all kinds share."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from kgitops.desired.state import DesiredObject, DesiredState, DesiredTopic
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding, Source
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift, FieldChange, Kind, Precondition
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.draft import ChainedRequest, PlanDraft, chain
from kgitops.plan.link_index import NO_LINKS, LinkIndex
from kgitops.plan.normal_form import last_applied
from kgitops.plan.ownership import (
    EXECUTED_TOMBSTONES,
    Ownership,
    OwnershipStatus,
    adoption_reason,
    protection_fields,
    record_change_reason,
    registry_fields,
    takeover_risks,
)
from kgitops.plan.stale_throttles import NO_STALE_THROTTLES, StaleThrottles

_NO_FIELDS: Mapping[str, str | None] = {}
_NO_IMPACT: Mapping[str, Json] = {}
_MEMBER_KINDS = (Kind.LINK, Kind.BINDING, Kind.GROUP)
"""Kinds whose objects are removed from a virtual cluster, not deleted."""


class PlanContext(Struct, frozen=True, kw_only=True):
    """The desired and the current state, the ownership, and the draft of one kind's plan.

    ``links`` are those on the cluster now.
    """

    desired: DesiredState
    current: ClusterState
    ownership: Ownership
    stale_throttles: StaleThrottles = NO_STALE_THROTTLES
    links: LinkIndex = NO_LINKS
    draft: PlanDraft = field(default_factory=PlanDraft)

    def may_plan(self, declared: DesiredObject) -> bool:
        """Tell if a declared object is selected and not another project's."""
        address = declared.address
        if not selected(self.desired, address):
            self.draft.keep(address, "excluded")
            return False
        if self.ownership.status(address) is OwnershipStatus.FOREIGN:
            label = self.ownership.label(address)
            self.draft.refuse(
                f"{declared.located.source}: {address} belongs to the project {label!r}; remove "
                f"the document, or declare metadata.takeFrom: [{label}] to take its objects over"
            )
            self.draft.keep(address, "foreign")
            return False
        return True

    def knows_virtual_cluster(self, name: str) -> bool:
        """Tell if the virtual cluster exists, or is created by this plan."""
        return name in self.current.virtual_clusters or name in self.links.declared

    def has_virtual_cluster(self, name: str, source: Source, what: str) -> bool:
        """Tell if the virtual cluster exists, or is created by this plan; else add a finding."""
        if self.knows_virtual_cluster(name):
            return True
        self.draft.findings.append(
            Finding(
                source=source,
                problem=f"{what} is in the virtual cluster {name}, which is neither on the cluster "
                "nor in this plan",
                advice="declare a VirtualCluster of that name, or correct the name",
            )
        )
        return False

    def owner_after(
        self, declared: DesiredObject, *, topic_id: str | None = None, adopted: bool
    ) -> Owner:
        """Return the registry's record once the declared object is applied."""
        # An executed Tombstone must not delete an object that was created since then (removal).
        executed_tombstones = list(self.ownership.executed_tombstones(declared.address))
        return Owner(
            project=self.ownership.identity,
            topic_id=topic_id,
            adopted=adopted,
            last_applied={
                **last_applied(declared),
                **({EXECUTED_TOMBSTONES: executed_tombstones} if executed_tombstones else {}),
            },
        )

    def owner_label(self, address: str) -> str | None:
        """Return the identity that a precondition expects in the registry."""
        owner = self.ownership.owner(address)
        return None if owner is None or owner.spent else owner.project

    def create(
        self,
        declared: DesiredObject,
        kind: Kind,
        requests: Sequence[Request],
        *,
        after: Mapping[str, Json],
        risky: Iterable[Risk] = (),
        fields: tuple[FieldChange, ...] = (),
        because: str = "it is declared",
        owner_after: Owner | None = None,
        expects: Precondition | None = None,
        impact: Mapping[str, Json] = _NO_IMPACT,
        derived_from: tuple[str, ...] = (),
        missing: bool = True,
    ) -> None:
        """Add the creation of a declared object; one that was managed is reported as missing.

        ``expects`` is by default that there is no such object, with none of the fields.
        Unless its end is no drift: it is not ``missing`` then.
        """
        address = declared.address
        owner = self.ownership.owner(address)
        owner_after = owner_after or self.owner_after(declared, adopted=False)
        if missing and self.ownership.last_applied(address):
            self.report_missing(address)
            verb = "removed" if kind in _MEMBER_KINDS else "deleted"
            because = f"it was {verb} outside of kgitops"
        shown = (*fields, *protection_fields(owner, owner_after))
        expects = expects or self.expect(
            address, exists=False, fields={field.path: field.before for field in fields}
        )
        self.draft.changes.append(
            Change(
                address=address,
                kind=kind,
                actions=(Action.CREATE,),
                risks=_all_risks(shown, {*risky, *takeover_risks(self.ownership, address)}),
                because=because,
                source=declared.located.source,
                before=None,
                after=after,
                fields=shown,
                preconditions=(expects,),
                requests=chain(requests, expects),
                owner_before=owner,
                owner_after=owner_after,
                impact=impact,
                derived_from=derived_from,
            )
        )

    def adopt_or_update(
        self,
        declared: DesiredObject,
        kind: Kind,
        requests: Sequence[Request],
        *,
        adoption: Risk,
        before: Mapping[str, Json],
        after: Mapping[str, Json],
        fields: tuple[FieldChange, ...],
        expects: Precondition | None = None,
    ) -> None:
        """Add the change of an existing object, unless it and its record are as declared.

        ``adoption`` is the risk of adopting it, if this project does not manage it yet.
        """
        adopts = self.adopts(declared.address)
        owner_after = self.record_after(declared, adopts=adopts)
        if not requests and not adopts and self.ownership.owner(declared.address) == owner_after:
            return
        self.update(
            declared,
            kind,
            requests,
            adopts=adoption if adopts else None,
            owner_after=owner_after,
            before=before,
            after=after,
            fields=fields,
            expects=expects,
        )

    def update(
        self,
        declared: DesiredObject,
        kind: Kind,
        requests: Sequence[Request | ChainedRequest],
        *,
        adopts: Risk | None,
        owner_after: Owner,
        before: Mapping[str, Json],
        after: Mapping[str, Json],
        fields: tuple[FieldChange, ...] = (),
        risky: Iterable[Risk] = (),
        because: str = "it differs from its document",
        expects: Precondition | None = None,
        more_preconditions: tuple[Precondition, ...] = (),
        impact: Mapping[str, Json] = _NO_IMPACT,
        derived_from: tuple[str, ...] = (),
    ) -> None:
        """Add the change of an existing object to its declaration, its adoption included.

        ``adopts`` is the risk of the adoption, None if the project manages the object already.
        Without ``fields`` only the registry's record changes. ``expects`` is by default that the
        object exists with the fields as they are.
        """
        address = declared.address
        owner = self.ownership.owner(address)
        shown = (*fields, *protection_fields(owner, owner_after))
        if adopts:
            risky = {*risky, adopts, *takeover_risks(self.ownership, address)}
            because = adoption_reason(self.ownership, address)
        elif not fields:
            shown = registry_fields(owner, owner_after)
            because = record_change_reason(owner, owner_after)
        updates = (Action.UPDATE,) if fields or not adopts else ()
        expects = expects or self.expect(
            address, fields={field.path: field.before for field in fields}
        )
        self.draft.changes.append(
            Change(
                address=address,
                kind=kind,
                actions=((Action.ADOPT, *updates) if adopts else updates),
                risks=_all_risks(shown, risky),
                because=because,
                source=declared.located.source,
                before=before,
                after=after,
                fields=shown,
                preconditions=(expects, *more_preconditions),
                requests=chain(requests, expects),
                owner_before=owner,
                owner_after=owner_after,
                impact=impact,
                derived_from=derived_from,
            )
        )

    def expect(
        self,
        address: str,
        *,
        exists: bool = True,
        topic_id: str | None = None,
        fields: Mapping[str, str | None] = _NO_FIELDS,
    ) -> Precondition:
        """Return the precondition that the object has its current owner and these fields."""
        return Precondition(
            object=address,
            exists=exists,
            topic_id=topic_id,
            owner=self.owner_label(address),
            fields=fields,
        )

    def adopts(self, address: str) -> bool:
        """Tell if an existing object that is declared is not managed by this project yet."""
        return self.ownership.status(address) is not OwnershipStatus.MINE

    def record_after(
        self, declared: DesiredObject, *, adopts: bool, topic_id: str | None = None
    ) -> Owner:
        """Return the record of an existing object, which remembers that it was adopted."""
        owner = self.ownership.owner(declared.address)
        mine = not self.adopts(declared.address)
        adopted = adopts or bool(mine and owner and owner.adopted)
        return self.owner_after(declared, topic_id=topic_id, adopted=adopted)

    def report_missing(self, address: str) -> None:
        """Report the drift of a managed object that is gone from the cluster."""
        self.draft.drift.append(
            Drift(address=address, path="", last_applied="present", found=None, rule="missing")
        )

    def keep_others(self, existing: dict[str, None], declared: frozenset[str]) -> None:
        """Record all other objects on the cluster as kept, with the rule."""
        for address in existing:
            if address in declared:
                continue
            match self.ownership.status(address):
                case OwnershipStatus.UNMANAGED | OwnershipStatus.SPENT:
                    self.draft.keep(address, "unmanaged")
                case OwnershipStatus.FOREIGN | OwnershipStatus.TAKEABLE:
                    self.draft.keep(address, "foreign")
                case OwnershipStatus.MINE:
                    pass  # planned as a removal, or kept with a rule of its own


def _all_risks(fields: Iterable[FieldChange], more: Iterable[Risk]) -> tuple[Risk, ...]:
    all_risks = {*more, *(field.risk for field in fields if field.risk)}
    return worst_first(all_risks or {risks.REGISTRY_ONLY})


def selected(desired: DesiredState, address: str) -> bool:
    """Tell if ``--target`` and ``--exclude`` include this object."""
    scope = desired.scope
    if address in scope.excludes:
        return False
    return not scope.targets or address in scope.targets


def local_name(topic: DesiredTopic) -> LocalName | None:
    """Return the local name of a topic of a virtual cluster; None for a global one."""
    at = topic.virtual_cluster
    return None if at is None else LocalName(at, topic.name)
