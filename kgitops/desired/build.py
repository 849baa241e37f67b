"""Builds the desired state from checked manifests: objects in normal form, and the scope."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TypeVar, assert_never

from kgitops.desired.acls import build_acls
from kgitops.desired.configs import ConfigReader
from kgitops.desired.digest import digest
from kgitops.desired.findings import DeclaredObject, Findings, without_env_values
from kgitops.desired.quotas import build_quota
from kgitops.desired.references import DeclaredTombstone, check_references
from kgitops.desired.state import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    DesiredVirtualCluster,
    ManagedScope,
    Project,
    Safety,
)
from kgitops.desired.tombstones import build_tombstone
from kgitops.desired.topics import build_topic
from kgitops.desired.virtual_clusters.links import build_link
from kgitops.desired.virtual_clusters.members import build_binding, build_group
from kgitops.desired.virtual_clusters.virtual_clusters import build_members, build_virtual_cluster
from kgitops.manifests.kinds.access import Acl, ClientQuota
from kgitops.manifests.kinds.tombstone import Tombstone
from kgitops.manifests.kinds.topic import Topic, TopicLink
from kgitops.manifests.kinds.virtual_cluster import (
    ConsumerGroup,
    VirtualCluster,
    VirtualClusterBinding,
)
from kgitops.manifests.load import Manifest, ManifestSet
from kgitops.manifests.policies.policy import Policy, Waiver
from kgitops.model.errors import FindingsError
from kgitops.model.source import Severity

T = TypeVar("T")

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
) -> DesiredState:
    """Build the desired state from the manifests.

    Raises:
        FindingsError: something is wrong; it holds every finding, including those of loading.
    """
    here = _build(manifests.manifests, allow_configs)
    check_references(here.objects, here.tombstones, here.findings)
    for document in manifests.unknown:
        here.findings.warning(
            document,
            ("metadata",),
            "this document is for other clusters and uses a variable that is not set here, so it "
            "is unknown what it declares, and this run removes nothing",
            "give its placeholders a default",
        )
    all_findings = without_env_values(
        (*manifests.findings, *here.findings.found), manifests.env_values
    )
    if any(finding.severity is Severity.ERROR for finding in all_findings):
        raise FindingsError(all_findings)
    elsewhere = _build(manifests.other_clusters, allow_configs)
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
        topics=_only(DesiredTopic, objects),
        acls=_only(DesiredAcl, objects),
        quotas=_only(DesiredQuota, objects),
        virtual_clusters=_only(DesiredVirtualCluster, objects),
        links=_only(DesiredLink, objects),
        members=_only(DesiredMember, objects),
        tombstones=tombstones,
        warnings=tuple(sorted(all_findings, key=lambda finding: finding.sort_key)),
    )
    return replace(state, digest=digest(state))


def _only(kind: type[T], objects: Iterable[DesiredObject]) -> tuple[T, ...]:
    return tuple(desired for desired in objects if isinstance(desired, kind))


@dataclass(slots=True)
class _Built:
    objects: list[DeclaredObject] = field(default_factory=list)
    tombstones: list[DeclaredTombstone] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)


def _build(manifests: Iterable[Manifest], allow_configs: Sequence[str]) -> _Built:
    built = _Built()
    findings = built.findings
    configs = ConfigReader(allow_configs, findings)
    for manifest in manifests:
        document = manifest.document
        match manifest.declares:
            case Topic() as topic:
                built.objects.append((build_topic(topic, document, configs, findings), document))
            case Acl() as acl:
                built.objects.extend(
                    (binding, document) for binding in build_acls(acl, document, findings)
                )
            case ClientQuota() as declared:
                if (quota := build_quota(declared, document, findings)) is not None:
                    built.objects.append((quota, document))
            case VirtualCluster() as declared:
                built.objects.append(
                    (build_virtual_cluster(declared, document, findings), document)
                )
                built.objects.extend(build_members(declared, document, findings))
            case TopicLink() as declared:
                if (link := build_link(declared, document, findings)) is not None:
                    built.objects.append((link, document))
            case ConsumerGroup() as declared:
                built.objects.append((build_group(declared, document, findings), document))
            case VirtualClusterBinding() as declared:
                if (member := build_binding(declared, document, findings)) is not None:
                    built.objects.append((member, document))
            case Tombstone() as declared:
                if (tombstone := build_tombstone(declared, document, findings)) is not None:
                    built.tombstones.append((tombstone, document))
            case Policy() | Waiver():
                pass  # not an object of the cluster: kgitops.workflow.policies.policies reads them
            case other:
                assert_never(other)
    return built
