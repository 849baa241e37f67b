"""The hooks of a kind, which the stages call: what it declares, its plan, its export.

A kind says where its objects are and what it requests. Those of most are maps of named values, each
as text in normal form: the declared ones, the last applied ones and those that the cluster holds.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from kgitops.desired.findings import Findings, Path
from kgitops.kinds.exports import Exporting, Item
from kgitops.manifests.yaml.document import Document
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject, Record, last_applied, sorts_of
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.source import Source
from kgitops.model.values import overlaid
from kgitops.plan.context import PlanContext
from kgitops.plan.document.losses import OBJECTS_LOST
from kgitops.plan.document.plan import Basis, Change, Drift, FieldChange
from kgitops.plan.document.risks import RISK_LEVELS, Risk
from kgitops.plan.draft import PlanDraft
from kgitops.plan.phases import Phase, either
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove
from kgitops.plan.shown_values import (
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    last_applied_before,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
)

D = TypeVar("D", bound=DesiredObject)
Values = Mapping[str, str]
Steps = tuple[str, ...]
"""The keys that lead to a value in a record."""
Requested = Mapping[str, str | None]
"""New values by key; None for a key that is removed."""
NO_VALUES: Values = {}
_NO_BASIS = Basis()


class ObjectKind(ABC, Generic[D]):
    """A kind: what its documents declare, the plan of its objects in a ``context``, its export."""

    declares: ClassVar[Any]
    lost: ClassVar[tuple[str, str]] = OBJECTS_LOST
    files: ClassVar[str]
    """The name of exported files."""
    phases: ClassVar[tuple[Phase, Phase]]
    """Those of an object that comes or changes, and of one that goes."""
    scope_path: ClassVar[Path] = ("metadata", "virtualCluster")
    """The place in a document of the virtual cluster that its object is in."""
    always_scoped: ClassVar[bool] = False
    """True if each object is in a virtual cluster."""
    hooks: ClassVar[tuple[str, ...]] = ("declares", "files", "phases")

    def __init__(self, context: PlanContext) -> None:
        self.context = context
        self.current = context.current
        self.moved: set[str] = set()
        """Addresses of objects that are declared elsewhere now."""

    @abstractmethod
    def existing(self) -> Iterable[str]:
        """Return the addresses of all objects on the cluster."""

    def scope(self, item: D) -> str | None:
        """Return the virtual cluster that the object is in; None for none."""
        scope: str | None = getattr(item, "virtual_cluster", None)
        return scope

    def scope_place(self, item: D) -> Source:
        """Return the place that names the virtual cluster."""
        return item.located.at(*self.scope_path)

    def fits(self, item: D) -> bool:
        """Return whether the declared object can be planned; else add a finding.

        The virtual cluster that it is in exists, or is created by the plan.
        """
        del item
        return True

    @abstractmethod
    def plan_one(self, item: D) -> None:
        """Plan a declared object."""

    @abstractmethod
    def remove_one(self, removal: Removal) -> None:
        """Plan that an object is no longer declared."""

    def plan(self) -> PlanDraft:
        """Plan every difference between the declared objects and the cluster's."""
        context = self.context
        declared: Sequence[D] = (*context.desired.of(self.declares), *self.derived())
        for item in declared:
            if self.may_plan(item) and self._has_scope(item) and self.fits(item):
                self.plan_one(item)
        addresses = frozenset(item.address for item in declared)
        documents = self.documents(declared)
        for removal in find_removals(sorts_of(self.declares), addresses, context, documents):
            self.remove_one(removal)
        context.keep_others(dict.fromkeys(self.existing()), addresses | self.moved)
        self.complete()
        return context.draft

    def derived(self) -> Iterable[D]:
        """Return the objects that follow from those of other kinds."""
        return ()

    def may_plan(self, item: D) -> bool:
        """Return whether the object is selected and not another project's."""
        return self.context.may_plan(item)

    def documents(self, declared: Sequence[D]) -> Mapping[str, Source]:
        """Return by address the documents that may have declared an object before an edit."""
        del declared
        return {}

    def complete(self) -> None:
        """Plan what follows from the changes of all objects of the kind."""

    def _has_scope(self, item: D) -> bool:
        scope = self.scope(item)
        return scope is None or self.context.has_virtual_cluster(
            scope, self.scope_place(item), item.address
        )

    @classmethod
    def missing_hooks(cls) -> Sequence[str]:
        """Return what the kind must have and has not."""
        return sorted((*cls.__abstractmethods__, *(it for it in cls.hooks if not hasattr(cls, it))))

    @classmethod
    @abstractmethod
    def build(
        cls,
        declared: Any,  # noqa: ANN401 (the document, of the class that the kind's module has)
        document: Document,
        findings: Findings,
    ) -> Iterable[DesiredObject]:
        """Return the objects that a document declares, in normal form."""

    @classmethod
    @abstractmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return a document for each object that the project may declare.

        What the project applied itself is written as it was.
        """

    @classmethod
    def written_at(cls, item: D, steps: Steps) -> Iterable[Path]:
        """Return the paths under which the object's document may hold a value of its record."""
        del item
        return [("spec", *steps)]

    @classmethod
    @abstractmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return the requests that would create the cluster's objects, in a fixed order.

        ``policy audit`` judges one after the other. Internal objects have none.
        """

    @classmethod
    @abstractmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what a plan shows of a change, which follows from its requests and records."""

    @classmethod
    def defaults_shown(cls, change: Change) -> frozenset[str]:
        """Return the configs whose defaults on the brokers are shown, or that risks rest on."""
        del change
        return frozenset()

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return when the change is made: as its removal, or as what comes or changes."""
        return either(change, *cls.phases)


class ValuesKind(ObjectKind[D]):
    """A kind whose objects are maps of values, under the key ``field`` of a record."""

    field: ClassVar[str]
    adopted: ClassVar[Risk]
    removed: ClassVar[Risk]
    forgotten: ClassVar[Risk]
    created: ClassVar[tuple[Risk, ...]] = ()
    hooks = (*ObjectKind.hooks, "field", "adopted", "removed", "forgotten")

    @classmethod
    def values(cls, record: Record) -> Values:
        """Return the values in a record or view; none where there is no record."""
        values: Values = record.get(cls.field, NO_VALUES)
        return values

    @classmethod
    def path(cls, key: str) -> str:
        """Return the path under which a plan shows the value."""
        return f"{cls.field}.{key}"

    @classmethod
    @abstractmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the object that the record is about, with these values, as a plan shows it."""

    @abstractmethod
    def held(self, record: Record) -> Values:
        """Return what the cluster holds of the object that the record is about."""

    @abstractmethod
    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the requests that set and remove these values; there is at least one."""

    def renewed(self, item: D, managed: Record) -> frozenset[str]:
        """Return the keys whose values are set again although they are the same."""
        del item, managed
        return frozenset()

    def check(self, item: D, requested: Requested) -> None:
        """Add a finding where a value can't be set."""

    def expected_keys(self, record: Record, requested: Requested, held: Values) -> Iterable[str]:
        """Return the keys whose values must still be as they were read."""
        del record, held
        return requested

    def plan_one(self, item: D) -> None:
        """Create the object, or set and remove the values that differ."""
        context, record = self.context, last_applied(item)
        managed = context.ownership.last_applied(item.address)
        held, declared, last = self.held(record), self.values(record), self.values(managed)
        if managed and held:
            self.report_drift(item.address, declared, last, held)
        requested = differing(declared, last, held, self.renewed(item, managed))
        self.check(item, requested)
        requests = self.requests(record, requested) if requested else ()
        keys = self.expected_keys(record, requested, held)
        expects = context.expect(item.address, exists=bool(held), fields=self.expected(keys, held))
        before = self.view(record, held) if held else None
        context.change(item, self.declares.kind, requests, before=before, expects=expects)

    def remove_one(self, removal: Removal) -> None:
        """Remove the values that were last applied; others that the object has stay."""
        record = removal.owner.last_applied
        held = self.held(record)
        owned = self.owned(record, held)
        requested: Requested = dict.fromkeys(owned) if removal.kind is RemovalKind.DELETE else {}
        remove(
            self.context,
            removal,
            self.declares.kind,
            self.requests(record, requested) if requested else (),
            before=self.view(record, held) if held else None,
            expected=self.expected(requested, held),
            basis=_NO_BASIS if requested else self.basis_of_rest(record, owned),
        )

    def owned(self, record: Record, held: Values) -> Sequence[str]:
        """Return the keys that a removal takes away: those last applied that are still there."""
        return [key for key in sorted(self.values(record)) if key in held]

    def basis_of_rest(self, record: Record, owned: Sequence[str]) -> Basis:
        """Return what a plan that only forgets these keys has to show of them."""
        del record, owned
        return _NO_BASIS

    def expected(self, keys: Iterable[str], held: Values) -> dict[str, str | None]:
        """Return the fields of a precondition: these values as they were read."""
        return {self.path(key): held.get(key) for key in keys}

    def report_drift(self, address: str, declared: Values, last: Values, held: Values) -> None:
        """Report the values that another client changed since the last apply."""
        for key in sorted({*held, *last}):
            if held.get(key) == last.get(key):
                continue
            undeclared = key not in last and key not in declared
            restored = declared.get(key) != held.get(key)
            self.context.draft.drift.append(
                Drift(
                    address=address,
                    path=self.path(key),
                    last_applied=last.get(key),
                    found=held.get(key),
                    rule="undeclared" if undeclared else "restored" if restored else "accepted",
                )
            )

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return the risk of a value that changes, for ``shown_values``."""
        raise NotImplementedError

    @classmethod
    def held_before(cls, change: Change) -> Values:
        """Return the values that the object has before the change."""
        return cls.values(change.before) if change.before else NO_VALUES

    @classmethod
    def changed_fields(cls, change: Change, requested: Requested) -> tuple[FieldChange, ...]:
        """Return the fields of the values that are set and removed."""
        held = cls.held_before(change)
        return tuple(
            FieldChange(
                path=cls.path(key),
                before=held.get(key),
                after=value,
                risk=cls.risk(key, held.get(key), value),
            )
            for key, value in requested.items()
        )

    @classmethod
    def shown_values(cls, change: Change, requested: Requested) -> Shown:
        """Return what is shown of a change that sets and removes these values."""
        remaining = overlaid(cls.held_before(change), requested)
        fields = cls.changed_fields(change, requested)
        lost = [field.risk for field in fields if field.risk is not None]
        worst = min((cls.removed, *lost), key=lambda risk: RISK_LEVELS.index(risk.level))
        return cls.shown_as(
            change, remaining, fields, removal=worst if requested else cls.forgotten
        )

    @classmethod
    def shown_as(
        cls, change: Change, remaining: Values, fields: Sequence[FieldChange], *, removal: Risk
    ) -> Shown:
        """Return all that is shown, from the values that remain and the fields that change."""
        if releases_ownership(change):
            last, held = last_applied_before(change), cls.held_before(change)
            is_gone = not (
                change.requests or basis_of(change).in_part or set(last[cls.field]) & set(held)
            )
            return removed(
                change,
                risk=removal,
                because=reason_of_removal(change, gone=is_gone),
                remaining=cls.view(last, remaining) if remaining else None,
                fields=tuple(fields),
            )
        after = cls.view(owner_after(change).last_applied, remaining)
        if change.before is None:
            return created(change, after=after, fields=tuple(fields), risky=cls.created)
        adoption = cls.adopted if is_adopted(change) else None
        return altered(change, after=after, fields=tuple(fields), adoption=adoption)


def differing(
    declared: Values, last: Values, held: Values, renewed: frozenset[str] = frozenset()
) -> Requested:
    """Return what to set or remove; a key that is neither declared nor last applied stays."""
    return {
        key: declared.get(key)
        for key in sorted({*declared, *last})
        if declared.get(key) != held.get(key) or key in renewed
    }
