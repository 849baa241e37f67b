"""The context in which each kind is planned, and the draft that gathers the results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kgitops.desired.state import DeletionPolicy, DesiredObject, DesiredState, DesiredTopic
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, Drift, FieldChange, Kept
from kgitops.plan.document.risks import Risk
from kgitops.plan.link_index import NO_LINKS, LinkIndex
from kgitops.plan.normal_form import last_applied
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership, OwnershipStatus, removal_policy
from kgitops.plan.stale_throttles import NO_STALE_THROTTLES, StaleThrottles


@dataclass(slots=True)
class PlanDraft:
    """Collects the results of planning one kind; planning goes on after a problem."""

    changes: list[Change] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    refusals: list[Reason] = field(default_factory=list)

    def refuse(self, sentence: str) -> None:
        """Add a refusal by a safety rule (exit 5)."""
        self.refusals.append(Reason(exit=ExitCode.REFUSED, sentence=sentence))

    def keep(self, address: str, rule: str) -> None:
        """Record that the object is left alone because of ``rule``."""
        self.kept.append(Kept(address=address, rule=rule))


def merge_drafts(drafts: Iterable[PlanDraft]) -> PlanDraft:
    """Combine all drafts into one, in their order."""
    total = PlanDraft()
    for draft in drafts:
        total.changes += draft.changes
        total.drift += draft.drift
        total.kept += draft.kept
        total.findings += draft.findings
        total.warnings += draft.warnings
        total.refusals += draft.refusals
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
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

    def report_missing(self, address: str) -> None:
        """Report the drift of a managed object that is gone from the cluster."""
        self.draft.drift.append(
            Drift(address=address, path="", last_applied="present", found=None, rule="missing")
        )

    def keep_others(self, found: dict[str, None], declared: frozenset[str]) -> None:
        """Record all other objects on the cluster as kept, with the rule."""
        for address in found:
            if address in declared:
                continue
            match self.ownership.status(address):
                case OwnershipStatus.UNMANAGED | OwnershipStatus.SPENT:
                    self.draft.keep(address, "unmanaged")
                case OwnershipStatus.FOREIGN | OwnershipStatus.TAKEABLE:
                    self.draft.keep(address, "foreign")
                case OwnershipStatus.MINE:
                    pass  # planned as a removal, or kept with a rule of its own


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


def takeover_risks(ownership: Ownership, address: str) -> set[Risk]:
    """Return the risk of an object that is taken over from another project, if it is."""
    return {risks.OBJECT_TAKEN} if ownership.status(address) is OwnershipStatus.TAKEABLE else set()


def because_adopted(ownership: Ownership, address: str) -> str:
    """Explain why an existing object is adopted."""
    match ownership.status(address):
        case OwnershipStatus.TAKEABLE:
            return f"it is taken over from the project {ownership.label(address)!r}"
        case OwnershipStatus.MINE:
            return "it was deleted and made anew outside of kgitops"
        case _:
            return "it exists and nobody manages it"


def because_remembered(before: Owner | None, after: Owner) -> str:
    """Explain why only the registry's record changes."""
    if before is not None and before.project != after.project:
        return "it was applied under a former identity of this project"
    return "its document says more than was last applied"


def registry_fields(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    """Return the differences between two records if the cluster itself does not change."""
    old = _flat(before.last_applied) if before else {}
    new = _flat(after.last_applied)
    return (*_identity_field(before, after), *_declared_fields(before, after, old, new))


def _identity_field(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    if before is None or before.project == after.project:
        return ()
    return (
        FieldChange(
            path="owner",
            before=before.project,
            after=after.project,
            risk=risks.REGISTRY_ONLY,
            note="registry only",
        ),
    )


def _declared_fields(
    before: Owner | None, after: Owner, old: Mapping[str, str], new: Mapping[str, str]
) -> tuple[FieldChange, ...]:
    return tuple(
        _registry_field(
            path,
            old.get(path),
            new.get(path),
            risks.PROTECTION_LOWERED
            if path in _PROTECTION and _lowers_protection(before, after)
            else risks.REGISTRY_ONLY,
        )
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    )


def protection_fields(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    """Return the field change of a weaker protection against removal, next to other changes."""
    if before is None or before.spent or not _lowers_protection(before, after):
        return ()
    old, new = removal_policy(before).value, removal_policy(after).value
    return (_registry_field("deletionPolicy", old, new, risks.PROTECTION_LOWERED),)


_PROTECTION = ("deletionPolicy", "deletionPolicyWritten")
_STRENGTH = (DeletionPolicy.DELETE, DeletionPolicy.ORPHAN, DeletionPolicy.PROTECT)


def _lowers_protection(before: Owner | None, after: Owner) -> bool:
    if before is None:
        return False
    old, new = removal_policy(before), removal_policy(after)
    return old is not new and _STRENGTH.index(new) < _STRENGTH.index(old)


def _registry_field(path: str, before: str | None, after: str | None, risk: Risk) -> FieldChange:
    return FieldChange(
        path=f"lastApplied.{path}", before=before, after=after, risk=risk, note="registry only"
    )


def _flat(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        parts: dict[str, str] = {}
        for key, item in value.items():
            parts |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
        return parts
    return {} if value is None else {prefix: str(value)}
