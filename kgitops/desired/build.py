"""Builds the desired state from checked manifests: objects in normal form, and the scope.

Duplicates, names that collide, and Tombstones of declared objects are found here too.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.configs import ConfigReader
from kgitops.desired.declared_lookalikes import Declared, warn_of_lookalikes
from kgitops.desired.expansion import Expansion
from kgitops.desired.findings import (
    Declaration,
    DeclaredObject,
    Findings,
    Path,
    check_name,
    scope_of,
    without_env_values,
)
from kgitops.desired.roles import merge_overlaps
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety, digest
from kgitops.desired.virtual_clusters import (
    check_links,
    check_members,
    warn_of_ineffective,
    warn_of_other_clusters,
)
from kgitops.manifests.kind_models import kind_class
from kgitops.manifests.load import Manifest, ManifestSet
from kgitops.manifests.project_file import WrittenDefaults
from kgitops.manifests.yaml.document import Document, DocumentPart, shown
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredAcl, DesiredObject, DesiredTopic, Tombstone
from kgitops.model.resources.addresses import (
    kind_of,
    named_address,
    split_scoped_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.kinds import (
    DECLARABLE_IN_WORDS,
    FORMS,
    NAMED_KINDS,
    Kind,
    is_declarable,
)
from kgitops.model.resources.names import collision_key, is_internal
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.model.source import Finding, Severity

_DeclaredTombstone = tuple[Tombstone, Document]


def _check_references(
    objects: Sequence[DeclaredObject], tombstones: Sequence[_DeclaredTombstone], findings: Findings
) -> None:
    """Report documents that contradict each other; ``objects`` are in the order of their files."""
    declared: dict[str, Declaration] = {}
    metric_names: dict[str, tuple[str, Declaration]] = {}
    for desired, document in objects:
        first = declared.setdefault(desired.address, document)
        if first is not document:
            _report_twice(desired, document, first, findings)
        elif _may_collide(desired):
            key = collision_key(desired.name)
            other, where = metric_names.setdefault(key, (desired.name, document))
            if other != desired.name:
                _report_collision(desired.name, document, other, where, findings)
    _check_repeated_bindings(objects, findings)
    _check_tombstones(declared, tombstones, findings)
    check_links(objects, findings)
    check_members(objects, findings)
    warn_of_ineffective(objects, findings)
    warn_of_other_clusters(objects, findings)


def _may_collide(desired: DesiredObject) -> TypeGuard[DesiredTopic]:
    """Return whether the name could collide; one in a virtual cluster has a UUID in it (VC-044)."""
    if not isinstance(desired, DesiredTopic) or desired.virtual_cluster is not None:
        return False
    return "." in desired.name or "_" in desired.name


def _report_twice(
    desired: DesiredObject, document: Declaration, first: Declaration, findings: Findings
) -> None:
    findings.error(
        document,
        desired.named_at,
        f"{desired.address} is declared already at {first.source}",
        "keep one of the two documents, or take this object out of one of them",
    )


def _report_collision(
    name: str, document: Declaration, other: str, where: Declaration, findings: Findings
) -> None:
    findings.error(
        document,
        ("metadata", "name"),
        f"the topics {shown(name)} and {shown(other)} ({where.source}) collide: "
        "'.' and '_' are the same in Kafka's metric names",
        "rename one of them",
    )


def _check_repeated_bindings(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Report documents that list a principal or an operation twice."""
    seen: set[tuple[str, Declaration]] = set()
    reported: set[Declaration] = set()
    for desired, document in objects:
        if not isinstance(desired, DesiredAcl):
            continue
        binding = (desired.address, document)
        if binding in seen and document not in reported:
            reported.add(document)
            findings.error(
                document,
                ("spec",),
                f"the document declares {desired.address} twice",
                "list each principal and operation once",
            )
        seen.add(binding)


def _check_tombstones(
    declared: dict[str, Declaration], tombstones: Sequence[_DeclaredTombstone], findings: Findings
) -> None:
    tombstones_by_address: dict[str, Document] = {}
    within = _first_within(declared) if tombstones else {}
    for tombstone, document in tombstones:
        first = tombstones_by_address.setdefault(tombstone.address, document)
        if first is not document:
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone already at {first.source}",
                "keep one of the two",
            )
        elif tombstone.address in declared:
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone and is declared at "
                f"{declared[tombstone.address].source}",
                "remove one of the two documents",
            )
        elif tombstone.address in within:
            inner = within[tombstone.address]
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone, and {inner}, which is in it, is declared "
                f"at {declared[inner].source}",
                "remove that document too, and all others of the virtual cluster",
            )


def _first_within(declared: Iterable[str]) -> dict[str, str]:
    """Return the first declared object inside each virtual cluster, by that one's address."""
    first: dict[str, str] = {}
    for address in declared:
        scope = split_scoped_address(address)
        if scope is not None and not scope.prefixed:
            first.setdefault(virtual_cluster_address(scope.virtual_cluster), address)
    return first


if TYPE_CHECKING:
    from kgitops.manifests.kinds import tombstone

_TARGET: Path = ("spec", "target")


def _build_tombstone(
    declared: "tombstone.Tombstone", document: Document, findings: Findings
) -> Tombstone | None:
    """Build the tombstone; None if it does not identify an object."""
    target = declared.spec.target
    address = _address(target, document, findings)
    if address is None:
        return None
    if target.topic_id is not None and kind_of(address) != "topic":
        problem = "only a topic has a topicId"
        findings.error(document, (*_TARGET, "topicId"), problem, "remove it", key=True)
    return Tombstone(
        name=declared.metadata.name,
        address=address,
        reason=declared.spec.reason,
        topic_id=target.topic_id,
        labels=declared.metadata.labels,
        located=document,
    )


def _address(
    target: "tombstone.TombstoneTarget", document: Document, findings: Findings
) -> str | None:
    if target.address is not None:
        if (target.kind, target.name, target.virtual_cluster) != (None, None, None):
            problem = "the target has an address in addition to its kind, name or virtualCluster"
            findings.error(document, _TARGET, problem, "write the address alone, or kind and name")
            return None
        return _checked(target.address, document, (*_TARGET, "address"), findings)
    if target.kind is None or target.name is None:
        advice = "write its address, or kind: Topic and name"
        findings.error(document, _TARGET, "the target names no object", advice)
        return None
    address = _named(target.kind, target.name, target, document, findings)
    return None if address is None else _checked(address, document, (*_TARGET, "name"), findings)


def _named(
    kind: str,
    name: str,
    target: "tombstone.TombstoneTarget",
    document: Document,
    findings: Findings,
) -> str | None:
    scope = scope_of(target.virtual_cluster)
    forms = {form.scoped: form for form in FORMS if form.by_name and form.kind == kind}
    if not forms:
        problem = (
            f"{shown(kind)} can't be named by kind and name, only {', '.join(NAMED_KINDS)} can"
        )
        advice = "write the object's address, as a plan shows it"
        findings.error(document, (*_TARGET, "kind"), problem, advice)
    elif kind == Kind.USER:  # known to the whole cluster (VC-160c)
        return user_address(name)
    elif target.virtual_cluster is not None and True not in forms:
        problem = f"{forms[False].kind.plural} can't be in a virtual cluster"
        findings.error(document, (*_TARGET, "virtualCluster"), problem, "remove it", key=True)
    elif scope is None and False not in forms:
        problem = f"a {kind} lies in a virtual cluster, and the target names none"
        findings.error(document, _TARGET, problem, "add virtualCluster")
    else:
        return named_address(forms[scope is not None], name, scope)
    return None


def _checked(address: str, document: Document, path: Path, findings: Findings) -> str | None:
    if not is_declarable(address):
        advice = f"copy it from a plan: {DECLARABLE_IN_WORDS}"
        findings.error(document, path, f"{shown(address)} is not an address", advice)
        return None
    if problem := _scope_problem(address):
        findings.error(document, path, problem, "copy the address from a plan")
        return None
    segment, _, topic = address.partition("/")
    if segment == "topic" and is_internal(topic):
        problem = f"the topic {topic} can't be deleted: it is internal"
        findings.error(document, path, problem, "remove the document")
        return None
    return address


def _scope_problem(address: str) -> str | None:
    """Explain a wrong virtual cluster in an address; that of an ACL may be a pattern."""
    scoped = split_scoped_address(address)
    if scoped is not None:
        if scoped.segment == "acl" and (scoped.prefixed or scoped.virtual_cluster == "*"):
            return None
        return virtual_cluster_name_problem(address.split("/")[1])
    scope = address.removeprefix("vc/")
    return None if scope == address else virtual_cluster_name_problem(scope)


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
    more configs than kgitops does (``reported_types``).

    Raises:
        FindingsError: something is wrong; it holds every finding, including those of loading.
    """
    here = _build(manifests, allow_configs, defaults)
    declared_here = [(item.declares, item.document) for item in manifests.manifests]
    warn_of_lookalikes((*project_file, *declared_here), here.findings)
    here.objects = merge_overlaps(here.objects, here.findings)
    _check_references(here.objects, here.tombstones, here.findings)
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
    tombstones: list[_DeclaredTombstone] = field(default_factory=list)
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
            if (tombstone := _build_tombstone(written, document, findings)) is not None:
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
