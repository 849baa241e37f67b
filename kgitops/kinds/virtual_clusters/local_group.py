"""Consumer groups that are declared in a virtual cluster, as its members."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from kgitops.desired.findings import Findings, scope_of
from kgitops.kinds.consumer_group import ConsumerGroup, ConsumerGroupKind
from kgitops.kinds.exports import Exporting, Item
from kgitops.kinds.virtual_clusters.members import MemberDeclaration, make_group
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredGroup, DesiredMember
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.source import Finding


class LocalConsumerGroupKind(ConsumerGroupKind):
    """The groups outside of virtual clusters; a document may declare a member of one."""

    @classmethod
    def build(
        cls, declared: ConsumerGroup, document: Document, findings: Findings
    ) -> Sequence[DesiredGroup | DesiredMember]:
        """Return the group that a document declares, of the cluster or of a virtual cluster."""
        scope = scope_of(declared.metadata.virtual_cluster)
        if scope is None:
            return super().build(declared, document, findings)
        name, spec = declared.metadata.name, declared.spec
        for key, written in (
            ("configs", bool(spec.configs)),
            ("resetOffsets", spec.reset_offsets is not None),
        ):
            if written:
                findings.error(
                    document,
                    ("spec", key),
                    f"a group of a virtual cluster can't have {key}",
                    "remove it, or metadata.virtualCluster",
                    key=True,
                )
        fields, labels = DocumentPart(document, "spec"), declared.metadata.labels
        member = MemberDeclaration(scope, labels, document, fields, spec.deletion_policy)
        return [make_group(member, name, spec, findings)]

    def fits(self, item: DesiredGroup) -> bool:
        """Return whether the group is in no virtual cluster; else add a finding."""
        if item.name not in self._inside:
            return True
        self.context.draft.findings.append(
            Finding(
                source=item.located.source,
                problem=f"{item.address} is a group of the virtual cluster "
                f"{self._inside[item.name]}",
                advice="declare it by its name there, with metadata.virtualCluster",
            )
        )
        return False

    @cached_property
    def _inside(self) -> Mapping[str, str]:
        return _by_physical_id(self.current)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every group with configs outside of virtual clusters, and every managed one."""
        reason = "its configs are left out, it is a group of a virtual cluster"
        return cls.exported(of, dict.fromkeys(_by_physical_id(of.state), reason))


def _by_physical_id(state: ClusterState) -> Mapping[str, str]:
    """Return the groups of virtual clusters by physical id, each with its virtual cluster."""
    return {
        physical_id(name, group): name
        for name, virtual_cluster in state.virtual_clusters.items()
        for group in virtual_cluster.groups
    }
