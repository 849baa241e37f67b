"""``kind: Tombstone`` → the address of the object that is to be deleted."""

from kgitops.desired.findings import Findings, Path
from kgitops.desired.state import Tombstone
from kgitops.manifests import tombstone
from kgitops.manifests.document import Document
from kgitops.manifests.text import shown
from kgitops.model.addresses import DECLARED, topic_address
from kgitops.model.names import is_internal

_TARGET: Path = ("spec", "target")


def build_tombstone(
    declared: tombstone.Tombstone, document: Document, findings: Findings
) -> Tombstone | None:
    """The tombstone; None where it does not say which object it means."""
    target = declared.spec.target
    address = _address(target, document, findings)
    if address is None:
        return None
    if target.topic_id is not None and not address.startswith("topic/"):
        problem = "only a topic has a topicId"
        findings.error(document, (*_TARGET, "topicId"), problem, "remove it", key=True)
    return Tombstone(
        name=declared.metadata.name,
        address=address,
        reason=declared.spec.reason,
        topic_id=target.topic_id,
        located=document,
    )


def _address(
    target: tombstone.TombstoneTarget, document: Document, findings: Findings
) -> str | None:
    if target.address is not None:
        if target.kind is not None or target.name is not None:
            problem = "the target has an address beside its kind or name"
            findings.error(document, _TARGET, problem, "write the address alone, or kind and name")
            return None
        return _checked(target.address, document, (*_TARGET, "address"), findings)
    if target.kind is None or target.name is None:
        advice = "write its address, or kind: Topic and name"
        findings.error(document, _TARGET, "the target names no object", advice)
        return None
    if target.kind != "Topic":
        problem = f"only a Topic can be named by kind and name, not {shown(target.kind)}"
        advice = "write the object's address, as a plan shows it"
        findings.error(document, (*_TARGET, "kind"), problem, advice)
        return None
    return _checked(topic_address(target.name), document, (*_TARGET, "name"), findings)


def _checked(address: str, document: Document, path: Path, findings: Findings) -> str | None:
    if address.startswith("vc/"):
        problem = "virtual clusters are not in this version yet"
        findings.error(document, path, problem, "remove the document or wait for it")
        return None
    form = DECLARED.fullmatch(address)
    if form is None:
        findings.error(
            document,
            path,
            f"{shown(address)} is not an address",
            "copy it from a plan: topic/NAME, acl/… or quota/…",
        )
        return None
    if form["topic"] and is_internal(form["topic"]):
        problem = f"the topic {form['topic']} can't be deleted: it is internal"
        findings.error(document, path, problem, "remove the document")
        return None
    return address
