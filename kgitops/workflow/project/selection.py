"""The selection of a command line: the project, its files, and the cluster."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.cluster.snapshot import SnapshotCluster, read_snapshot
from kgitops.desired.selector import Selector
from kgitops.desired.state import Project, Safety
from kgitops.manifests.files import display_name, in_copy
from kgitops.manifests.project_document import ReconcileSettings, reconcile_settings
from kgitops.manifests.project_file import ProjectFile, WrittenDefaults, load_project, module_file
from kgitops.manifests.reading import NO_CACHE, ManifestCache
from kgitops.model.errors import UnreachableError
from kgitops.model.lowered import Grade
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.model.wording import resume_command_of, resumed_by
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.workflow.project.clusters import ChosenCluster, choose_cluster
from kgitops.workflow.project.project_root import PROJECT_FILE, default_paths, find_project_root
from kgitops.workflow.project.saved_plan import find_plan_root

ANONYMOUS = "User:ANONYMOUS"
CLUSTER_VARIABLE = "KGITOPS_CLUSTER"
"""The environment variable with the cluster that is meant where none is named."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The options that the user typed; ``environ`` is the process's environment.

    ``variables_of`` names the cluster of the project whose variables one given by URL has.
    ``selector``: only what has these labels. ``offline``: a snapshot stands in for the cluster.
    ``fail_on`` is the grade of lowering at which a plan is denied. Below ``policies`` stand some
    that judge beside the project's own. ``cache`` is where files are read.
    """

    paths: Sequence[Path] = ()
    cluster: str | None = None
    variables_of: str | None = None
    targets: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    selector: Selector = ()
    principal: str | None = None
    allow_deletes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    allow_empty_folders: tuple[str, ...] = ()
    allow_takeover: tuple[str, ...] = ()
    offline: bool = False
    fail_on: Grade | None = None
    policies: Sequence[Path] = ()
    environ: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    cache: ManifestCache = dataclasses.field(default=NO_CACHE, repr=False, compare=False)

    @property
    def shapes_a_plan(self) -> bool:
        """True if an option was given that only counts while a plan is made."""
        allowed = (self.allow_deletes, self.allow_empty_folders, self.allow_takeover)
        return self.takes_a_part or any((self.principal, *allowed, self.fail_on))

    @property
    def takes_a_part(self) -> bool:
        """True if only some of the objects are to be planned: then no absence means anything."""
        return bool(self.targets or self.excludes or self.selector)


def folder_names(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the folders of ``--allow-empty-folder`` as plans name them."""
    return tuple(sorted({display_name(Path(path)) for path in paths}))


def of_folder(selection: Selection, folder: Path) -> Selection:
    """The same options for the project in another folder."""
    return dataclasses.replace(selection, paths=(folder,))


class Workspace(Struct, frozen=True, kw_only=True):
    """A project, the part of it that was asked for, and the cluster it is for.

    ``whole`` says that every document of the project is loaded: only then can an absence mean
    something. ``base`` is the folder that the project's paths are relative to.
    ``known_clusters`` are the names of the project's clusters; None without a project file.
    ``file`` is the project file itself: its policies count, whatever part is asked for.
    """

    selection: Selection
    project: Project
    safety: Safety
    principal: str
    base: Path
    manifests: Sequence[Path]
    whole: bool
    allow_configs: tuple[str, ...]
    known_clusters: tuple[str, ...] | None
    cluster: ChosenCluster
    file: ProjectFile | None = None

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files and folders that a plan is made from."""
        file = self.base / PROJECT_FILE
        policies = self.file.policies if self.file else ()
        python = map(module_file, self.file.python_policies if self.file else ())
        modules = [module for module in python if module is not None]
        manifests = (*self.manifests, *self.around)
        return (*([file] if file.is_file() else []), *manifests, *policies, *modules)

    @property
    def target_name(self) -> str:
        """The project's name for the cluster."""
        return self.cluster.name

    @property
    def address(self) -> str:
        """The cluster's URL as it is written, without the values of placeholders."""
        return (self.file and self.file.raw_url(self.cluster.name)) or self.cluster.url

    @property
    def variables(self) -> Mapping[str, str]:
        """The values of ``${var:NAME}`` on this cluster."""
        return self.cluster.variables

    @property
    def defaults(self) -> tuple[WrittenDefaults, ...]:
        """The defaults of the project and, which win, of the cluster."""
        written = (self.file.defaults if self.file else None, self.cluster.defaults)
        return tuple(item for item in written if item is not None)

    @property
    def reconcile(self) -> ReconcileSettings:
        """The settings of ``kgitops reconcile`` on this cluster."""
        written = self.file.spec.reconcile if self.file else None
        return reconcile_settings(written, self.cluster.reconcile)

    @property
    def around(self) -> tuple[Path, ...]:
        """The project's manifests, if only some of them are loaded; else none."""
        if self.file is None or tuple(self.manifests) == self.file.manifests:
            return ()
        return self.file.existing_manifests

    @property
    def resume_command(self) -> str:
        """The command that finishes an unfinished run of the project on the cluster."""
        folder = display_name(self.base)
        is_here = in_copy() or Path(folder).resolve() == Path.cwd()
        return resume_command_of(self.cluster.name, None if is_here else folder)

    @contextmanager
    def connected(self, policies: Bundle | None = None) -> Iterator[Cluster]:
        """The cluster, open within a ``with`` block; embedded brokers judge by ``policies``.

        Messages within the block name the project's own ``resume_command``.
        """
        with resumed_by(self.resume_command), self.cluster.connected(policies) as cluster:
            yield cluster


def open_workspace(selection: Selection) -> Workspace:
    """Find the project and the cluster of a command line.

    Raises:
        FindingsError: the project file can't be used.
        UsageError: the paths are not of one project, or there is no such cluster.
    """
    root, whole = find_project_root(selection.paths or default_paths(selection.environ))
    cluster = selection.cluster or selection.environ.get(CLUSTER_VARIABLE) or None
    return _workspace(selection, root, whole=whole, cluster=cluster)


def open_workspace_of(plan: Plan, file: Path, selection: Selection) -> Workspace:
    """Find the project and the cluster that the plan saved at ``file`` was made for.

    Raises:
        FindingsError: the project file can't be used.
        UntrustedPlanError: the plan was made for another project.
    """
    root = find_plan_root(plan, file, selection.environ)
    cluster = selection.cluster or plan.target.name
    return _workspace(selection, root, whole=False, cluster=cluster)


def _workspace(
    selection: Selection, root: Path | None, *, whole: bool, cluster: str | None
) -> Workspace:
    file = (
        load_project(root / PROJECT_FILE, env=selection.environ, cache=selection.cache)
        if root is not None
        else None
    )
    return Workspace(
        selection=selection,
        project=_project(file),
        safety=_safety(file, selection),
        principal=selection.principal or (file and file.spec.principal) or ANONYMOUS,
        base=root or Path(),
        manifests=file.manifests if file and (whole or not selection.paths) else selection.paths,
        whole=whole and not selection.takes_a_part,
        allow_configs=tuple(file.spec.allow_configs) if file else (),
        known_clusters=(file and file.cluster_names) or None,
        cluster=choose_cluster(
            cluster,
            file,
            root,
            selection.environ,
            offline=selection.offline,
            variables_of=selection.variables_of,
        ),
        file=file,
    )


def _project(file: ProjectFile | None) -> Project:
    if file is None:
        return Project(name=DEFAULT_PROJECT)
    declared = file.metadata
    return Project(
        name=declared.name,
        uid=declared.uid,
        formerly=tuple(declared.formerly),
        take_from=tuple(declared.take_from),
    )


def _safety(file: ProjectFile | None, selection: Selection) -> Safety:
    allowed = Safety(
        allow_deletes=selection.allow_deletes,
        allow_empty_folders=selection.allow_empty_folders,
        allow_takeover=selection.allow_takeover,
    )
    if file is None:
        return allowed
    declared = file.spec.safety
    return replace(
        allowed,
        max_deletes=declared.max_deletes,
        max_delete_percent=declared.max_delete_percent,
        replication_throttle=declared.replication_throttle,
    )


def read_cluster(path: Path) -> Cluster:
    """The state saved at ``path``, as a cluster that can only be read.

    Raises:
        UnreachableError: there is no such file, or it is not a snapshot.
        SafetyError: it can't be trusted for planning.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        reason = why.lower() if why else "it is not UTF-8"
        raise UnreachableError(
            f"the snapshot {path} can't be read: {reason}; make one with kgitops snapshot -o"
        ) from error
    return SnapshotCluster(read_snapshot(text, str(path)))
