"""The project file ``kgitops.yaml``, read and checked; a cluster's secrets only when it is used."""

import ast
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from kgitops.manifests.files import PROJECT_FILE, display_name
from kgitops.manifests.kind_models import adapter
from kgitops.manifests.kinds.topic_profile import TopicDefaults
from kgitops.manifests.problems import model_findings, validated
from kgitops.manifests.project_document import (
    ClusterSettings,
    Project,
    ProjectMetadata,
    ProjectSpec,
)
from kgitops.manifests.project_document import PythonPolicy as PolicySettings
from kgitops.manifests.reading import NO_CACHE, ManifestCache, RawDocument, kind_of
from kgitops.manifests.yaml.document import Document, scalar_text
from kgitops.manifests.yaml.parse import Content, ParsedDocument
from kgitops.manifests.yaml.placeholders import Lookup, substitute
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.resources.names import SANDBOX_NAMES, URL_FORMS, is_sandbox_name, sandbox_name
from kgitops.model.source import Finding, Source
from kgitops.model.wording import nearest
from kgitops.policy.evaluate.bundle import Level, PythonPolicy, kebab_case
from kgitops.policy.units import duration_ms

_LOWERED = "virtual.clusters=lowered"


class WrittenDefaults(Struct, frozen=True):
    """The defaults under ``path`` of the project file, of one cluster if it is named."""

    topic: TopicDefaults
    document: Document
    path: tuple[str, ...]
    cluster: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A project file and its document.

    ``declared`` leaves out the clusters: their placeholders may have no values here. ``cluster``
    reads one.
    """

    path: Path
    declared: Project
    python_policies: tuple[PythonPolicy, ...]
    written: ParsedDocument = dataclasses.field(repr=False, compare=False)

    @property
    def metadata(self) -> ProjectMetadata:
        """The project's name and identity."""
        return self.declared.metadata

    @property
    def spec(self) -> ProjectSpec:
        """The project's files and settings, without its clusters."""
        return self.declared.spec

    @property
    def name(self) -> str:
        """The project's name."""
        return self.metadata.name

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.path.parent

    @property
    def manifests(self) -> tuple[Path, ...]:
        """The files and folders of manifests, joined to the project's folder."""
        return tuple(self.folder / name for name in self.spec.manifests)

    @property
    def existing_manifests(self) -> tuple[Path, ...]:
        """Paths of manifests, without the default folder if it is neither declared nor there."""
        spec = self.written.content.get("spec")
        written = isinstance(spec, dict) and "manifests" in spec
        return tuple(path for path in self.manifests if written or os.path.lexists(path))

    @property
    def policies(self) -> tuple[Path, ...]:
        """The files and folders of Policy, Waiver and PolicyTest documents."""
        return tuple(self.folder / it for it in self.spec.policies if isinstance(it, str))

    @property
    def defaults(self) -> WrittenDefaults:
        """The values of objects whose documents don't say otherwise, on any cluster."""
        return WrittenDefaults(
            self.spec.defaults.topic, self.written.document, ("spec", "defaults")
        )

    @property
    def lock_timeout_ms(self) -> int | None:
        """The time to wait for the cluster's lock; None if the file has none."""
        wait = self.spec.safety.lock_timeout
        return None if wait is None else duration_ms(wait)

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """The names of the project's clusters."""
        return tuple(map(str, _clusters_of(self.written.content)))

    def cluster(
        self, name: str, *, env: Mapping[str, str], offline: bool = False
    ) -> tuple[ClusterSettings, Mapping[str, str]]:
        """The settings of the cluster called ``name``, its placeholders replaced from ``env``.

        The second value maps what came from the environment to the names of its variables: messages
        must not show it. ``offline`` leaves out url and configs: planning from a snapshot needs no
        password.

        Raises:
            UsageError: the project has no such cluster.
            FindingsError: a placeholder has no value, or the result is not valid.
        """
        if name not in self.cluster_names:
            near = nearest(name, list(self.cluster_names))
            known = ", ".join(self.cluster_names) or "none"
            advice = f"did you mean {near}?" if near else f"it has {known}"
            raise UsageError(f"the project {self.name} has no cluster {name!r}; {advice}")
        return _cluster(name, self.written, env, offline=offline)

    def cluster_source(self, cluster: str, *path: str) -> Source:
        """The place of ``cluster`` in the project file, or of the key at ``path`` in it."""
        return self.written.document.key_at("spec", "clusters", cluster, *path)

    def cluster_defaults(self, cluster: str, settings: ClusterSettings) -> WrittenDefaults:
        """The defaults among the settings of ``cluster``."""
        path = ("spec", "clusters", cluster, "defaults")
        return WrittenDefaults(settings.defaults.topic, self.written.document, path, cluster)

    def raw_url(self, cluster: str) -> str:
        """The url of ``cluster`` with its placeholders."""
        settings = _clusters_of(self.written.content).get(cluster)
        return str(settings.get("url", "")) if isinstance(settings, dict) else ""

    @property
    def named(self) -> tuple[tuple[object, Document], ...]:
        """The declarations that hold the file's names: all but clusters, and those of clusters."""
        clusters = {"spec": {"clusters": dict.fromkeys(self.cluster_names)}}
        return (self.declared, self.written.document), (clusters, self.written.document)

    @property
    def strictest_levels(self) -> Mapping[str, Level]:
        """The strictest level that each policy is given on any cluster of the project."""
        strictest: dict[str, Level] = {}
        for cluster in _clusters_of(self.written.content).values():
            levels = cluster.get("policyLevels") if isinstance(cluster, dict) else None
            for policy, written in levels.items() if isinstance(levels, dict) else ():
                # The value of a placeholder is not known here: it may be hard.
                level = Level(written) if written in tuple(Level) else Level.HARD
                strictest[policy] = max(level, strictest.get(policy, Level.OFF), key=Level.rank)
        return strictest


def load_project(
    path: Path, *, env: Mapping[str, str], cache: ManifestCache = NO_CACHE
) -> ProjectFile:
    """The project file at ``path``, which may also be the folder that holds it.

    It is read through the ``cache``; ``env`` holds the values of ``${env:NAME}``.

    Raises:
        FindingsError: it can't be read or is not valid; the error holds every finding.
    """
    file = path / PROJECT_FILE if path.is_dir() else path
    findings: list[Finding] = []
    written = _parse(file, findings, cache)
    project = _check(written, env, findings) if written else None
    if project and written:
        findings += _wrong_policies(project, written.document, file.parent)
    if findings or project is None or written is None:
        raise FindingsError(findings)
    python = tuple(
        python_policy(item, written.document.at("spec", "policies", index), file.parent)
        for index, item in enumerate(project.spec.policies)
        if not isinstance(item, str)
    )
    return ProjectFile(path=file, declared=project, python_policies=python, written=written)


def _parse(file: Path, findings: list[Finding], cache: ManifestCache) -> ParsedDocument | None:
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


def _check(
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


def _validate(
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
    findings += [
        Finding(
            source=document.at("metadata", key),
            problem=f"{COMMAND_PROJECT} stands for single commands, which own nothing",
            advice="choose another name",
        )
        for key, name in (("name", project.metadata.name), ("uid", project.metadata.uid))
        if name == COMMAND_PROJECT
    ]
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


def _wrong_policies(project: Project, document: Document, folder: Path) -> Iterator[Finding]:
    for index, item in enumerate(project.spec.policies):
        if not isinstance(item, str):
            continue
        if not (folder / item).exists():
            problem, advice = f"{item} does not exist", "correct the path"
        elif item.endswith(".py") and not (folder / item).is_dir():
            problem, advice = f"{item} is a Python file, not a manifest", class_for_file(item)
        else:
            continue
        source = document.at("spec", "policies", index)
        yield Finding(source=source, problem=problem, advice=advice)


def _clusters_of(content: Content) -> dict[str, Content]:
    """The clusters, with their placeholders."""
    spec = content.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    return clusters if isinstance(clusters, dict) else {}


def _with_clusters(content: Content, clusters: dict[str, Any]) -> Content:
    """The content with these clusters only, so that the others' placeholders need no values."""
    if not _clusters_of(content):
        return content
    return {**content, "spec": {**content["spec"], "clusters": clusters}}


def _cluster(
    name: str, written: ParsedDocument, env: Mapping[str, str], *, offline: bool
) -> tuple[ClusterSettings, Mapping[str, str]]:
    findings: list[Finding] = []
    settings_written = _clusters_of(written.content)[name]
    if offline:
        settings_written = {**settings_written, "url": "embedded:", "configs": {}}
    content = _with_clusters(written.content, {name: settings_written})
    lookup = Lookup({}, env)
    project = _validate(content, written.document, lookup, findings)
    if project is None or findings:
        raise FindingsError(findings)
    settings: ClusterSettings = project.spec.clusters[name]
    sandbox = sandbox_name(settings.url)
    place = written.document.at("spec", "clusters", name, "url")
    if not settings.url.startswith(("embedded:", "kafka://", "sandbox:")):
        problem = f"the url of cluster {name} has an unknown scheme"
        raise FindingsError([Finding(source=place, problem=problem, advice=f"write {URL_FORMS}")])
    if sandbox is not None and not is_sandbox_name(sandbox):
        problem = f"the url of cluster {name} names no sandbox: {sandbox!r}"
        raise FindingsError([Finding(source=place, problem=problem, advice=SANDBOX_NAMES)])
    if not offline:
        _check_gateway(name, settings, written.document)
    return settings, lookup.used_env


def _check_gateway(name: str, settings: ClusterSettings, document: Document) -> None:
    """Refuse a gateway whose brokers know virtual clusters: there is nothing to translate."""
    knows = settings.url.startswith("embedded:") and _LOWERED not in settings.url
    if settings.gateway is not None and knows:
        raise FindingsError(
            [
                Finding(
                    source=document.key_at("spec", "clusters", name, "gateway"),
                    problem=f"the cluster {name} is embedded and knows virtual clusters itself, so "
                    "its clients need no gateway",
                    advice=f"remove gateway, or add ?{_LOWERED} to the url to plan as for Kafka",
                )
            ]
        )


def python_policy(settings: PolicySettings, source: Source, folder: Path) -> PythonPolicy:
    """The policy as a rule; its module's text is read if it is in the project's ``folder``.

    Its digest covers the class, the configs and that text, but not the module's imports.
    """
    class_name = settings.class_.partition(":")[2]
    configs = {key: scalar_text(value) for key, value in settings.configs.items()}
    text = _text(_file(folder, settings.class_))
    texts = _class_texts(text, class_name)
    content = {"class": settings.class_, "configs": configs, "text": text}
    return PythonPolicy(
        name=settings.name or kebab_case(class_name or settings.class_),
        level=Level(settings.level),
        digest=f"sha256:{sha256(canonical_json(content)).hexdigest()}",
        class_=settings.class_,
        description=texts.get("description", ""),
        remediation=texts.get("remediation", ""),
        source=source,
        folder=folder,
        configs=configs,
    )


def module_file(policy: PythonPolicy) -> Path | None:
    """The file of the policy's module; None if it is in an installed package."""
    return None if policy.folder is None else _file(policy.folder, policy.class_)


def class_for_file(path: str) -> str:
    """Return the advice for a Python file that is listed by its path, as if it were a manifest."""
    module = PurePosixPath(path).with_suffix("").parts
    if not all(part.isidentifier() for part in module):
        return 'write {class: "MODULE:CLASS"}, with a module in the project\'s folder'
    return f'write {{class: "{".".join(module)}:CLASS"}}, with the name of the policy\'s class'


def _file(folder: Path, class_: str) -> Path | None:
    path = folder.joinpath(*class_.partition(":")[0].split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if _is_file(file)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # no file can have such a name
        return False


def _text(file: Path | None) -> str | None:
    try:
        return file.read_text(encoding="utf-8") if file else None
    except (OSError, ValueError):
        return None


def _class_texts(text: str | None, name: str) -> Mapping[str, str]:
    """``description`` and ``remediation`` of the class, or the first line of its docstring.

    A module that is not Python is a finding when it is loaded.
    """
    try:
        body = ast.parse(text or "").body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            first_line = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            return {"description": first_line} | dict(_texts(node))
    return {}


def _texts(node: ast.ClassDef) -> list[tuple[str, str]]:
    """The class's attributes that are plain text."""
    return [
        (target.id, statement.value.value)
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    ]
