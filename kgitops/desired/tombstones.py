"""Builds tombstones from ``kind: Tombstone`` documents: the addresses of objects to delete."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kgitops.desired.findings import Findings, Path, scope_of
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import Tombstone
from kgitops.model.resources.addresses import (
    DECLARABLE,
    broker_config_address,
    client_metrics_address,
    group_address,
    kind_of,
    local_topic_address,
    member_address,
    split_scoped_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    virtual_cluster_name_problem,
)

if TYPE_CHECKING:
    from kgitops.manifests.kinds import tombstone

_TARGET: Path = ("spec", "target")
_GLOBAL: Mapping[str, tuple[Callable[[str], str], str]] = {
    "ClientMetrics": (client_metrics_address, "client metrics"),
    "BrokerConfig": (broker_config_address, "configs of brokers"),
}
_MEMBERS = {"TopicLink": EntityType.TOPIC, "ConsumerGroup": EntityType.GROUP}


def build_tombstone(
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
    if kind == "Topic":
        return topic_address(name) if scope is None else local_topic_address(LocalName(scope, name))
    if kind == "User":
        return user_address(name)
    if kind == "VirtualCluster":
        if target.virtual_cluster is None:
            return virtual_cluster_address(name)
        problem = "a virtual cluster can't be in another one"
        findings.error(document, (*_TARGET, "virtualCluster"), problem, "remove it", key=True)
    elif kind == "ConsumerGroup" and scope is None:
        return group_address(name)
    elif kind in _GLOBAL:
        address, words = _GLOBAL[kind]
        if target.virtual_cluster is None:
            return address(name)
        problem = f"{words} can't be in a virtual cluster"
        findings.error(document, (*_TARGET, "virtualCluster"), problem, "remove it", key=True)
    elif kind in _MEMBERS:
        if scope is not None:
            return member_address(scope, _MEMBERS[kind], name)
        problem = f"a {kind} lies in a virtual cluster, and the target names none"
        findings.error(document, _TARGET, problem, "add virtualCluster")
    else:
        kinds = ", ".join(("Topic", "User", "VirtualCluster", *_MEMBERS, *_GLOBAL))
        problem = f"{shown(kind)} can't be named by kind and name, only {kinds} can"
        advice = "write the object's address, as a plan shows it"
        findings.error(document, (*_TARGET, "kind"), problem, advice)
    return None


def _checked(address: str, document: Document, path: Path, findings: Findings) -> str | None:
    form = DECLARABLE.fullmatch(address)
    if form is None:
        findings.error(
            document,
            path,
            f"{shown(address)} is not an address",
            "copy it from a plan: topic/NAME, acl/…, quota/…, user/NAME, group/NAME, "
            "client-metrics/NAME or vc/…",
        )
        return None
    if problem := _scope_problem(address):
        findings.error(document, path, problem, "copy the address from a plan")
        return None
    if form["topic"] and is_internal(form["topic"]):
        problem = f"the topic {form['topic']} can't be deleted: it is internal"
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
