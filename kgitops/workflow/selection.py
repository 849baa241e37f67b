"""What a command line is about: which project, which of its files, which cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project, Safety
from kgitops.manifests.project import BrokerConfig, ProjectFile, load_project
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import UsageError

PROJECT_FILE = "kgitops.yaml"
DEFAULT_CLUSTER = "local"
DEFAULT_URL = "embedded:.kgitops/local.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the user typed; ``environ`` is the process's environment."""

    paths: Sequence[Path] = ()
    cluster: str | None = None
    targets: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    principal: str | None = None
    allow_deletes: Mapping[str, int] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A project, the part of it that was asked for, and the cluster it is for.

    ``whole`` says that every document of the project is loaded: only then can an absence mean
    something. ``base`` is the folder that the project's paths are relative to.
    """

    project: Project
    safety: Safety
    principal: str
    base: Path
    manifests: Sequence[Path]
    whole: bool
    allow_configs: tuple[str, ...]
    target_name: str
    url: str
    brokers: int | Sequence[Broker] | None
    variables: Mapping[str, str]

    def connect(self) -> Cluster:
        """The cluster, opened.

        Raises:
            UnreachableError: it can't be opened.
        """
        return connect(self.url, brokers=self.brokers, base=self.base)


def open_workspace(selection: Selection) -> Workspace:
    """Find the project and the cluster that a command line means.

    Raises:
        FindingsError: the project file can't be used.
        UsageError: the paths or the cluster can't be meant.
    """
    home, whole = _project_home(selection.paths)
    file = load_project(home / PROJECT_FILE, env=selection.environ) if home is not None else None
    base = home if home is not None else Path()
    name, url, brokers, variables = _cluster(selection.cluster, file, selection.environ)
    return Workspace(
        project=_project(file),
        safety=_safety(file, selection.allow_deletes),
        principal=selection.principal or (file and file.principal) or "User:ANONYMOUS",
        base=base,
        manifests=file.manifests if file and (whole or not selection.paths) else selection.paths,
        whole=whole and not selection.targets and not selection.excludes,
        allow_configs=file.allow_configs if file else (),
        target_name=name,
        url=url,
        brokers=brokers,
        variables=variables,
    )


def _project_home(paths: Sequence[Path]) -> tuple[Path | None, bool]:
    """The folder of the project file, and whether all of the project is asked for."""
    homes = [path for path in paths if (path / PROJECT_FILE).is_file()]
    if len(homes) > 1 or (homes and len(paths) > 1):
        raise UsageError(
            f"{homes[0]} is a whole project and can't be mixed with other paths; give one project "
            "folder, or only files and folders of one project"
        )
    if homes:
        return homes[0], True
    if not paths:
        return (Path(), True) if Path(PROJECT_FILE).is_file() else (None, False)
    found = {_enclosing(path) for path in paths}
    if len(found) > 1:
        raise UsageError("the paths belong to different projects; plan one project at a time")
    return found.pop(), False


def _enclosing(path: Path) -> Path | None:
    """The nearest folder above ``path`` with a project file; the working directory's own last."""
    for folder in path.parents:
        if (folder / PROJECT_FILE).is_file():
            return folder
    return Path() if Path(PROJECT_FILE).is_file() else None


def _project(file: ProjectFile | None) -> Project:
    if file is None:
        return Project(name="default")
    return Project(name=file.name, uid=file.uid, formerly=file.formerly, take_from=file.take_from)


def _safety(file: ProjectFile | None, allow_deletes: Mapping[str, int]) -> Safety:
    if file is None:
        return Safety(allow_deletes=allow_deletes)
    return Safety(
        max_deletes=file.max_deletes,
        max_delete_percent=file.max_delete_percent,
        allow_deletes=allow_deletes,
    )


_Brokers = int | Sequence[Broker] | None


def _cluster(
    wanted: str | None, file: ProjectFile | None, environ: Mapping[str, str]
) -> tuple[str, str, _Brokers, Mapping[str, str]]:
    """Name, URL, brokers and variables of the cluster that is meant."""
    names = file.cluster_names if file else ()
    if wanted is None:
        wanted = (file and file.default_cluster) or (names[0] if len(names) == 1 else None)
    if wanted is None and not names:
        return DEFAULT_CLUSTER, DEFAULT_URL, None, {}
    if wanted is None:
        raise UsageError(
            f"the project has the clusters {', '.join(sorted(names))} and no defaultCluster; "
            "choose one with --cluster"
        )
    if file is not None and (wanted in names or ":" not in wanted):
        config = file.cluster(wanted, env=environ)
        return wanted, config.url, _brokers(config.brokers), config.variables
    if ":" not in wanted:
        raise UsageError(
            f"no cluster is named {wanted!r}, because there is no project file; give a URL such "
            "as embedded:.kgitops/local.db"
        )
    return wanted, wanted, None, {}


def _brokers(declared: int | Sequence[BrokerConfig] | None) -> _Brokers:
    if declared is None or isinstance(declared, int):
        return declared
    return tuple(Broker(id=broker.id, rack=broker.rack) for broker in declared)
