"""One parsed document → a checked declaration, or what is wrong with it."""

from collections.abc import Iterator

from pydantic import ValidationError

from kgitops.manifests.acl import Acl
from kgitops.manifests.construct import Content
from kgitops.manifests.document import Document
from kgitops.manifests.fields import API_VERSION
from kgitops.manifests.kinds import KINDS, LATER, Declaration, adapter
from kgitops.manifests.problems import dotted, model_findings, suggestion, written_value
from kgitops.manifests.quota import ClientQuota
from kgitops.manifests.text import shown
from kgitops.manifests.tombstone import Tombstone
from kgitops.manifests.topic import Topic
from kgitops.model.acls import CLUSTER_NAME
from kgitops.model.source import Finding

_WAIT = "remove the document or wait for it"


def kind_of(content: Content, document: Document, findings: list[Finding]) -> str | None:
    """The kind of a document that says it is one of ours; else a finding is added."""
    if not isinstance(content, dict):
        findings.append(
            Finding(
                source=document.source,
                problem=f"a document must be a mapping, not {shown(content)}",
                advice="begin it with apiVersion, kind, metadata and spec",
            )
        )
        return None
    kind, version = content.get("kind"), content.get("apiVersion")
    if version != API_VERSION:
        findings.append(_wrong("apiVersion", content, document, f"write {API_VERSION}"))
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        near = suggestion(kind, list(KINDS))
        known = ", ".join(name for name in KINDS if name not in LATER)
        advice = f"did you mean {near}?" if near else f"write one of {known}"
        findings.append(_wrong("kind", content, document, advice))
        return None
    return kind


def check(
    kind: str, content: Content, document: Document, findings: list[Finding]
) -> Declaration | None:
    """The declaration that a document makes; None, and findings, where it makes none."""
    try:
        model = adapter(kind).validator.validate_python(content)
    except ValidationError as error:
        findings.extend(model_findings(error, kind, document, content))
        return None
    later = list(_later(model, kind, document))
    findings.extend(later)
    if later or not isinstance(model, Declaration):
        return None
    return model


def _wrong(field: str, content: dict[object, object], document: Document, advice: str) -> Finding:
    if field not in content:
        return Finding(source=document.source, problem=f"{field} is missing", advice=advice)
    value = written_value(document, (field,), content[field])
    known = API_VERSION if field == "apiVersion" else "a kind that kgitops knows"
    return Finding(
        source=document.at(field), problem=f"{field} must be {known}, not {value}", advice=advice
    )


def _later(model: object, kind: str, document: Document) -> Iterator[Finding]:
    """What this version can read but not carry out: it must stop the run, not be passed over."""
    if kind in LATER:
        yield _not_yet(document, ("kind",), LATER[kind])
    elif kind == "Project":
        yield Finding(
            source=document.at("kind"),
            problem="a Project stands among the manifests",
            advice="move it to kgitops.yaml in the project's folder",
        )
    for path in _virtual_cluster_fields(model):
        yield _not_yet(document, path, f"virtual clusters, which {dotted(path)} names,")


def _not_yet(document: Document, path: tuple[str, ...], what: str) -> Finding:
    return Finding(
        source=document.at(*path), problem=f"{what} are not in this version yet", advice=_WAIT
    )


def _virtual_cluster_fields(model: object) -> Iterator[tuple[str, ...]]:
    match model:
        case Topic(metadata=metadata, spec=spec):
            if metadata.virtual_cluster is not None:
                yield ("metadata", "virtualCluster")
            if spec.share_with is not None:
                yield ("spec", "shareWith")
        case Acl(spec=spec):
            if spec.virtual_cluster not in (None, CLUSTER_NAME):
                yield ("spec", "virtualCluster")
            if spec.virtual_cluster_pattern_type is not None:
                yield ("spec", "virtualClusterPatternType")
        case ClientQuota(spec=spec):
            if spec.entity.virtual_cluster is not None:
                yield ("spec", "entity", "virtualCluster")
        case Tombstone(spec=spec):
            if spec.target.virtual_cluster is not None:
                yield ("spec", "target", "virtualCluster")
        case _:
            pass
