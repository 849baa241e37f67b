"""Builds virtual clusters with their listed members, and links to topics, from their documents."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgitops.desired.findings import DeclaredObject, Findings, Path, check_name, scope_of
from kgitops.desired.virtual_clusters.members import (
    MemberDeclaration,
    make_client_id,
    make_group,
    make_transactional_id,
    make_user,
)
from kgitops.manifests.expanded import part_of
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredLink,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.model.resources.addresses import member_address, virtual_cluster_address
from kgitops.model.resources.names import MAX_TOPIC_NAME, is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
    default_link_name,
)

if TYPE_CHECKING:
    from kgitops.manifests.kinds.topic import LinkTarget, TopicLink
    from kgitops.manifests.kinds.virtual_cluster import VirtualCluster

_LONG_NAME = 100
_TARGET: Path = ("spec", "target")


def build_virtual_cluster(
    declared: "VirtualCluster", document: Document, findings: Findings
) -> DesiredVirtualCluster:
    """Build the virtual cluster without its members."""
    name, spec = declared.metadata.name, declared.spec
    path = ("metadata", "name")
    check_name(name, document, path, findings)
    if _LONG_NAME < len(name) <= MAX_TOPIC_NAME:
        findings.warning(
            document,
            path,
            f"the name has {len(name)} characters, and precedes each of its group ids and "
            "transactional ids",
            f"choose one of up to {_LONG_NAME}: it can't be changed later",
        )
    return DesiredVirtualCluster(
        address=virtual_cluster_address(name),
        name=name,
        mode=MembersMode(spec.members.mode),
        options=LoweringOptions(
            cap_lowering=CapLowering(spec.lowering.cap_lowering),
            deny_wins=spec.lowering.deny_wins,
        ),
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
        deletion_policy_written=spec.deletion_policy is not None,
        labels=declared.metadata.labels,
        located=document,
    )


def build_members(
    declared: "VirtualCluster", document: Document, findings: Findings
) -> Iterator[DeclaredObject]:
    """Build the members that ``spec.members`` lists; each is located at its item."""
    members = declared.spec.members
    name, labels = declared.metadata.name, declared.metadata.labels

    def listed(field: str, index: int) -> MemberDeclaration:
        item = part_of(document, "spec", "members", field, index)
        return MemberDeclaration(name, labels, item, item)

    for index, user in enumerate(members.users):
        at = listed("users", index)
        yield make_user(at, user.principal, "principal", user, findings), at.located
    for index, client_id in enumerate(members.client_ids):
        at = listed("clientIds", index)
        yield make_client_id(at, client_id, findings), at.located
    for index, group in enumerate(members.groups):
        at = listed("groups", index)
        yield make_group(at, group.name, group, findings), at.located
    for index, transactional_id in enumerate(members.transactional_ids):
        at = listed("transactionalIds", index)
        yield make_transactional_id(at, transactional_id, findings), at.located


def build_link(declared: "TopicLink", document: Document, findings: Findings) -> DesiredLink | None:
    """Build the link; None if its target is unclear."""
    metadata, spec = declared.metadata, declared.spec
    scope = metadata.virtual_cluster
    check_name(scope, document, ("metadata", "virtualCluster"), findings)
    target = _target(spec.target, document, findings)
    if target is None:
        return None
    local, topic = (target, None) if isinstance(target, LocalName) else (None, target)
    default = target.name if isinstance(target, LocalName) else default_link_name(target)
    name = metadata.name or default
    if problem := topic_name_problem(name):
        advice = "clients use it as a topic name: up to 249 letters, digits, '.', '_' and '-'"
        findings.error(document, ("metadata", "name"), problem, advice)
    return DesiredLink(
        address=member_address(scope, EntityType.TOPIC, name),
        virtual_cluster=scope,
        name=name,
        topic=topic,
        target=local,
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Delete"),
        deletion_policy_written=spec.deletion_policy is not None,
        labels=metadata.labels,
        located=document,
    )


def _target(target: "LinkTarget", document: Document, findings: Findings) -> LocalName | str | None:
    """Return a topic of a virtual cluster, or the name of a physical one; None if unclear."""
    scope, topic, physical = target.virtual_cluster, target.topic, target.physical_topic
    if physical is not None:
        if scope is not None or topic is not None:
            problem = "the target names both a physicalTopic and a topic of a virtual cluster"
            advice = "write physicalTopic alone, or virtualCluster and topic"
            findings.error(document, _TARGET, problem, advice)
            return None
        _check_topic(physical, document, (*_TARGET, "physicalTopic"), findings)
        return physical
    if topic is None:
        problem = "the target names no topic"
        advice = "write virtualCluster and topic, or physicalTopic"
        findings.error(document, _TARGET, problem, advice)
        return None
    if scope is None or scope_of(scope) is None:
        problem = f"the target {shown(topic)} is not in a virtual cluster"
        advice = f"write physicalTopic: {topic} alone, or name its virtual cluster"
        findings.error(document, (*_TARGET, "topic"), problem, advice, key=True)
        return None
    check_name(scope, document, (*_TARGET, "virtualCluster"), findings)
    if wrong := topic_name_problem(topic):
        findings.error(document, (*_TARGET, "topic"), wrong, "correct the name")
    return LocalName(scope, topic)


def _check_topic(name: str, document: Document, path: Path, findings: Findings) -> None:
    if problem := topic_name_problem(name):
        findings.error(document, path, problem, "correct the name")
    elif is_internal(name):
        problem = f"the topic {name} is internal, and no virtual cluster may have it"
        findings.error(document, path, problem, "remove the link")
