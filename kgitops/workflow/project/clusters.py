"""Chooses the cluster of a command line, and connects to it."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kgitops.cluster.connect import connect, store_path
from kgitops.cluster.port import Cluster
from kgitops.desired.findings import without_env_values
from kgitops.manifests.project_document import BrokerSettings, ReconcileDocument
from kgitops.manifests.project_file import ProjectFile, WrittenDefaults
from kgitops.manifests.yaml.document import scalar_text
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import FindingsError, KgitopsError, OtherClusterError, UsageError
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.names import URL_FORMS, is_cluster_url, sandbox_name
from kgitops.model.resources.pinned_cluster import PinnedId
from kgitops.model.source import Finding, Source
from kgitops.policy.evaluate.bundle import Bundle, Level

if TYPE_CHECKING:
    from kgitops.sandbox.service import SandboxAddress

DEFAULT_CLUSTER = "local"
DEFAULT_URL = "embedded:.kgitops/local.db"
_NOWHERE = "embedded:"
_LOGIN = ("sasl.", "security.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The URL and configs that reach a cluster; ``sandbox`` if they are of a running sandbox."""

    url: str
    configs: Mapping[str, str] = field(repr=False)
    sandbox: "SandboxAddress | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCluster:
    """The chosen cluster.

    ``base`` is the folder that a file in the URL is relative to. ``variables`` are the values of
    ``${var:NAME}``; ``env_values`` maps what was taken from the environment to its variable's name.
    ``policy_levels`` are the levels that policies have here, and where that is written;
    ``defaults``, ``reconcile`` and ``gateway`` are what the project says for this cluster alone.
    ``pin`` is the id that the project expects of it; ``declared_at`` is the place of its ``url``
    in the project file, which a cluster given by its URL has not. ``as_kafka`` is true for an
    embedded cluster that answers as today's Kafka unless its URL names a ``compat``.
    """

    name: str
    url: str
    base: Path
    brokers: int | Sequence[Broker] | None = None
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    policy_levels: Mapping[str, tuple[Level, Source]] = field(default_factory=dict)
    defaults: WrittenDefaults | None = None
    reconcile: ReconcileDocument | None = None
    gateway: DeclaredGateway | None = None
    pin: PinnedId | None = None
    declared_at: Source | None = None
    as_kafka: bool = False

    @property
    def in_memory(self) -> bool:
        """True for an embedded cluster that is another one each time that it is opened."""
        return self.url.startswith("embedded:") and store_path(self.url, self.base) is None

    @property
    def unpinned(self) -> Source | None:
        """The place of the cluster's url in the project file, where a pin is worth having.

        A sandbox has a new id after each ``sandbox stop``, and its id is checked in any case.
        """
        passing = self.in_memory or sandbox_name(self.url) is not None
        return None if self.pin is not None or passing else self.declared_at

    def located(self) -> "Location":
        """The address of the cluster: a sandbox's is known only while it runs.

        Raises:
            UnreachableError: it is a sandbox that does not run.
        """
        name = sandbox_name(self.url)
        if name is None:
            return Location(url=self.url, configs=self.configs)
        from kgitops.sandbox.service import find_running

        sandbox = find_running(name)
        logs_in = any(key.startswith(_LOGIN) for key in self.configs)
        return Location(
            url=f"kafka://{sandbox.servers}",
            configs={**({} if logs_in else sandbox.configs), **self.configs},
            sandbox=sandbox,
        )

    def connect(self, policies: Bundle | None = None) -> Cluster:
        """The cluster, opened; embedded brokers judge by ``policies``.

        Raises:
            UnreachableError: it can't be opened.
            OtherClusterError: it is not the one that the project pins.
        """
        location = self.located()
        cluster = connect(
            location.url,
            brokers=self.brokers,
            configs=location.configs,
            base=self.base,
            policies=policies,
            pin=self.pin,
            as_kafka=self.as_kafka,
        )
        if location.sandbox is not None:
            try:
                location.sandbox.check(cluster.cluster_id)
            except BaseException:
                cluster.close()
                raise
        return cluster

    @contextmanager
    def connected(self, policies: Bundle | None = None) -> Iterator[Cluster]:
        """The cluster, open within this block; no error shows values from the environment.

        Raises:
            UnreachableError: it can't be opened.
            OtherClusterError: it is not the one that the project pins.
        """
        with self.secrets_hidden(), closing(self.connect(policies)) as cluster:
            yield cluster

    @contextmanager
    def secrets_hidden(self) -> Iterator[None]:
        """A block whose errors show no values from the environment."""
        try:
            yield
        except FindingsError:
            raise
        except KgitopsError as error:
            used = (self.url, *self.configs.values())
            secrets = {
                text: name
                for text, name in self.env_values.items()
                if any(text in value for value in used)
            }
            if not secrets:
                raise
            raise _without(error, secrets) from error


def choose_cluster(
    wanted: str | None,
    file: ProjectFile | None,
    root: Path | None,
    environ: Mapping[str, str],
    *,
    offline: bool = False,
    variables_of: str | None = None,
) -> ChosenCluster:
    """The cluster called ``wanted``, the one behind that URL, or the default one.

    ``offline`` means without a connection: its settings are not needed, and any name is allowed if
    no project file names clusters. ``variables_of`` names the cluster whose variables a cluster
    given by its URL takes.

    Raises:
        UsageError: there is no such cluster, or several and no default.
        FindingsError: the project file's own settings for it can't be used.
    """
    names = file.cluster_names if file else ()
    if wanted is None:
        wanted = (file and file.spec.default_cluster) or (names[0] if len(names) == 1 else None)
    if wanted is None and names:
        raise UsageError(
            f"the project has the clusters {', '.join(sorted(names))} and no defaultCluster; "
            "choose one with --cluster"
        )
    base = root or Path()
    is_url = wanted is not None and is_cluster_url(wanted)
    if variables_of is not None and not (is_url and file is not None):
        raise UsageError(
            "--variables-of is for a cluster that is given by its URL, in a project that declares "
            "others; leave it out, or give --cluster the URL"
        )
    if file is not None and wanted in names:
        return _of_project(wanted, file, environ, base, offline=offline)
    if wanted in (None, DEFAULT_CLUSTER) and not names:
        return ChosenCluster(name=DEFAULT_CLUSTER, url=DEFAULT_URL, base=base)
    if wanted is not None and is_url:
        # It was typed here, so a file in it is relative to this folder.
        chosen = ChosenCluster(name=wanted, url=wanted, base=Path())
        if file is None or variables_of is None:
            return chosen
        named = _of_project(variables_of, file, environ, base, offline=True)
        return dataclasses.replace(
            chosen,
            variables=named.variables,
            env_values=named.env_values,
            defaults=named.defaults,
            reconcile=named.reconcile,
        )
    if wanted is not None and ":" in wanted:
        raise UsageError(f"--cluster {wanted} is not the URL of a cluster; write {URL_FORMS}")
    if offline and wanted is not None and not names:
        return ChosenCluster(name=wanted, url=_NOWHERE, base=base)
    if file is not None and wanted is not None and names:
        file.cluster(wanted, env=environ)  # suggests the nearest name
    raise UsageError(
        f"no cluster is named {wanted!r}, because no project file names any; give a URL such as "
        f"{DEFAULT_URL}"
    )


def _of_project(
    name: str, file: ProjectFile, environ: Mapping[str, str], base: Path, *, offline: bool
) -> ChosenCluster:
    settings, env_values = file.cluster(name, env=environ, offline=offline)
    place = file.cluster_source(name, "url" if settings.cluster_id is None else "clusterId")
    return ChosenCluster(
        name=name,
        url=settings.url,
        base=base,
        brokers=_brokers(settings.brokers),
        configs=_texts(settings.configs),
        variables=_texts(settings.variables),
        env_values=env_values,
        policy_levels={
            policy: (Level(level), file.cluster_source(name, "policyLevels", policy))
            for policy, level in settings.policy_levels.items()
        },
        defaults=file.cluster_defaults(name, settings),
        reconcile=settings.reconcile,
        gateway=None
        if settings.gateway is None
        else DeclaredGateway(bootstrap_servers=settings.gateway.bootstrap_servers),
        pin=None
        if settings.cluster_id is None
        else PinnedId(
            cluster=name, cluster_id=settings.cluster_id, address=settings.url, source=place
        ),
        declared_at=place,
    )


def _brokers(declared: int | Sequence[BrokerSettings] | None) -> int | Sequence[Broker] | None:
    if declared is None or isinstance(declared, int):
        return declared
    return tuple(Broker(id=broker.id, rack=broker.rack) for broker in declared)


def _texts(values: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    return {key: scalar_text(value) for key, value in values.items()}


def _without(error: KgitopsError, secrets: Mapping[str, str]) -> KgitopsError:
    finding = Finding(source=None, problem=str(error), advice="")
    (hidden,) = without_env_values([finding], secrets)
    if isinstance(error, OtherClusterError):
        return OtherClusterError(hidden.problem, cluster_id=error.cluster_id)
    return type(error)(hidden.problem)
