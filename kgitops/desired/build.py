"""Builds the desired state from checked manifests: objects in normal form, and the scope."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.configs import ConfigReader
from kgitops.desired.expansion.expansion import Expansion
from kgitops.desired.expansion.overlaps import merge_overlaps
from kgitops.desired.findings import (
    DeclaredObject,
    Findings,
    check_name,
    scope_of,
    without_env_values,
)
from kgitops.desired.matching.declared_lookalikes import Declared, warn_of_lookalikes
from kgitops.desired.references import DeclaredTombstone, check_references
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety, digest
from kgitops.desired.tombstones import build_tombstone
from kgitops.manifests.kind_models import kind_class
from kgitops.manifests.load import Manifest, ManifestSet
from kgitops.manifests.project_file import WrittenDefaults
from kgitops.manifests.yaml.document import DocumentPart
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity

_BY_ADDRESS = attrgetter("address")


def build_desired(
    manifests: ManifestSet,
    *,
    project: Project,
    whole: bool,
    targets: frozenset[str],
    excludes: frozenset[str],
    safety: Safety,
    principal: str,
    allow_configs: Sequence[str],
    defaults: Sequence[WrittenDefaults] = (),
    project_file: Sequence[Declared] = (),
    asks_brokers: bool = False,
) -> DesiredState:
    """Build the desired state from the manifests, and ``defaults`` of which the later ones win.

    ``project_file`` has the names in the project file. Only with ``asks_brokers`` may brokers know
    more configs than kgitops does (``matching.reported_types``).

    Raises:
        FindingsError: something is wrong; it holds every finding, including those of loading.
    """
    here = _build(manifests, allow_configs, defaults)
    declared_here = [(item.declares, item.document) for item in manifests.manifests]
    warn_of_lookalikes((*project_file, *declared_here), here.findings)
    here.objects = merge_overlaps(here.objects, here.findings)
    check_references(here.objects, here.tombstones, here.findings)
    for document in manifests.unknown:
        here.findings.warning(
            document,
            ("metadata",),
            "this document is for other clusters and uses a variable that is not set here, so it "
            "is unknown what it declares, and this run removes nothing",
            "give its placeholders a default",
        )
    unknown_configs = here.findings.unknown_configs
    findings = (*manifests.findings, *here.findings.found, *_unexpanded(manifests.other_clusters))
    if not asks_brokers or _has_error(findings):
        findings = (*findings, *dict.fromkeys(config.offline for config in unknown_configs))
        unknown_configs = []
    all_findings = without_env_values(findings, manifests.env_values)
    if _has_error(all_findings):
        raise FindingsError(all_findings)
    elsewhere = _build(ManifestSet(manifests=manifests.other_clusters), allow_configs, ())
    declared = {desired.address for desired, _ in here.objects}
    other_clusters = {desired.address for desired, _ in elsewhere.objects}
    other_clusters |= manifests.other_addresses
    objects = sorted((desired for desired, _ in here.objects), key=_BY_ADDRESS)
    tombstones = tuple(sorted((tombstone for tombstone, _ in here.tombstones), key=_BY_ADDRESS))
    state = DesiredState(
        project=project,
        scope=ManagedScope(
            # The object of an unknown document could look removed, so no absence counts.
            whole=whole and not manifests.unknown,
            other_clusters=frozenset(other_clusters - declared),
            targets=targets,
            excludes=excludes,
        ),
        safety=safety,
        principal=principal,
        tombstones=tombstones,
        warnings=tuple(sorted(all_findings, key=lambda finding: finding.sort_key)),
        unknown_configs=tuple(unknown_configs),
        empty_folders=manifests.empty_folders,
    ).with_objects(objects)
    return replace(state, digest=digest(state))


def _has_error(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _unexpanded(other_clusters: Sequence[Manifest]) -> Iterator[Finding]:
    """The mistakes in roles for other clusters: it is unknown which bindings they stand for."""
    for manifest in other_clusters:
        declared = manifest.declares
        if declared.kind == "Acl" and declared.spec.role is not None:
            findings = Findings()
            if not kind_class("Acl").build(declared, manifest.document, findings):
                yield from findings.found


class _Built(Struct):
    objects: list[DeclaredObject] = field(default_factory=list)
    tombstones: list[DeclaredTombstone] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)


def _build(
    manifests: ManifestSet, allow_configs: Sequence[str], defaults: Sequence[WrittenDefaults]
) -> _Built:
    built = _Built()
    configs = ConfigReader(allow_configs, built.findings)
    expansion = Expansion(
        manifests.manifests,
        defaults,
        configs,
        built.findings,
        wrong_profiles=manifests.wrong_profiles,
        other_clusters=manifests.other_clusters,
    )
    for manifest in manifests.manifests:
        one = _Built(findings=built.findings)
        _build_one(manifest, expansion, one)
        built.objects += (
            (expansion.labelled(desired, manifest), document) for desired, document in one.objects
        )
        built.tombstones += (
            (expansion.labelled(tombstone, manifest), document)
            for tombstone, document in one.tombstones
        )
    return built


def _build_one(manifest: Manifest, expansion: Expansion, built: _Built) -> None:
    findings, written = built.findings, manifest.declares
    declared, document = expansion.expanded(manifest)
    match written.kind:
        case "Tombstone":
            if (tombstone := build_tombstone(written, document, findings)) is not None:
                built.tombstones.append((tombstone, document))
        case "Policy" | "Waiver":
            pass  # not an object of the cluster: kgitops.workflow.policies reads them
        case "TopicProfile" | "Folder":
            pass  # expanded already
        case kind:
            of = kind_class(kind)
            scope = getattr(written.metadata, "virtual_cluster", None)
            if scope is not None and (of.always_scoped or scope_of(scope) is not None):
                check_name(scope, document, of.scope_path, findings)
            for item in of.build(declared, document, findings):
                at = item.located if isinstance(item.located, DocumentPart) else document
                built.objects.append((item, at))
