"""One parsed document → a checked declaration, or what is wrong with it."""

from pydantic import ValidationError

from kgitops.manifests.kind_models import KINDS, Declaration, adapter
from kgitops.manifests.kinds.fields import API_VERSION
from kgitops.manifests.problems import model_findings, suggestion, written_value
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.source import Finding


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
        known = ", ".join(KINDS)
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
    if kind == "Project":
        findings.append(
            Finding(
                source=document.at("kind"),
                problem="a Project stands among the manifests",
                advice="move it to kgitops.yaml in the project's folder",
            )
        )
    return model if isinstance(model, Declaration) else None


def _wrong(field: str, content: dict[object, object], document: Document, advice: str) -> Finding:
    if field not in content:
        return Finding(source=document.source, problem=f"{field} is missing", advice=advice)
    value = written_value(document, (field,), content[field])
    known = API_VERSION if field == "apiVersion" else "a kind that kgitops knows"
    return Finding(
        source=document.at(field), problem=f"{field} must be {known}, not {value}", advice=advice
    )
