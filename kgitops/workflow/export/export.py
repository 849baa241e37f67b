"""A cluster as manifests: topics by what their names begin with, ACLs by principal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgitops.desired.state import Project
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.ownership import build_ownership
from kgitops.workflow.export.acls import export_acls
from kgitops.workflow.export.layout import Document, arrange
from kgitops.workflow.export.notes import Notes
from kgitops.workflow.export.quotas import export_quotas
from kgitops.workflow.export.scope import ExportScope
from kgitops.workflow.export.topics import export_topics
from kgitops.workflow.export.virtual_clusters import export_links, export_virtual_clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """File name to documents; ``notes`` say in sentences what is not among them, and why."""

    files: Mapping[str, Sequence[Document]]
    notes: tuple[str, ...] = ()


def export_manifests(
    state: ClusterState, project: Project, allow_configs: Sequence[str] = ()
) -> Export:
    """The cluster as ``project`` may declare it. Planned against it they ask for no request.

    What the project manages is written as it was declared: by assignment or by counts, with its
    deletionPolicy. Where others set a value that no manifest may say, the one that was last applied
    is written, because leaving it out would mean to remove it; the notes tell.
    """
    scope = ExportScope(build_ownership(project, state.registry))
    notes = Notes()
    files = {
        **arrange("virtual-clusters", export_virtual_clusters(state, scope, notes)),
        **arrange("topics", export_topics(state, scope, notes, allow_configs)),
        **arrange("links", export_links(state, scope, notes)),
        **arrange("acls", export_acls(state, scope, notes)),
        **arrange("quotas", export_quotas(state, scope, notes)),
    }
    return Export(files=files, notes=(*scope.foreign(), *notes.sentences()))
