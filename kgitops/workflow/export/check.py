"""Proves an export: its files are loaded back and planned against the cluster they came from."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState
from kgitops.manifests.files import display_name
from kgitops.manifests.load import load_manifests
from kgitops.model.cluster_state import Capabilities, ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action, Plan
from kgitops.plan.ownership import build_ownership
from kgitops.plan.planner import make_plan
from kgitops.workflow.export.export import Export
from kgitops.workflow.export.layout import Document
from kgitops.workflow.export.manifest_files import write_manifests
from kgitops.workflow.export.notes import Notes
from kgitops.workflow.project.selection import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was written in the end, and what a plan of it does to the cluster."""

    export: Export
    plan: Plan | None

    @property
    def sentence(self) -> str:
        """What was proven; where a plan would do more than adopt, that."""
        if self.plan is None:
            return "There is nothing to declare."
        if self.plan.verdict.stops:
            reasons = "; ".join(reason.sentence for reason in self.plan.verdict.reasons)
            return f"Planned against this cluster they are refused: {reasons}"
        sent = len(self.plan.requests)
        adopts = self.plan.count(Action.ADOPT)
        asks = f"{counted(sent, 'request')} to send, see above" if sent else "nothing to change"
        return f"Planned against this cluster: {adopts:,} to adopt, {asks}."


def write_checked(
    export: Export,
    folder: Path,
    workspace: Workspace,
    state: ClusterState,
    capabilities: Capabilities,
) -> Checked:
    """Write the manifests, without those that a plan would refuse, and plan them.

    What is refused is left out with the words of the refusal: better a smaller project than one
    that can't be loaded.

    Raises:
        KgitopsError: the files can't be written.
    """
    files = {name: list(documents) for name, documents in export.files.items()}
    notes = Notes()
    write_manifests(files, folder)
    while files:
        try:
            desired = _load(folder, workspace)
        except FindingsError as error:
            _drop(error.findings, files, folder, notes)
            continue
        _tell_missing(desired, workspace, state, notes)
        plan = make_plan(
            desired, state, target_name=workspace.target_name, capabilities=capabilities
        )
        break
    else:
        plan = None
    found = Export(files=files, notes=(*export.notes, *notes.sentences()))
    return Checked(export=found, plan=plan)


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
    )


def _drop(
    findings: Sequence[Finding], files: dict[str, list[Document]], folder: Path, notes: Notes
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
    for name, found in refused.items():
        for index in sorted(found, reverse=True):
            document = files[name].pop(index)
            notes.add(_title(document), f"left out, {found[index].problem}")
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


def _tell_missing(
    desired: DesiredState, workspace: Workspace, state: ClusterState, notes: Notes
) -> None:
    """Name what the project manages and the manifests lack: to a whole project that is removal."""
    declared = {item.address for item in desired.objects}
    for address in sorted(build_ownership(workspace.project, state.registry).mine()):
        if address not in declared:
            notes.add(
                address,
                "managed by this project, and either gone from the cluster or left out here: to a "
                "plan of the whole project its document was removed",
            )
