"""An export: the objects that a project may declare, their documents, and notes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from kgitops.desired.expansion import Layer
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.wording import counted
from kgitops.plan.ownership import Ownership, OwnershipStatus

Document = Mapping[str, Json]


class Inline(dict[str, Json]):
    """A mapping that is written on one line: ``{type: topic, name: orders}``."""


class Item(Struct, frozen=True):
    """Documents that stay together: a topic, the ACLs of a principal."""

    name: str
    documents: Sequence[Document]


class ExportScope(Struct, frozen=True):
    """The cluster's objects as the project sees them; counts those that are not its own."""

    ownership: Ownership
    _foreign: Counter[str] = field(default_factory=Counter)

    def may_declare(self, address: str) -> bool:
        """True if a document for this object would be planned, and not refused as foreign."""
        if self.ownership.status(address) is not OwnershipStatus.FOREIGN:
            return True
        self._foreign[self.ownership.label(address)] += 1
        return False

    def last_applied(self, address: str) -> Mapping[str, Json]:
        """The declaration last applied to the object; empty if this project never applied one."""
        return self.ownership.last_applied(address)

    def foreign(self) -> Iterator[str]:
        """A sentence for each other project that manages something here."""
        for label, count in sorted(self._foreign.items()):
            yield (
                f"{counted(count, 'object')} left out, which the project {label!r} manages: export "
                f"{'it' if count == 1 else 'them'} there"
            )


def written_policy(last: Mapping[str, Json]) -> dict[str, Json]:
    """The deletionPolicy if it was written: it decides the effect of removing the document."""
    return {"deletionPolicy": last["deletionPolicy"]} if last.get("deletionPolicyWritten") else {}


def as_document(
    kind: str, name: str, spec: Mapping[str, Json], virtual_cluster: str | None = None
) -> Document:
    """A document of ``kind``; ``virtual_cluster`` is part of its metadata."""
    where = {} if virtual_cluster is None else {"virtualCluster": virtual_cluster}
    return {
        "apiVersion": "kgitops/v1",
        "kind": kind,
        "metadata": Inline({"name": name, **where}),
        "spec": dict(spec),
    }


_SHOWN = 3


class ExportNotes(Struct):
    """Differences between the export and the cluster: reasons with addresses, in order."""

    _by_reason: dict[str, list[str]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """The objects that no document declares although the export is asked for them."""

    def add(self, address: str, reason: str, *, lost: bool = False) -> None:
        """Note what the export leaves out of an object, or says otherwise; or the ``lost`` one."""
        self._by_reason.setdefault(reason, []).append(address)
        if lost:
            self.lost.add(address)

    def sentences(self) -> tuple[str, ...]:
        """One for each reason, with the first few objects by address."""
        return tuple(_sentence(reason, addresses) for reason, addresses in self._by_reason.items())


def _sentence(reason: str, addresses: list[str]) -> str:
    more = f" and {len(addresses) - _SHOWN:,} more" if len(addresses) > _SHOWN else ""
    return f"{', '.join(addresses[:_SHOWN])}{more}: {reason}"


class Exporting(Struct, frozen=True, kw_only=True):
    """The cluster, as the project sees it, and where an export notes what it leaves out.

    ``reported`` are the types of configs that only the brokers know. ``allow_configs`` are patterns
    of configs that manifests may have although kgitops doesn't know them, and ``defaults`` what the
    project file gives to topics.
    """

    state: ClusterState
    scope: ExportScope
    notes: ExportNotes
    reported: Mapping[str, ConfigType]
    allow_configs: Sequence[str]
    defaults: Layer
