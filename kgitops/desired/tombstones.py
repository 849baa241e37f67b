"""Builds tombstones from ``kind: Tombstone`` documents: the addresses of objects to delete."""

from typing import TYPE_CHECKING

from kgitops.desired.findings import Findings, Path, scope_of
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import Tombstone
from kgitops.model.resources.addresses import (
    kind_of,
    named_address,
    split_scoped_address,
    user_address,
)
from kgitops.model.resources.kinds import FORMS, Kind, is_declarable
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem

if TYPE_CHECKING:
    from kgitops.manifests.kinds import tombstone

_TARGET: Path = ("spec", "target")


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
    forms = {form.scoped: form for form in FORMS if form.by_name and form.kind == kind}
    if not forms:
        kinds = ", ".join(dict.fromkeys(form.kind.value for form in FORMS if form.by_name))
        problem = f"{shown(kind)} can't be named by kind and name, only {kinds} can"
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
        forms = ", ".join(
            f"{form.segment}/{'NAME' if form.by_name else '…'}" for form in FORMS if form.declarable
        )
        advice = f"copy it from a plan: {forms} or vc/…"
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
