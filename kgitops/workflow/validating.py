"""Manifests checked for every cluster of their project, without any cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgitops.desired.state import DesiredState
from kgitops.manifests.cache import ManifestCache
from kgitops.manifests.project.values import load_project
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity
from kgitops.workflow.loading import OnStage, ignore_stage, loaded
from kgitops.workflow.project.project_root import PROJECT_FILE, find_project_root
from kgitops.workflow.project.selection import Selection, open_workspace

_REMEMBERED = 100_000_000
_UNSET = "${env:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestValidation:
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
    selection = replace(selection, offline=True, cache=ManifestCache(_REMEMBERED))
    declared = _declared_clusters(selection)
    chosen = [selection.cluster] if selection.cluster or not declared else declared
    findings: dict[str, tuple[Finding, ...]] = {}
    counts: dict[str, Mapping[str, int]] = {}
    skipped = {name: "another cluster was asked for" for name in declared if name not in chosen}
    for cluster in chosen:
        selection.cache.next_cluster()
        try:
            workspace = open_workspace(replace(selection, cluster=cluster))
        except FindingsError as error:
            if selection.cluster is None and _are_unset(error.findings):
                skipped[cluster or ""] = "; ".join(finding.problem for finding in error.findings)
                continue
            findings[cluster or ""] = tuple(error.findings)
            continue
        try:
            with loaded(workspace, on_stage) as here:
                counts[workspace.target_name] = _counts(here.desired, here.policies.bundle.policies)
                warnings = (*here.desired.warnings, *here.policies.bundle.warnings)
                findings[workspace.target_name] = warnings
        except FindingsError as error:
            findings[workspace.target_name] = tuple(error.findings)
    return ManifestValidation(counts=counts, findings=_merged(findings), skipped=skipped)


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


def _counts(desired: DesiredState, policies: Sequence[object]) -> Mapping[str, int]:
    virtual = {
        "virtual clusters": len(desired.virtual_clusters),
        "links": len(desired.links),
        "members": len(desired.members),
    }
    return {
        **{name: count for name, count in virtual.items() if count},
        "topics": len(desired.topics),
        "ACL bindings": len(desired.acls),
        "quotas": len(desired.quotas),
        "tombstones": len(desired.tombstones),
        "policies": len(policies),
    }
