"""Loads the project file ``kgitops.yaml``; a cluster's secrets are read only when it is used."""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from kgitops.manifests.cache import NO_CACHE, ManifestCache
from kgitops.manifests.files import PROJECT_FILE
from kgitops.manifests.kinds.topic_profile import TopicDefaults
from kgitops.manifests.project.checks import (
    check_project,
    clusters_of,
    parse_project,
    validate_project,
    with_clusters,
)
from kgitops.manifests.project.document import ClusterSettings, Project
from kgitops.manifests.project.python_policies import class_for_file, python_policy
from kgitops.manifests.project.reconcile import ProjectReconcileDocument, ReconcileDocument
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.nodes import scalar_text
from kgitops.manifests.yaml.parse import ParsedDocument
from kgitops.manifests.yaml.placeholders import Lookup
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.names import SANDBOX_NAMES, URL_FORMS, is_sandbox_name, sandbox_name
from kgitops.model.source import Finding, Source
from kgitops.model.wording import nearest
from kgitops.policy.evaluate.bundle import Level, PythonPolicy
from kgitops.policy.units import duration_ms

_LOWERED = "virtual.clusters=lowered"


class BrokerConfig(Struct, frozen=True, kw_only=True):
    """A broker of an embedded cluster."""

    id: int
    rack: str | None = None


class WrittenDefaults(Struct, frozen=True):
    """The defaults under ``path`` of the project file, of one cluster if it is named."""

    topic: TopicDefaults
    document: Document
    path: tuple[str, ...]
    cluster: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """A cluster of the project, with every placeholder replaced; ``configs`` may hold secrets.

    ``source`` is the place of its ``clusterId``, and of its ``url`` where it pins none.
    ``policy_levels`` are the levels that policies have here, by name, each with its source.
    """

    name: str
    url: str
    source: Source
    cluster_id: str | None = None
    brokers: int | tuple[BrokerConfig, ...] | None = None
    configs: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    policy_levels: Mapping[str, tuple[Level, Source]] = dataclasses.field(default_factory=dict)
    env_values: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Values from the environment, to their variables' names: findings must not show the values."""
    defaults: WrittenDefaults | None = None
    reconcile: ReconcileDocument | None = None
    gateway: DeclaredGateway | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A project file; its paths are already joined to its folder.

    ``policies`` are files and folders of Policy, Waiver and PolicyTest documents.
    """

    path: Path
    name: str
    uid: str | None = None
    formerly: tuple[str, ...] = ()
    take_from: tuple[str, ...] = ()
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    manifests: tuple[Path, ...] = ()
    policies: tuple[Path, ...] = ()
    python_policies: tuple[PythonPolicy, ...] = ()
    default_cluster: str | None = None
    principal: str | None = None
    cluster_names: tuple[str, ...] = ()
    max_deletes: int = 10
    max_delete_percent: int = 20
    replication_throttle: int = 50 * 1024 * 1024
    lock_timeout_ms: int | None = None
    allow_configs: tuple[str, ...] = ()
    defaults: WrittenDefaults | None = None
    reconcile: ProjectReconcileDocument | None = None
    _declared: Project = dataclasses.field(repr=False, compare=False)
    _written: ParsedDocument = dataclasses.field(repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.path.parent

    def cluster(self, name: str, *, env: Mapping[str, str], offline: bool = False) -> ClusterConfig:
        """The cluster called ``name``, its placeholders replaced from ``env``.

        ``offline`` leaves out its url and configs: planning from a snapshot needs no password.

        Raises:
            UsageError: the project has no such cluster.
            FindingsError: a placeholder has no value, or the result is not valid.
        """
        if name not in self.cluster_names:
            near = nearest(name, list(self.cluster_names))
            known = ", ".join(self.cluster_names) or "none"
            advice = f"did you mean {near}?" if near else f"it has {known}"
            raise UsageError(f"the project {self.name} has no cluster {name!r}; {advice}")
        return _cluster(name, self._written, env, offline=offline)

    def cluster_source(self, cluster: str) -> Source:
        """The place of ``cluster`` in the project file."""
        return self._written.document.key_at("spec", "clusters", cluster)

    def raw_url(self, cluster: str) -> str:
        """The url of ``cluster`` with its placeholders."""
        settings = clusters_of(self._written.content).get(cluster)
        return str(settings.get("url", "")) if isinstance(settings, dict) else ""

    @property
    def existing_manifests(self) -> tuple[Path, ...]:
        """Paths of manifests, without the default folder if it is neither declared nor there."""
        spec = self._written.content.get("spec")
        written = isinstance(spec, dict) and "manifests" in spec
        return tuple(path for path in self.manifests if written or os.path.lexists(path))

    @property
    def named(self) -> tuple[tuple[object, Document], ...]:
        """The declarations that hold the file's names: all but clusters, and those of clusters."""
        clusters = {"spec": {"clusters": dict.fromkeys(self.cluster_names)}}
        return (self._declared, self._written.document), (clusters, self._written.document)

    @property
    def strictest_levels(self) -> Mapping[str, Level]:
        """The strictest level that each policy is given on any cluster of the project."""
        strictest: dict[str, Level] = {}
        for cluster in clusters_of(self._written.content).values():
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
    written = parse_project(file, findings, cache)
    project = check_project(written, env, findings) if written else None
    if project and written:
        findings += _wrong_policies(project, written.document, file.parent)
    if findings or project is None or written is None:
        raise FindingsError(findings)
    metadata, spec = project.metadata, project.spec
    wait = spec.safety.lock_timeout
    return ProjectFile(
        path=file,
        name=metadata.name,
        uid=metadata.uid,
        formerly=tuple(metadata.formerly),
        take_from=tuple(metadata.take_from),
        labels=metadata.labels,
        manifests=tuple(file.parent / name for name in spec.manifests),
        policies=tuple(file.parent / item for item in spec.policies if isinstance(item, str)),
        python_policies=tuple(
            python_policy(item, written.document.at("spec", "policies", index), file.parent)
            for index, item in enumerate(spec.policies)
            if not isinstance(item, str)
        ),
        default_cluster=spec.default_cluster,
        principal=spec.principal,
        cluster_names=tuple(map(str, clusters_of(written.content))),
        max_deletes=spec.safety.max_deletes,
        max_delete_percent=spec.safety.max_delete_percent,
        replication_throttle=spec.safety.replication_throttle,
        lock_timeout_ms=None if wait is None else duration_ms(wait),
        allow_configs=tuple(spec.allow_configs),
        defaults=WrittenDefaults(spec.defaults.topic, written.document, ("spec", "defaults")),
        reconcile=spec.reconcile,
        _declared=project,
        _written=written,
    )


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


def _cluster(
    name: str, written: ParsedDocument, env: Mapping[str, str], *, offline: bool
) -> ClusterConfig:
    findings: list[Finding] = []
    settings_written = clusters_of(written.content)[name]
    if offline:
        settings_written = {**settings_written, "url": "embedded:", "configs": {}}
    content = with_clusters(written.content, {name: settings_written})
    lookup = Lookup({}, env)
    project = validate_project(content, written.document, lookup, findings)
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
    gateway = _gateway(name, settings, written.document, offline=offline)
    brokers = settings.brokers
    return ClusterConfig(
        name=name,
        url=settings.url,
        source=written.document.key_at(
            "spec", "clusters", name, "url" if settings.cluster_id is None else "clusterId"
        ),
        cluster_id=settings.cluster_id,
        brokers=tuple(BrokerConfig(id=broker.id, rack=broker.rack) for broker in brokers)
        if isinstance(brokers, list)
        else brokers,
        configs=_texts(settings.configs),
        variables=_texts(settings.variables),
        policy_levels={
            policy: (
                Level(level),
                written.document.key_at("spec", "clusters", name, "policyLevels", policy),
            )
            for policy, level in settings.policy_levels.items()
        },
        env_values=lookup.used_env,
        defaults=WrittenDefaults(
            settings.defaults.topic,
            written.document,
            ("spec", "clusters", name, "defaults"),
            name,
        ),
        reconcile=settings.reconcile,
        gateway=gateway,
    )


def _gateway(
    name: str, settings: ClusterSettings, document: Document, *, offline: bool
) -> DeclaredGateway | None:
    """The gateway of the cluster, if it declares one.

    Raises:
        FindingsError: its brokers know virtual clusters, so there is nothing to translate.
    """
    if settings.gateway is None:
        return None
    if not offline and settings.url.startswith("embedded:") and _LOWERED not in settings.url:
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
    return DeclaredGateway(bootstrap_servers=settings.gateway.bootstrap_servers)


def _texts(values: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    return {key: scalar_text(value) for key, value in values.items()}
