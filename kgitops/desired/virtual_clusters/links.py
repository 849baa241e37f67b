"""Builds links from ``kind: TopicLink`` documents: a local name and the topic it leads to."""

from kgitops.desired.findings import Findings, Path
from kgitops.desired.names import check_name, scope_of
from kgitops.desired.state import DeletionPolicy, DesiredLink
from kgitops.manifests.kinds.topic import LinkTarget, TopicLink
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, default_link_name

_DELETION = {policy.value: policy for policy in DeletionPolicy}
_TARGET: Path = ("spec", "target")


def build_link(declared: TopicLink, document: Document, findings: Findings) -> DesiredLink | None:
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
        local=LocalName(scope, name),
        topic=topic,
        target=local,
        deletion_policy=_DELETION[spec.deletion_policy or "Delete"],
        deletion_policy_written=spec.deletion_policy is not None,
        labels=metadata.labels,
        located=document,
    )


def _target(target: LinkTarget, document: Document, findings: Findings) -> LocalName | str | None:
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
