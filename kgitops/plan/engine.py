"""The plan of one kind: what is declared, what leaves the project, and what is kept.

A kind says where its objects are and what it requests. Those of most are maps of named values, each
as text in normal form: the declared ones, the last applied ones and those that the cluster holds.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from kgitops.model.json.declared import DesiredObject, Record, last_applied, sorts_of
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Drift
from kgitops.plan.draft import PlanDraft
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove

D = TypeVar("D", bound=DesiredObject)
Values = Mapping[str, str]
Requested = Mapping[str, str | None]
"""New values by key; None for a key that is removed."""
NO_VALUES: Values = {}
_NO_BASIS = Basis()


class KindPlanner(ABC, Generic[D]):
    """The plan of the objects of one class that manifests ``declare``, in a ``context``."""

    declares: ClassVar[Any]

    def __init__(self, context: PlanContext) -> None:
        self.context = context
        self.current = context.current
        self.moved: set[str] = set()
        """Addresses of objects that are declared elsewhere now."""

    @abstractmethod
    def existing(self) -> Iterable[str]:
        """Return the addresses of all objects on the cluster."""

    def fits(self, item: D) -> bool:
        """Return whether the declared object can be planned; else add a finding."""
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
        context, declared = self.context, self.context.desired.of(self.declares)
        for item in declared:
            if context.may_plan(item) and self.fits(item):
                self.plan_one(item)
        addresses = frozenset(item.address for item in declared)
        for removal in find_removals(sorts_of(self.declares), addresses, context):
            self.remove_one(removal)
        context.keep_others(dict.fromkeys(self.existing()), addresses | self.moved)
        return context.draft


class ValuesPlanner(KindPlanner[D]):
    """A kind whose objects are maps of values, under the key ``field`` of a record."""

    field: ClassVar[str]

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


def differing(
    declared: Values, last: Values, held: Values, renewed: frozenset[str] = frozenset()
) -> Requested:
    """Return what to set or remove; a key that is neither declared nor last applied stays."""
    return {
        key: declared.get(key)
        for key in sorted({*declared, *last})
        if declared.get(key) != held.get(key) or key in renewed
    }
