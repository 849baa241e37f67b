"""A cluster as manifests: topics by prefix, ACLs by principal.

An export is proven: its files are loaded back and planned against the cluster that they came from.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState, Project
from kgitops.manifests.files import display_name
from kgitops.manifests.load import load_manifests
from kgitops.model.cluster_state import Capabilities, ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action, Plan
from kgitops.plan.ownership import build_ownership
from kgitops.plan.planner import make_plan
from kgitops.workflow.export.acls import export_acls
from kgitops.workflow.export.files import Document, arrange, write_manifests
from kgitops.workflow.export.quotas import export_quotas
from kgitops.workflow.export.scope import ExportNotes, ExportScope
from kgitops.workflow.export.topics import export_topics
from kgitops.workflow.export.users import export_users
from kgitops.workflow.export.virtual_clusters import export_links, export_virtual_clusters
from kgitops.workflow.project.selection import Workspace


class Export(Struct, frozen=True, kw_only=True):
    """File name to documents; ``notes`` say in sentences what is not among them, and why."""

    files: Mapping[str, Sequence[Document]]
    notes: tuple[str, ...] = ()


def export_manifests(
    state: ClusterState, project: Project, allow_configs: Sequence[str] = ()
) -> Export:
    """The cluster as ``project`` may declare it. Planned against it they ask for no request.

    What the project manages is written as it was declared: by assignment or by counts, with its
    deletionPolicy. Where others set a value that no manifest may say, the one that was last applied
    is written, because leaving it out would mean to remove it; the notes say so.
    """
    scope = ExportScope(build_ownership(project, state.registry))
    notes = ExportNotes()
    files = {
        **arrange("virtual-clusters", export_virtual_clusters(state, scope, notes)),
        **arrange("topics", export_topics(state, scope, notes, allow_configs)),
        **arrange("links", export_links(state, scope, notes)),
        **arrange("acls", export_acls(state, scope, notes)),
        **arrange("quotas", export_quotas(state, scope, notes)),
        **arrange("users", export_users(state, scope, notes)),
    }
    return Export(files=files, notes=(*scope.foreign(), *notes.sentences()))


class PlannedExport(Struct, frozen=True, kw_only=True):
    """The manifests that were written, and the plan of them on the cluster."""

    export: Export
    plan: Plan | None

    @property
    def sentence(self) -> str:
        """A sentence on the plan: it only adopts, or would do more."""
        if self.plan is None:
            return "There is nothing to declare."
        if self.plan.verdict.stops:
            reasons = "; ".join(reason.sentence for reason in self.plan.verdict.reasons)
            return f"Planned against this cluster they are refused: {reasons}"
        sent = len(self.plan.requests)
        adopts = self.plan.count(Action.ADOPT)
        asks = f"{counted(sent, 'request')} to send, see above" if sent else "nothing to change"
        return f"Planned against this cluster: {adopts:,} to adopt, {asks}."


def write_and_plan(
    export: Export,
    folder: Path,
    workspace: Workspace,
    state: ClusterState,
    capabilities: Capabilities,
) -> PlannedExport:
    """Write the manifests, without those that a plan would refuse, and plan them.

    Refused documents are left out, and noted with the refusal: a smaller project is better than
    one that can't be loaded.

    Raises:
        KgitopsError: the files can't be written.
    """
    files = {name: list(documents) for name, documents in export.files.items()}
    notes = ExportNotes()
    write_manifests(files, folder)
    while files:
        try:
            desired = _load(folder, workspace)
        except FindingsError as error:
            _drop(error.findings, files, folder, notes)
            continue
        _note_missing(desired, workspace, state, notes)
        plan = make_plan(
            desired, state, target_name=workspace.target_name, capabilities=capabilities
        )
        break
    else:
        plan = None
    written = Export(files=files, notes=(*export.notes, *notes.sentences()))
    return PlannedExport(export=written, plan=plan)


def _load(folder: Path, workspace: Workspace) -> DesiredState:
    return build_desired(
        load_manifests([folder], cluster=workspace.target_name, variables={}, env={}),
        project=workspace.project,
        whole=False,
        targets=frozenset(),
        excludes=frozenset(),
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
        defaults=workspace.defaults,
    )


def _drop(
    findings: Sequence[Finding], files: dict[str, list[Document]], folder: Path, notes: ExportNotes
) -> None:
    """Take out the documents that are refused, and write the rest of their files again."""
    refused: dict[str, dict[int, Finding]] = {}
    names = {display_name(folder / name): name for name in files}
    for finding in findings:
        if finding.severity is Severity.ERROR and finding.source is not None:
            name = names[finding.source.file]
            starts = _starts(folder / name)
            index = bisect_right(starts, finding.source.line) - 1
            refused.setdefault(name, {}).setdefault(index, finding)
    if not refused:
        raise FindingsError(findings)
    for name, by_index in refused.items():
        for index in sorted(by_index, reverse=True):
            document = files[name].pop(index)
            notes.add(_title(document), f"left out, {by_index[index].problem}")
        if not files[name]:
            del files[name]
            (folder / name).unlink()
    write_manifests({name: files[name] for name in refused if name in files}, folder)


def _starts(file: Path) -> list[int]:
    """The lines at which the documents of a file begin."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [number for number, line in enumerate(lines, start=1) if line == "---"]


def _title(document: Mapping[str, object]) -> str:
    metadata = document["metadata"]
    name = metadata["name"] if isinstance(metadata, Mapping) else ""
    return f"{document['kind']} {name}"


def _note_missing(
    desired: DesiredState, workspace: Workspace, state: ClusterState, notes: ExportNotes
) -> None:
    """Note objects that the project manages and the manifests lack: a plan would remove them."""
    declared = {item.address for item in desired.objects}
    for address in sorted(build_ownership(workspace.project, state.registry).mine()):
        if address not in declared:
            notes.add(
                address,
                "managed by this project, and either gone from the cluster or left out here: to a "
                "plan of the whole project its document was removed",
            )
