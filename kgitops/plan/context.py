"""The context in which each kind is planned: its inputs, and the changes that all kinds share."""

import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import Client, ClusterState
from kgitops.model.json.declared import (
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredVirtualCluster,
    last_applied,
)
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.resources.groups import CommittedOffsets
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding, Source
from kgitops.plan.document.plan import Basis, Change, Drift, Precondition
from kgitops.plan.draft import ChainedRequest, PlanDraft, chain, chained
from kgitops.plan.link_index import NO_LINKS, LinkIndex, PlannedLinks
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership, OwnershipStatus
from kgitops.plan.stale_throttles import NO_STALE_THROTTLES, StaleThrottles


class EarlierFacts(Struct, frozen=True, kw_only=True):
    """The choices of an earlier plan by address: an apply that plans again keeps to them.

    Brokers come and go, and offsets grow: each kind decides if the choice could still be made.
    ``placements`` are the assignments of topics, with new partitions and after all moves;
    ``offsets`` those that resets commit, none for a group that has nothing to commit; ``records``
    the offsets by partition below which records are deleted; ``waits`` the topics whose change
    waits for a reassignment that was running.
    """

    placements: Mapping[str, tuple[Assignment, Assignment]] = field(default_factory=dict)
    offsets: Mapping[str, CommittedOffsets] = field(default_factory=dict)
    records: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    waits: frozenset[str] = frozenset()


NOTHING_EARLIER = EarlierFacts()


_NO_FIELDS: Mapping[str, str | None] = {}
_NO_BASIS = Basis()


class PlanContext(Struct, frozen=True, kw_only=True):
    """The desired and the current state, the ownership, and the draft of one kind's plan.

    ``links`` are those on the cluster now, ``planned_links`` those once the plan is applied;
    ``client`` is kgitops itself, ``earlier`` what an earlier plan chose. ``local`` is the name in a
    virtual cluster of the topic that is planned, to which its requests are addressed.
    """

    desired: DesiredState
    current: ClusterState
    ownership: Ownership
    stale_throttles: StaleThrottles = NO_STALE_THROTTLES
    links: LinkIndex = NO_LINKS
    planned_links: PlannedLinks | None = None
    client: Client | None = None
    earlier: EarlierFacts = NOTHING_EARLIER
    local: LocalName | None = None
    draft: PlanDraft = field(default_factory=PlanDraft)

    def may_plan(self, declared: DesiredObject) -> bool:
        """Return whether a declared object is selected and not another project's."""
        address = declared.address
        if not selected(self.desired, address):
            self.draft.keep(address, "excluded")
            return False
        if self.ownership.status(address) is OwnershipStatus.FOREIGN:
            label = self.ownership.label(address)
            self.refuse(
                address,
                f"{declared.located.source}: {address} {self.ownership.foreign_words(address)}; "
                f"remove the document. Only if {label!r} is to lose it, declare "
                f"metadata.takeFrom: [{label}]: that takes over the objects declared here, in a "
                "plan of their own, and needs that project's release (`kgitops registry release` "
                "there)",
            )
            self.draft.keep(address, "foreign")
            return False
        return True

    def stop(self, address: str, *findings: Finding) -> None:
        """Add findings about one object, and how to plan the other documents."""
        self.draft.findings += [
            replace(it, advice=f"{it.advice}{self._exclusion(address)}") for it in findings
        ]

    def refuse(self, address: str, sentence: str) -> None:
        """Add a refusal of one object, and how to plan the other documents."""
        self.draft.refuse(f"{sentence}{self._exclusion(address)}")

    def _exclusion(self, address: str) -> str:
        """Offer ``--exclude``, unless other documents may depend on the object's.

        Commands that declare objects themselves, and drift, have no such option.
        """
        desired, scope = self.desired, self.desired.scope
        offered = scope.takes_over and (scope.whole or scope.targets or scope.excludes)
        others: tuple[type[DesiredObject], ...]
        others = (DesiredVirtualCluster, DesiredLink, DesiredMember)
        if not offered or any(desired.of(kind) for kind in others):
            return ""
        return f". --exclude {shlex.quote(address)} plans the other documents"

    def knows_virtual_cluster(self, name: str) -> bool:
        """Return whether the virtual cluster exists, or is created by this plan."""
        return name in self.current.virtual_clusters or name in self.links.declared

    def has_virtual_cluster(self, name: str, source: Source, what: str) -> bool:
        """True if the virtual cluster exists, or is created by this plan; else add a finding."""
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

    def change(
        self,
        declared: DesiredObject,
        kind: Kind,
        requests: Sequence[Request | ChainedRequest] = (),
        *,
        before: Mapping[str, Json] | None = None,
        basis: Basis = _NO_BASIS,
        owner_after: Owner | None = None,
        expects: Precondition | None = None,
        more_preconditions: tuple[Precondition, ...] = (),
        derived_from: tuple[str, ...] = (),
        missing: bool = True,
    ) -> None:
        """Add the change that a declared object needs, its adoption included; none, if it has all.

        Without ``before`` it is created; one that was managed is then drift, unless its end is none
        (``missing``). ``expects`` is by default that the object exists, or doesn't.
        """
        address, exists = declared.address, before is not None
        if owner_after is None:
            owner_after = (
                self.record_after(declared, adopts=self.adopts(address))
                if exists
                else self.owner_after(declared, adopted=False)
            )
        owner = self.ownership.owner(address)
        if exists and not requests and owner == owner_after:
            return
        if not exists and missing and self.ownership.last_applied(address):
            self.report_missing(address)
        expects = expects or self.expect(address, exists=exists)
        self.draft.changes.append(
            Change(
                address=address,
                kind=kind,
                source=declared.located.source,
                before=before,
                preconditions=(expects, *more_preconditions),
                requests=chain([it.named(self.local) for it in map(chained, requests)], expects),
                owner_before=owner,
                owner_after=owner_after,
                derived_from=derived_from,
                basis=replace(basis, taken_from=self.ownership.taken_from(address)),
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
        """Return whether an existing object that is declared is not managed by this project yet."""
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
                case OwnershipStatus.UNMANAGED | OwnershipStatus.TOMBSTONED:
                    self.draft.keep(address, "unmanaged")
                case OwnershipStatus.FOREIGN | OwnershipStatus.TRANSFERABLE:
                    self.draft.keep(address, "foreign")
                case OwnershipStatus.MINE:
                    pass  # planned as a removal, or kept with a rule of its own


def selected(desired: DesiredState, address: str) -> bool:
    """Return whether ``--target`` and ``--exclude`` include this object."""
    scope = desired.scope
    if address in scope.excludes:
        return False
    return not scope.targets or address in scope.targets
