"""The project file ``kgitops.yaml`` → its values; a cluster's secrets only once it is used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kgitops.manifests.check import kind_of
from kgitops.manifests.construct import Content
from kgitops.manifests.document import Document
from kgitops.manifests.files import PROJECT_FILE, display_name
from kgitops.manifests.kinds import adapter
from kgitops.manifests.parse import ParsedDocument, parse
from kgitops.manifests.placeholders import Lookup
from kgitops.manifests.problems import model_findings, suggestion
from kgitops.manifests.project_document import ClusterSettings, Project
from kgitops.manifests.scalars import scalar_text
from kgitops.manifests.substitute import substitute
from kgitops.manifests.text import read_text
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Finding, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """A broker of an embedded cluster."""

    id: int
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """A cluster of the project, with every placeholder replaced; ``configs`` may hold secrets."""

    name: str
    url: str
    brokers: int | tuple[BrokerConfig, ...] | None = None
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    policy_levels: Mapping[str, str] = field(default_factory=dict)
    env_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What was taken from the environment, to its variable's name: findings must not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A project file; its paths are already joined to its folder."""

    path: Path
    name: str
    uid: str | None = None
    formerly: tuple[str, ...] = ()
    take_from: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    manifests: tuple[Path, ...] = ()
    default_cluster: str | None = None
    principal: str | None = None
    cluster_names: tuple[str, ...] = ()
    max_deletes: int = 10
    max_delete_percent: int = 20
    allow_configs: tuple[str, ...] = ()
    _written: ParsedDocument = field(repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """Where the project lies."""
        return self.path.parent

    def cluster(self, name: str, *, env: Mapping[str, str]) -> ClusterConfig:
        """The cluster called ``name``, its placeholders replaced from ``env``.

        Raises:
            UsageError: the project has no such cluster.
            FindingsError: a placeholder has no value, or the result is not valid.
        """
        if name not in self.cluster_names:
            near = suggestion(name, list(self.cluster_names))
            known = ", ".join(self.cluster_names) or "none"
            advice = f"did you mean {near}?" if near else f"it has {known}"
            raise UsageError(f"the project {self.name} has no cluster {name!r}; {advice}")
        return _cluster(name, self._written, env)


def load_project(path: Path, *, env: Mapping[str, str]) -> ProjectFile:
    """The project file at ``path``, which may also be the folder that holds it.

    Raises:
        FindingsError: it can't be read or is not valid; the error holds every finding.
    """
    file = path / PROJECT_FILE if path.is_dir() else path
    findings: list[Finding] = []
    written = _parse(file, findings)
    project = _check(written, env, findings) if written else None
    if findings or project is None or written is None:
        raise FindingsError(findings)
    metadata, spec = project.metadata, project.spec
    return ProjectFile(
        path=file,
        name=metadata.name,
        uid=metadata.uid,
        formerly=tuple(metadata.formerly),
        take_from=tuple(metadata.take_from),
        labels=metadata.labels,
        manifests=tuple(file.parent / name for name in spec.manifests),
        default_cluster=spec.default_cluster,
        principal=spec.principal,
        cluster_names=tuple(map(str, _clusters_of(written.content))),
        max_deletes=spec.safety.max_deletes,
        max_delete_percent=spec.safety.max_delete_percent,
        allow_configs=tuple(spec.allow_configs),
        _written=written,
    )


def _parse(file: Path, findings: list[Finding]) -> ParsedDocument | None:
    name = display_name(file)
    if not file.is_file():
        findings.append(
            Finding(
                source=None,
                problem=f"{name} does not exist",
                advice="run kgitops init, or give the folder of a project",
            )
        )
        return None
    text = read_text(file, name)
    if isinstance(text, Finding):
        findings.append(text)
        return None
    documents = list(parse(text, findings))
    if findings:
        return None
    if len(documents) != 1:
        findings.append(
            Finding(
                source=documents[1].document.source if documents else Source(name, 1, 1),
                problem=f"a project file holds one document, not {len(documents)}",
                advice="write one Project, and everything else among the manifests",
            )
        )
        return None
    return documents[0]


def _check(
    written: ParsedDocument, env: Mapping[str, str], findings: list[Finding]
) -> Project | None:
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
    project = _validate(_with_clusters(written.content, {}), document, Lookup({}, env), findings)
    clusters = _clusters_of(written.content)
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


def _cluster(name: str, written: ParsedDocument, env: Mapping[str, str]) -> ClusterConfig:
    findings: list[Finding] = []
    content = _with_clusters(written.content, {name: _clusters_of(written.content)[name]})
    lookup = Lookup({}, env)
    project = _validate(content, written.document, lookup, findings)
    if project is None or findings:
        raise FindingsError(findings)
    settings: ClusterSettings = project.spec.clusters[name]
    if not settings.url.startswith(("embedded:", "kafka://")):
        place = written.document.at("spec", "clusters", name, "url")
        problem = f"the url of cluster {name} is of no known kind"
        advice = "write embedded:FILE or kafka://HOST:PORT"
        raise FindingsError([Finding(source=place, problem=problem, advice=advice)])
    brokers = settings.brokers
    return ClusterConfig(
        name=name,
        url=settings.url,
        brokers=tuple(BrokerConfig(id=broker.id, rack=broker.rack) for broker in brokers)
        if isinstance(brokers, list)
        else brokers,
        configs=_texts(settings.configs),
        variables=_texts(settings.variables),
        policy_levels=settings.policy_levels,
        env_values=lookup.used_env,
    )


def _validate(
    content: Content, document: Document, lookup: Lookup, findings: list[Finding]
) -> Project | None:
    before = len(findings)
    content = substitute(content, document, lookup, findings)
    if len(findings) > before:
        return None
    try:
        project: Project = adapter("Project").validate_python(content)
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
        near = suggestion(default, list(clusters))
        findings.append(
            Finding(
                source=document.at("spec", "defaultCluster"),
                problem=f"the project has no cluster {default!r}",
                advice=f"did you mean {near}?" if near else "add it to spec.clusters",
            )
        )
    if project.spec.policies:
        findings.append(
            Finding(
                source=document.at("spec", "policies", 0),
                problem="policies are not in this version yet",
                advice="remove spec.policies or wait for it",
            )
        )
    return findings


def _secret_findings(name: str, cluster: Content, document: Document) -> list[Finding]:
    """A secret that is written out; the finding does not show it."""
    configs = cluster.get("configs") if isinstance(cluster, dict) else None
    return [
        Finding(
            source=document.at("spec", "clusters", name, "configs", key),
            problem=f"the secret {key} is written out",
            advice=f'write {key}: "${{env:NAME}}" and set that environment variable',
        )
        for key, value in (configs.items() if isinstance(configs, dict) else ())
        if _is_secret(key) and not (isinstance(value, str) and _ENV_ONLY.fullmatch(value))
    ]


_ENV_ONLY = re.compile(r"\$\{env:[^{}:]+\}")


def _is_secret(key: object) -> bool:
    return isinstance(key, str) and key.endswith(("password", "secret", "ssl.key.pem"))


def _clusters_of(content: Content) -> dict[str, Content]:
    spec = content.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    return clusters if isinstance(clusters, dict) else {}


def _with_clusters(content: Content, clusters: dict[str, Any]) -> Content:
    """The content with these clusters only; the others' placeholders are not looked at."""
    if not _clusters_of(content):
        return content
    return {**content, "spec": {**content["spec"], "clusters": clusters}}


def _texts(values: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    return {key: scalar_text(value) for key, value in values.items()}
