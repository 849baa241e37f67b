"""What a project may declare of a cluster, and the shape of the documents in which it does."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgitops.model.registry import Json
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.workflow.export.layout import Document
from kgitops.workflow.export.manifest_files import Inline


@dataclass(frozen=True, slots=True)
class ExportScope:
    """The cluster's objects as the project sees them; counts those that are not its own."""

    ownership: Ownership
    _foreign: Counter[str] = field(default_factory=Counter)

    def may_declare(self, address: str) -> bool:
        """Whether a document for this object would be planned, and not refused as foreign."""
        if self.ownership.status(address) is not OwnershipStatus.FOREIGN:
            return True
        self._foreign[self.ownership.label(address)] += 1
        return False

    def last_applied(self, address: str) -> Mapping[str, Json]:
        """What was last applied to the object; empty if this project never did."""
        return self.ownership.last_applied(address)

    def foreign(self) -> Iterator[str]:
        """A sentence for each other project that manages something here."""
        for label, count in sorted(self._foreign.items()):
            objects = "1 object" if count == 1 else f"{count:,} objects"
            yield (
                f"{objects} left out, which the project {label!r} manages: export "
                f"{'it' if count == 1 else 'them'} there, or take them over with metadata.takeFrom"
            )


def written_policy(last: Mapping[str, Json]) -> dict[str, Json]:
    """The deletionPolicy where it was written: it says what removing the document will do."""
    return {"deletionPolicy": last["deletionPolicy"]} if last.get("deletionPolicyWritten") else {}


def as_document(
    kind: str, name: str, spec: Mapping[str, Json], virtual_cluster: str | None = None
) -> Document:
    """A document of ``kind``; of what lies in a virtual cluster, that stands beside its name."""
    where = {} if virtual_cluster is None else {"virtualCluster": virtual_cluster}
    return {
        "apiVersion": "kgitops/v1",
        "kind": kind,
        "metadata": Inline({"name": name, **where}),
        "spec": dict(spec),
    }
