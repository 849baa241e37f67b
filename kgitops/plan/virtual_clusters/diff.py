"""Plans virtual clusters themselves: created first, deleted last and only when empty."""

from collections.abc import Iterable, Sequence

from kgitops.desired.findings import counted
from kgitops.model.json.declared import DesiredMember, DesiredVirtualCluster, Record, read_part
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.virtual_clusters import LoweringOptions, VirtualCluster, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext
from kgitops.plan.engine import NO_VALUES, Requested, Values, ValuesPlanner
from kgitops.plan.normal_form import option_texts, options_of, virtual_cluster_view
from kgitops.plan.removal import Removal, RemovalKind, remove_whole

_SHOWN = 5


class VirtualClusterPlanner(ValuesPlanner[DesiredVirtualCluster]):
    """The virtual clusters themselves: their values are the options of lowering."""

    declares, field = DesiredVirtualCluster, "lowering"

    def existing(self) -> Iterable[str]:
        """Return the addresses of all virtual clusters."""
        return map(virtual_cluster_address, sorted(self.current.virtual_clusters))

    @classmethod
    def values(cls, record: Record) -> Values:
        """Return the options."""
        options = record.get(cls.field)
        return option_texts(read_part(LoweringOptions, options)) if options else NO_VALUES

    @classmethod
    def path(cls, key: str) -> str:
        """Return the path of an option, which is its key."""
        return key

    def held(self, record: Record) -> Values:
        """Return the options of the virtual cluster."""
        existing = self.current.virtual_clusters.get(record["name"])
        return option_texts(existing.options) if existing else NO_VALUES

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the virtual cluster with its options."""
        return virtual_cluster_view(record["name"], options_of(values))

    def expected_keys(self, record: Record, requested: Requested, held: Values) -> Iterable[str]:
        """Return the options that change; one that is created has none yet."""
        del record
        return requested if held else ()

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the creation, or the change of all options."""
        del requested
        name, options = record["name"], read_part(LoweringOptions, record[self.field])
        if name not in self.current.virtual_clusters:
            return [CreateVirtualClusterRequest(virtual_cluster=name, options=options)]
        return [AlterVirtualClusterRequest(virtual_cluster=name, options=options)]

    def remove_one(self, removal: Removal) -> None:
        """Delete it, which only an empty one can be."""
        record = removal.owner.last_applied
        name = record["name"]
        existing = self.current.virtual_clusters.get(name)
        if existing is not None and removal.kind is RemovalKind.DELETE:
            _warn_of_lost_offsets(self.context, removal, existing)
        remove_whole(
            self.context,
            removal,
            self.declares.kind,
            DeleteVirtualClusterRequest(virtual_cluster=name),
            before=self.view(record, self.held(record)) if existing else None,
        )


def _warn_of_lost_offsets(
    context: PlanContext, removal: Removal, virtual_cluster: VirtualCluster
) -> None:
    """Warn of offsets that a renamed virtual cluster would not have (VC-009).

    A group's id on the cluster begins with the name of the virtual cluster.
    """
    copied = {member.adopt for member in context.desired.of(DesiredMember) if member.copy_offsets}
    groups = sorted(
        {physical_id(virtual_cluster.name, group) for group in virtual_cluster.groups} - copied
    )
    if not groups:
        return
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    context.draft.warnings.append(
        Finding(
            source=removal.source,
            problem=f"{removal.address} is deleted, and a virtual cluster of another name begins "
            f"without the offsets of {counted(len(groups), 'group')}: "
            f"{', '.join(groups[:_SHOWN])}{more}",
            advice="keep the name; or declare the groups in the new one, each with adopt and the "
            "name that is shown here",
            severity=Severity.WARNING,
        )
    )
