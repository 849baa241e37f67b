"""What is declared, as keys to compare and objects to choose from: out of files, or out of YAML."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kgitops.desired.last_applied import with_objects
from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.differing import DESIRED_KEYS, selected
from kgitops.fleet.tables.desired_rows import DECLARED, declared_by, declaring, keys_of
from kgitops.fleet.tables.reading import Rows
from kgitops.fleet.tables.schemas import DESIRED
from kgitops.plan.plan import Kind

_KINDS = {
    "topic": Kind.TOPIC,
    "acl": Kind.ACL,
    "quota": Kind.QUOTA,
    "vc": Kind.VIRTUAL_CLUSTER,
    "link": Kind.LINK,
    "group": Kind.GROUP,
    "user": Kind.BINDING,
    "client": Kind.BINDING,
    "txn": Kind.BINDING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredSide:
    """``project`` declares no objects itself; ``choose`` gives it those of a mask over ``keys``.

    ``choose`` raises SafetyError where a row is not what it must be.
    """

    project: DesiredState
    keys: pa.Table
    virtual_clusters: bool
    choose: Callable[[pa.BooleanArray], DesiredState]

    def choose_all(self) -> DesiredState:
        """Everything that is declared; errors as of ``choose``."""
        return self.choose(pa.repeat(pa.scalar(value=True), self.keys.num_rows))

    @property
    def objects(self) -> Mapping[str, int]:
        """How many there are of each kind (``Topic``)."""
        counts: dict[str, int] = {}
        for row in pc.value_counts(self.keys["kind"].combine_chunks()).to_pylist():
            kind = _KINDS.get(row["values"])
            if kind is not None:
                counts[str(kind)] = counts.get(str(kind), 0) + row["counts"]
        return dict(sorted(counts.items()))


def side_of_rows(rows: Rows) -> DesiredSide:
    """What was compiled before.

    Raises:
        SafetyError: the rows can't be trusted.
    """
    return DesiredSide(
        project=declared_by(rows),
        keys=rows.columns(DESIRED_KEYS),
        virtual_clusters=rows.header["virtual_clusters"],
        choose=lambda mask: declaring(rows, selected(rows, mask, DECLARED)),
    )


def side_of_value(desired: DesiredState) -> DesiredSide:
    """What was just built from manifests."""
    identity, objects = desired.project.identity, desired.objects
    rows = [keys_of(identity, item) for item in objects]
    schema = pa.schema([DESIRED.field(name) for name in DESIRED_KEYS])

    def choose(mask: pa.BooleanArray) -> DesiredState:
        chosen = zip(objects, mask.to_pylist(), strict=True)
        return with_objects(desired, (item for item, is_in in chosen if is_in))

    return DesiredSide(
        project=with_objects(desired, ()),
        keys=pa.Table.from_pylist(rows, schema),
        virtual_clusters=any(item.address.startswith("vc/") for item in objects),
        choose=choose,
    )
