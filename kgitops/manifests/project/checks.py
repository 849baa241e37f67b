"""Checks a project file, before any of its clusters is used."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kgitops.manifests.cache import NO_CACHE, ManifestCache
from kgitops.manifests.check import RawDocument, kind_of
from kgitops.manifests.files import display_name
from kgitops.manifests.kind_models import adapter
from kgitops.manifests.problems import model_findings, validated
from kgitops.manifests.project.document import Project
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.parse import ParsedDocument
from kgitops.manifests.yaml.placeholders import Lookup, substitute
from kgitops.model.source import Finding, Source
from kgitops.model.wording import nearest


def parse_project(
    file: Path, findings: list[Finding], cache: ManifestCache = NO_CACHE
) -> ParsedDocument | None:
    """The one document of a project file; None, and findings, if it does not hold one."""
    name = display_name(file)
    if not file.is_file():
        findings.append(
            Finding(
                source=None,
                problem=f"{name} {'links to nothing' if file.is_symlink() else 'does not exist'}",
                advice="correct the link"
                if file.is_symlink()
                else "run kgitops init, or give the folder of a project",
            )
        )
        return None
    text = cache.text(file, name)
    if isinstance(text, Finding):
        findings.append(text)
        return None
    items = list(cache.documents(text))
    findings += (item for item in items if isinstance(item, Finding))
    if findings:
        return None
    raw = (item for item in items if isinstance(item, RawDocument))
    documents = list({item.document.whole.start: item for item in raw}.values())
    if len(documents) != 1:
        findings.append(
            Finding(
                source=documents[1].document.whole.source if documents else Source(name, 1, 1),
                problem=f"a project file holds one document, not {len(documents)}",
                advice="write one Project, and everything else among the manifests",
            )
        )
        return None
    return ParsedDocument(documents[0].document, documents[0].content)


def check_project(
    written: ParsedDocument, env: Mapping[str, str], findings: list[Finding]
) -> Project | None:
    """The project without its clusters, whose placeholders are not replaced."""
    document = written.document
    kind = kind_of(written.content, document, findings)
    if kind is None:
        return None
    if kind != "Project":
        findings.append(
            Finding(
                source=document.at("kind"),
                problem=f"a project file holds a Project, not a {kind}",
                advice="move the document to the manifests",
            )
        )
        return None
    project = validate_project(
        with_clusters(written.content, {}), document, Lookup({}, env), findings
    )
    clusters = clusters_of(written.content)
    try:
        adapter("Project").validate_python(written.content)
    except ValidationError as error:
        findings.extend(
            model_findings(error, "Project", document, written.content, below=("spec", "clusters"))
        )
    for name, cluster in clusters.items():
        findings.extend(_secret_findings(name, cluster, document))
    if project:
        findings.extend(_reference_findings(project, clusters, document))
    return project


def validate_project(
    content: Content, document: Document, lookup: Lookup, findings: list[Finding]
) -> Project | None:
    """The project with all placeholders of ``content`` replaced; None, and findings, if invalid."""
    before = len(findings)
    content = substitute(content, document, lookup, findings)
    if len(findings) > before:
        return None
    try:
        project: Project = validated("Project", content)
    except ValidationError as error:
        findings.extend(model_findings(error, "Project", document, content))
        return None
    return project


def _reference_findings(
    project: Project, clusters: Mapping[str, Content], document: Document
) -> list[Finding]:
    findings = []
    default = project.spec.default_cluster
    if default is not None and default not in clusters:
        near = nearest(default, list(clusters))
        findings.append(
            Finding(
                source=document.at("spec", "defaultCluster"),
                problem=f"the project has no cluster {default!r}",
                advice=f"did you mean {near}?" if near else "add it to spec.clusters",
            )
        )
    return findings


def _secret_findings(name: str, cluster: Content, document: Document) -> list[Finding]:
    """Findings about secrets in plain text, which they do not show."""
    configs = cluster.get("configs") if isinstance(cluster, dict) else None
    return [
        Finding(
            source=document.at("spec", "clusters", name, "configs", key),
            problem=f"the secret {key} is in plain text",
            advice=f'write {key}: "${{env:NAME}}" and set that environment variable',
        )
        for key, value in (configs.items() if isinstance(configs, dict) else ())
        if _is_secret(key) and not (isinstance(value, str) and _ENV_ONLY.fullmatch(value))
    ]


_ENV_ONLY = re.compile(r"\$\{env:[^{}:]+\}")


def _is_secret(key: object) -> bool:
    return isinstance(key, str) and key.endswith(("password", "secret", "ssl.key.pem"))


def clusters_of(content: Content) -> dict[str, Content]:
    """The clusters, with their placeholders."""
    spec = content.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    return clusters if isinstance(clusters, dict) else {}


def with_clusters(content: Content, clusters: dict[str, Any]) -> Content:
    """The content with these clusters only, so that the others' placeholders need no values."""
    if not clusters_of(content):
        return content
    return {**content, "spec": {**content["spec"], "clusters": clusters}}
