"""Loads and checks manifests and policies without a connection, for one cluster or all."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.build import build_desired
from kgitops.desired.clients import warn_of_ranges
from kgitops.desired.declared_names import warn_of_misspelt_names
from kgitops.desired.selector import narrow_to_labels
from kgitops.desired.state import DesiredState
from kgitops.manifests.files import EmptyFolder
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.manifests.project_file import load_project
from kgitops.manifests.reading import ManifestCache
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
)
from kgitops.model.source import Finding, Severity
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.workflow.policies import OpenPolicies, load_policies, open_policies
from kgitops.workflow.project.project_root import (
    PROJECT_FILE,
    find_project_root,
    find_sparse_folders,
)
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

T = TypeVar("T")

Opening = Callable[[Bundle], AbstractContextManager[OpenPolicies]]


OnStage = Callable[[str], None]
"""Called with the stage that begins: ``reading the cluster``."""


def ignore_stage(_stage: str) -> None:
    """Do nothing: no one watches the stages."""


class Loaded(Struct, frozen=True):
    """The desired state of the selected documents, and the policies that judge it."""

    desired: DesiredState
    policies: OpenPolicies


@contextmanager
def loaded(
    workspace: Workspace, on_stage: OnStage = ignore_stage, opening: Opening = open_policies
) -> Iterator[Loaded]:
    """Load the declarations within a ``with`` block: at its end the policies are closed.

    A fleet lends policies by an ``opening`` of its own, and keeps them open for the next unit.

    Raises:
        FindingsError: with every finding of every document; a policy can't be loaded.
        UsageError: there is nothing to load, or nothing has the selected labels.
    """
    if not workspace.manifests:
        raise UsageError(
            f"there is no {PROJECT_FILE} here and no PATH was given; run kgitops init, or name "
            "the files or folders to load"
        )
    on_stage("loading the manifests")
    manifests = _manifests(workspace)
    findings: list[Finding] = []
    bundle = _collecting(findings, lambda: load_policies(workspace, manifests))
    with opening(Bundle() if bundle is None else bundle) as policies:
        on_stage("checking the manifests")
        desired = _collecting(findings, lambda: _build(workspace, manifests))
        _collecting(findings, policies.wait)
        if desired is None or findings:
            raise FindingsError(dict.fromkeys(findings))
        yield Loaded(desired, policies)


def declared_objects(workspace: Workspace) -> tuple[DesiredObject, ...]:
    """The objects that the selected documents declare, without the policies.

    Raises:
        FindingsError: with every finding of every document.
    """
    return _build(workspace, _manifests(workspace)).objects


def _manifests(workspace: Workspace) -> ManifestSet:
    manifests = load_manifests(
        workspace.manifests,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=workspace.selection.environ,
        known_clusters=workspace.known_clusters,
        env_values=workspace.cluster.env_values,
        around=workspace.around,
        policies=workspace.file.policies if workspace.file else (),
        cache=workspace.selection.cache,
    )
    sparse = find_sparse_folders(workspace.manifests)
    if not sparse:
        return manifests
    known = {empty.folder for empty in manifests.empty_folders}
    more = (empty for empty in sparse if empty.folder not in known)
    return dataclasses.replace(manifests, empty_folders=(*manifests.empty_folders, *more))


def _collecting(findings: list[Finding], load: Callable[[], T]) -> T | None:
    """The result of ``load``; None if it has findings, which are added."""
    try:
        return load()
    except FindingsError as error:
        findings += error.findings
        return None


def _build(workspace: Workspace, manifests: ManifestSet) -> DesiredState:
    desired = build_desired(
        manifests,
        project=workspace.project,
        whole=workspace.whole,
        targets=workspace.selection.targets,
        excludes=workspace.selection.excludes,
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
        defaults=workspace.defaults,
        project_file=workspace.file.named if workspace.file else (),
        asks_brokers=not workspace.selection.offline,
    )
    chosen = workspace.cluster
    desired = replace(desired, gateway=chosen.gateway, pin=chosen.pin)
    selector = workspace.selection.selector
    return narrow_to_labels(desired, selector) if selector else desired


_REMEMBERED = 100_000_000
_UNSET = "${env:"
NOT_ASKED_FOR = "another cluster was asked for"
"""The reason for a cluster that the user left out by naming another one."""


class ManifestValidation(Struct, frozen=True, kw_only=True):
    """The result: ``counts`` of declared objects for each cluster without errors.

    ``findings`` are errors and warnings; one that does not hold on every checked cluster names
    those on which it does. ``skipped`` has the reason for each cluster that was not checked.
    """

    counts: Mapping[str, Mapping[str, int]]
    findings: tuple[Finding, ...] = ()
    skipped: Mapping[str, str]

    @property
    def valid(self) -> bool:
        """True if nothing stops a plan."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


def validate_manifests(
    selection: Selection, on_stage: OnStage = ignore_stage
) -> ManifestValidation:
    """Check what the selection names, on its cluster, or on each that the project declares.

    A cluster whose own settings need an environment variable that is not set is left out if it
    was not asked for.

    Raises:
        FindingsError: the project file can't be used.
        UsageError: the paths are not of one project, or there is no such cluster.
    """
    selection = dataclasses.replace(selection, offline=True, cache=ManifestCache(_REMEMBERED))
    declared = _declared_clusters(selection)
    chosen = [selection.cluster] if selection.cluster or not declared else declared
    findings: dict[str, tuple[Finding, ...]] = {}
    counts: dict[str, Mapping[str, int]] = {}
    skipped = dict.fromkeys((name for name in declared if name not in chosen), NOT_ASKED_FOR)
    for cluster in chosen:
        selection.cache.next_cluster()
        try:
            workspace = open_workspace(dataclasses.replace(selection, cluster=cluster))
        except FindingsError as error:
            if selection.cluster is None and _are_unset(error.findings):
                skipped[cluster or ""] = "; ".join(finding.problem for finding in error.findings)
                continue
            findings[cluster or ""] = tuple(error.findings)
            continue
        try:
            with loaded(workspace, on_stage) as here:
                counts[workspace.target_name] = _counts(here.desired, here.policies.bundle)
                findings[workspace.target_name] = (
                    *here.desired.warnings,
                    *map(_warning_of, here.desired.empty_folders),
                    *warn_of_misspelt_names(here.desired),
                    *warn_of_ranges(here.desired.of(DesiredAcl)),
                    *here.policies.bundle.warnings,
                )
        except FindingsError as error:
            findings[workspace.target_name] = tuple(error.findings)
    return ManifestValidation(counts=counts, findings=_merged(findings), skipped=skipped)


def _warning_of(empty: EmptyFolder) -> Finding:
    return Finding(
        source=None, problem=empty.problem, advice=empty.advice, severity=Severity.WARNING
    )


def _declared_clusters(selection: Selection) -> list[str]:
    root, _ = find_project_root(selection.paths)
    if root is None:
        return []
    file = load_project(root / PROJECT_FILE, env=selection.environ, cache=selection.cache)
    return list(file.cluster_names)


def _are_unset(findings: Sequence[Finding]) -> bool:
    return all(
        finding.problem.startswith(_UNSET) and finding.problem.endswith("} has no value")
        for finding in findings
    )


def _merged(by_cluster: Mapping[str, Sequence[Finding]]) -> tuple[Finding, ...]:
    """Each finding once, with its clusters unless these are all of them."""
    clusters: dict[Finding, list[str]] = {}
    for cluster, findings in by_cluster.items():
        for finding in dict.fromkeys(findings):
            clusters.setdefault(finding, []).append(cluster)
    merged = [
        finding
        if len(names) == len(by_cluster)
        else replace(finding, problem=f"on {', '.join(names)}: {finding.problem}")
        for finding, names in clusters.items()
    ]
    return tuple(sorted(merged, key=lambda finding: finding.sort_key))


_WITH_OWN_WORDS = (
    DesiredTopic,
    DesiredAcl,
    DesiredQuota,
    DesiredVirtualCluster,
    DesiredLink,
    DesiredMember,
)
_OTHERS = tuple(kind for kind in get_args(DesiredObject) if kind not in _WITH_OWN_WORDS)


def _counts(desired: DesiredState, bundle: Bundle) -> Mapping[str, int]:
    virtual = {
        "virtual clusters": len(desired.of(DesiredVirtualCluster)),
        "links": len(desired.of(DesiredLink)),
        "members": len(desired.of(DesiredMember)),
    }
    others = {kind.kind.plural: len(desired.of(kind)) for kind in _OTHERS}
    return {
        **{name: count for name, count in virtual.items() if count},
        "topics": len(desired.of(DesiredTopic)),
        "ACL bindings": len(desired.of(DesiredAcl)),
        "quotas": len(desired.of(DesiredQuota)),
        **{name: count for name, count in others.items() if count},
        "tombstones": len(desired.tombstones),
        "policies": len(bundle.policies),
        **({"waivers": len(bundle.waivers)} if bundle.waivers else {}),
    }
