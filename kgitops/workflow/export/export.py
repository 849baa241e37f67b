"""A cluster as manifests: every kind that documents declare.

An export is proven: its files are loaded back and planned against the cluster that they came from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from kgitops.apply.objects import find_object
from kgitops.cluster.port import Cluster
from kgitops.desired.build import build_desired
from kgitops.desired.configs import ConfigReader
from kgitops.desired.expansion import defaults_layer
from kgitops.desired.findings import Findings
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.reported_types import NOTHING_REPORTED, ReportedTypes, with_reported_types
from kgitops.desired.state import DesiredState, Project
from kgitops.kinds.acls.exported import acl_documents
from kgitops.kinds.exports import Document, Exporting, ExportNotes, ExportScope
from kgitops.manifests.files import display_name
from kgitops.manifests.kind_models import OBJECT_KINDS, kind_class
from kgitops.manifests.load import load_manifests
from kgitops.manifests.project_file import WrittenDefaults
from kgitops.model.cluster_state import Capabilities, ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    refused_broker_config,
    resource_configs,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import (
    ConfigType,
    is_throttle,
    removed_config,
    topic_configs,
)
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.ownership import build_ownership
from kgitops.plan.planner import make_plan
from kgitops.workflow.commands.member_options import find_virtual_cluster
from kgitops.workflow.export.files import (
    FileLines,
    ListedDocument,
    arrange,
    document_yaml,
    file_lines,
    write_texts,
)
from kgitops.workflow.project.selection import Workspace

_FIRST = (Kind.VIRTUAL_CLUSTER, Kind.TOPIC, Kind.LINK)
"""The kinds of which notes come first: what others are about."""


class Export(Struct, frozen=True, kw_only=True):
    """File name to documents; ``notes`` say in sentences what is not among them, and why.

    ``lost`` are the addresses of objects that should be among them, and can't be.
    """

    files: Mapping[str, Sequence[Document]]
    notes: tuple[str, ...] = ()
    lost: frozenset[str] = frozenset()


def export_manifests(
    state: ClusterState,
    project: Project,
    allow_configs: Sequence[str] = (),
    defaults: Sequence[WrittenDefaults] = (),
    reported: ReportedTypes = NOTHING_REPORTED,
) -> Export:
    """The cluster as ``project`` may declare it. Planned against it they ask for no request.

    What the project manages is written as it was declared: by assignment or by counts, with its
    deletionPolicy. Where others set a value that no manifest may say, the one that was last applied
    is written, because leaving it out would mean to remove it; the notes say so. ``reported`` are
    the types of configs that only the brokers know.
    """
    scope = ExportScope(build_ownership(project, state.registry))
    notes = ExportNotes()
    unheard = Findings()  # loading the manifests reports them
    layer = defaults_layer(defaults, ConfigReader(allow_configs, unheard), unheard)
    files: dict[str, Sequence[Document]] = {}
    for kind in (*_FIRST, *(it for it in OBJECT_KINDS if it not in _FIRST)):
        of_kind = kind_class(kind)
        of = Exporting(
            state=state,
            scope=scope,
            notes=notes,
            reported=reported.get(getattr(of_kind.declares, "resource", None), {}),
            allow_configs=allow_configs,
            defaults=layer,
        )
        files |= arrange(of_kind.files, of_kind.export(of))
    return Export(
        files=files, notes=(*scope.foreign(), *notes.sentences()), lost=frozenset(notes.lost)
    )


class PlannedExport(Struct, frozen=True, kw_only=True):
    """The manifests that were written, and the plan of them as the whole project."""

    export: Export
    plan: Plan | None

    @property
    def sentence(self) -> str:
        """Sentences on the plan, which only adopts or would do more, and on what is missing."""
        return " ".join((self._planned(), *self._missing()))

    def _planned(self) -> str:
        if self.plan is None:
            return "There is nothing to declare."
        if self.plan.verdict.stops:
            reasons = "; ".join(reason.sentence for reason in self.plan.verdict.reasons)
            return f"Planned against this cluster they are refused: {reasons}"
        adopts = self.plan.count(Action.ADOPT)
        changed = len(list(_changed(self.plan)))
        asks = f"{counted(changed, 'object')} to change, see above" if changed else _NOTHING
        return f"Planned against this cluster: {adopts:,} to adopt, {asks}."

    def _missing(self) -> Iterator[str]:
        if lost := len(self.export.lost):
            yield f"{counted(lost, 'object')} could not be exported, see above."

    @property
    def exit(self) -> ExitCode:
        """Success if the manifests declare everything, and their plan changes and drops nothing."""
        if self.plan is not None and self.plan.verdict.stops:
            return self.plan.verdict.exit
        changes = self.plan is not None and any(_changed(self.plan))
        return ExitCode.ERROR if self.export.lost or changes else ExitCode.SUCCESS


_NOTHING = "nothing to change"


def _changed(plan: Plan) -> Iterator[Change]:
    """The changes that are more than an adoption or a newer record in the registry."""
    for change in plan.changes:
        if change.requests or {Action.DELETE, Action.FORGET} & {*change.actions}:
            yield change


def write_and_plan(
    export: Export,
    folder: Path,
    workspace: Workspace,
    state: ClusterState,
    capabilities: Capabilities,
    reported: ReportedTypes = NOTHING_REPORTED,
    *,
    compact: bool = False,
) -> PlannedExport:
    """Write the manifests, without those that a plan would refuse, and plan them.

    They are planned as the whole project, so that an object that they lack shows. Refused documents
    are left out, and noted with the refusal: a smaller project is better than one that can't be
    loaded.

    Raises:
        KgitopsError: the files can't be written.
    """
    files = {name: list(documents) for name, documents in export.files.items()}
    notes = ExportNotes()
    written = _write(files, folder, compact=compact)
    plan = None
    missing = frozenset(build_ownership(workspace.project, state.registry).mine())
    while files:
        try:
            desired = with_reported_types(_load(folder, workspace), reported, state)
        except FindingsError as error:
            changed = _drop(error.findings, files, written, folder, notes)
            written |= _write(changed, folder, compact=compact)
            continue
        plan = make_plan(
            desired, state, target_name=workspace.target_name, capabilities=capabilities
        )
        missing -= desired.addresses
        _note_changes(plan, missing, notes)
        break
    _note_missing(missing, state, notes)
    kept = Export(
        files=files, notes=(*export.notes, *notes.sentences()), lost=export.lost | notes.lost
    )
    return PlannedExport(export=kept, plan=plan)


def _write(
    files: Mapping[str, Sequence[Document]], folder: Path, *, compact: bool
) -> dict[str, FileLines]:
    """Write the files; also return the lines at which their documents begin."""
    written = {
        name: file_lines(
            [ListedDocument(partial(document_yaml, it), document=it) for it in documents],
            compact=compact,
        )
        for name, documents in files.items()
    }
    write_texts({name: file.text for name, file in written.items()}, folder)
    return written


def _load(folder: Path, workspace: Workspace) -> DesiredState:
    return build_desired(
        load_manifests([folder], cluster=workspace.target_name, variables={}, env={}),
        project=workspace.project,
        whole=workspace.whole or workspace.file is not None,
        targets=frozenset(),
        excludes=frozenset(),
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
        defaults=workspace.defaults,
        asks_brokers=True,
    )


def _drop(
    findings: Sequence[Finding],
    files: dict[str, list[Document]],
    written: Mapping[str, FileLines],
    folder: Path,
    notes: ExportNotes,
) -> Mapping[str, list[Document]]:
    """Take out the documents that are refused; return the files that have others left."""
    refused: dict[str, dict[int, Finding]] = {}
    names = {display_name(folder / name): name for name in files}
    for finding in findings:
        if finding.severity is Severity.ERROR and finding.source is not None:
            name = names.get(finding.source.file)
            if name is None:
                continue  # of the project file
            index = written[name].piece_at(finding.source.line)
            refused.setdefault(name, {}).setdefault(index, finding)
    if not refused:
        raise FindingsError(findings)
    for name, by_index in refused.items():
        for index in sorted(by_index, reverse=True):
            document = files[name].pop(index)
            notes.add(_title(document), f"left out, {by_index[index].problem}", lost=True)
        if not files[name]:
            del files[name]
            (folder / name).unlink()
    return {name: files[name] for name in refused if name in files}


def _title(document: Mapping[str, object]) -> str:
    metadata = document["metadata"]
    name = metadata["name"] if isinstance(metadata, Mapping) else ""
    return f"{document['kind']} {name}"


def _note_changes(plan: Plan, missing: frozenset[str], notes: ExportNotes) -> None:
    """Note what a plan of the manifests would change on the cluster, but for what is missing."""
    for change in _changed(plan):
        if change.address not in missing:
            fields = ", ".join(
                f"{field.path} {_shown(field.before)} -> {_shown(field.after)}"
                for field in change.fields
            )
            actions = " and ".join(action.value for action in change.actions)
            notes.add(change.address, f"a plan of this export would {actions} it: {fields}")


def _shown(value: str | None) -> str:
    return "(not set)" if value is None else value


def _note_missing(missing: frozenset[str], state: ClusterState, notes: ExportNotes) -> None:
    """Note objects that the project manages and the manifests lack: a plan would remove them."""
    for address in sorted(missing):
        if address.startswith("user/") and Kind.USER not in state.asked:
            continue
        reason = _LEFT_OUT if find_object(address, state) else _GONE
        notes.add(address, reason, lost=True)


_GONE = (
    "managed by this project and gone from the cluster, so no document declares it; a plan of the "
    "whole project forgets it, or is refused where it is protected. Write a document to create it "
    "again, or a Tombstone"
)
_LEFT_OUT = (
    "managed by this project and missing in this export, for the reason above: a plan of the whole "
    "project would take its document for removed. Write the document before you use the export"
)


def copied_acl_documents(
    state: ClusterState, virtual_cluster: str, *, all_: bool
) -> list[Document]:
    """Export the ACLs of ``virtual_cluster`` that a project copied, or all (VC-197).

    Raises:
        KgitopsError: there is no such virtual cluster.
    """
    find_virtual_cluster(virtual_cluster, state)
    bindings = [
        binding
        for binding in sorted(state.acls, key=lambda it: (it.principal, acl_address(it)))
        if binding.virtual_cluster == virtual_cluster and (all_ or _is_copied(binding, state))
    ]
    unmanaged = ExportScope(build_ownership(Project(name=COMMAND_PROJECT), None))
    return [
        document
        for principal, group in groupby(bindings, key=lambda it: it.principal)
        for document in acl_documents(principal, group, unmanaged)
    ]


def _is_copied(binding: AclBinding, state: ClusterState) -> bool:
    owner = state.registry.owners.get(acl_address(binding)) if state.registry else None
    return owner is not None and ORIGIN in owner.last_applied


def read_reported_types(
    cluster: Cluster, state: ClusterState, allow_configs: Sequence[str]
) -> ReportedTypes:
    """Ask the brokers for the types of the configs in ``state`` that kgitops does not know.

    Raises:
        UnreachableError: they can't be read.
    """
    set_on_topics = {name: topic.configs for name, topic in state.topics.items()}
    set_on_others: dict[ConfigResourceType, dict[str, Mapping[str, str]]] = {}
    found: list[FoundGroup | FoundConfigs] = [*state.of(FoundGroup), *state.of(FoundConfigs)]
    for it in found:
        of_broker = it.type is ConfigResourceType.BROKER
        declarable = {
            key: value
            for key, value in it.configs.items()
            if not (of_broker and refused_broker_config(key))
        }
        set_on_others.setdefault(it.type, {})[it.name] = declarable
    types: dict[ConfigResourceType | None, Mapping[str, ConfigType]] = {}
    keys = frozenset(
        key for key in _unknown(set_on_topics, topic_configs()) if _is_asked(key, allow_configs)
    )
    if keys:
        types[None] = cluster.read_config_types(None, min(set_on_topics), keys)
    for kind, configs in set_on_others.items():
        if keys := _unknown(configs, resource_configs(kind)):
            name = min(configs) if kind is not ConfigResourceType.BROKER else _alive(state)
            types[kind] = cluster.read_config_types(kind, name, keys)
    return types


def _alive(state: ClusterState) -> str:
    """The id of a broker that answers."""
    return str(min(broker.id for broker in state.brokers if not broker.fenced))


def _unknown(configs: Mapping[str, Mapping[str, str]], known: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*configs.values()) - frozenset(known)


def _is_asked(key: str, allow_configs: Sequence[str]) -> bool:
    if is_throttle(key) or removed_config(key) is not None:
        return False
    return not any(fnmatchcase(key, pattern) for pattern in allow_configs)
