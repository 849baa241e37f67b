"""Many clusters' states into Parquet, a task and a partition each.

A cluster that can't be read leaves a file that says so in place of its state: a plan with it fails
with the time and the reason. An older state in its place would be planned with as if it were new,
and no state at all might be taken for a cluster that does not exist.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from kgitops.fleet.output.rows import encodable
from kgitops.fleet.spark.engine import OnProgress, ignore_progress
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.tables.format import UnwritableError
from kgitops.fleet.tables.state_rows import write_state, write_unread
from kgitops.fleet.units.data_files import partition_folder
from kgitops.fleet.units.loading import enter_folder, unit_error
from kgitops.fleet.units.paths import check_paths_exist, classify_paths, task_path
from kgitops.fleet.units.projects import FleetProject, find_projects
from kgitops.model import clock
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.json.codec import decode, encode
from kgitops.model.source import Finding
from kgitops.model.verdict import Reason
from kgitops.model.wording import nearest
from kgitops.workflow.project.selection import Selection, open_workspace
from kgitops.workflow.reading import with_users_to_plan

AT_ONCE = 8
"""Reading is waiting for the network, so that there are more tasks at a time than cores."""
_FILE = "state.parquet"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshotOptions:
    """The options of ``fleet snapshot``: projects, perhaps some clusters, the Spark to use.

    ``users``: with the users who log in by SCRAM, also where no project manages any yet.
    """

    projects: tuple[Path, ...]
    out: Path
    clusters: tuple[str, ...] = ()
    users: bool = False
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = dataclasses.field(default_factory=dict)
    environ: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)


class SnapshotTask(Struct, frozen=True, kw_only=True):
    """A cluster to read, of a project, into the file ``out``; ``here`` is the command's folder."""

    cluster: str
    project: str
    out: str
    here: str
    users: bool = False


class SnapshotResult(Struct, frozen=True, kw_only=True):
    """The outcome for one cluster: its number of topics, or the reason that it can't be read."""

    cluster: str
    topics: int = 0
    reason: Reason | None = None


def snapshot_fleet(
    options: FleetSnapshotOptions, on_progress: OnProgress = ignore_progress
) -> tuple[SnapshotResult, ...]:
    """Read the clusters, in the order of their names; each state is replaced as a whole.

    Raises:
        FindingsError: a project can't be used, or two mean different clusters by one name.
        UsageError: there is no such cluster, states can't go there, or that is not a URL of Spark.
        UnreachableError: Spark can't be reached.
        KgitopsError: a state can't be written.
    """
    specs = snapshot_specs(options)
    master = options.master
    if master is None and options.remote is None:
        master = f"local[{max(os.cpu_count() or 1, min(AT_ONCE, len(specs)))}]"
    with session(master, options.remote, options.conf, work=snapshot_task) as spark:
        answers = run_tasks(spark, specs, snapshot_task, on_progress)
        return tuple(decode(SnapshotResult, answer, "the answer") for answer in answers)


def snapshot_specs(options: FleetSnapshotOptions) -> list[str]:
    """The text for each cluster's task, without values that a project file takes from variables.

    Raises:
        FindingsError: a project can't be used, or two mean different clusters by one name.
        UsageError: there is no such cluster, or states can't go there.
    """
    check_paths_exist(options.projects)
    _check_out(options.out)
    return [_spec(options, cluster, project) for cluster, project in _chosen_clusters(options)]


def snapshot_task(spec: str) -> str:
    """A task: read a cluster and write its state; a cluster that can't be read is an answer, too.

    ``${env:…}`` is the executor's environment, so that no secret travels.

    Raises:
        KgitopsError: the state can't be written.
    """
    task = decode(SnapshotTask, spec, "the task")
    enter_folder(task.here)
    selection = Selection(paths=(Path(task.project),), cluster=task.cluster, environ=os.environ)
    try:
        with open_workspace(selection).connected() as cluster:
            state = with_users_to_plan(cluster, cluster.read_state(), wanted=task.users)
            state = state.with_usage(cluster.read_usage(frozenset(state.topics)))
        write_state(state, Path(task.out))
    except UnwritableError:
        raise
    except Exception as error:  # noqa: BLE001 (one cluster's fault is not the others')
        return _unread(task, unit_error(error, f"snapshot -c {task.cluster}").reasons[0])
    return encode(SnapshotResult(cluster=task.cluster, topics=len(state.topics))).decode()


def _unread(task: SnapshotTask, reason: Reason) -> str:
    reason = Reason(exit=reason.exit, sentence=encodable(reason.sentence))
    write_unread(task.cluster, reason, clock.to_text(datetime.now(UTC)), Path(task.out))
    return encode(SnapshotResult(cluster=task.cluster, reason=reason)).decode()


def _spec(options: FleetSnapshotOptions, cluster: str, project: Path) -> str:
    file = options.out.absolute() / partition_folder("cluster", cluster) / _FILE
    task = SnapshotTask(
        cluster=cluster,
        project=str(project),
        out=task_path(file),
        here=task_path(Path.cwd()),
        users=options.users,
    )
    return encode(task).decode()


def _check_out(out: Path) -> None:
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not existing.is_dir():
        raise UsageError(f"--out {out}: {existing} is a file; name a folder")


def _chosen_clusters(options: FleetSnapshotOptions) -> list[tuple[str, Path]]:
    """The clusters by name, each with a project that has its connection."""
    projects = find_projects(classify_paths(options.projects), options.environ)
    findings = [*projects.findings, *_names_of_several_clusters(projects.projects)]
    if findings:
        raise FindingsError(findings)
    projects_by_cluster: dict[str, Path] = {}
    for project in projects.projects:
        for cluster in project.clusters or ():
            projects_by_cluster.setdefault(cluster, project.desired.paths[0])
    for name in options.clusters:
        if name not in projects_by_cluster:
            near = nearest(name, list(projects_by_cluster))
            raise UsageError(
                f"no project has a cluster {name!r}; "
                + (
                    f"did you mean {near}?"
                    if near
                    else f"there are {', '.join(sorted(projects_by_cluster))}"
                )
            )
    if not projects_by_cluster:
        raise UsageError("no project file names a cluster; give the folder of one that does")
    chosen = options.clusters or tuple(projects_by_cluster)
    return sorted((name, projects_by_cluster[name]) for name in set(chosen))


def _names_of_several_clusters(projects: Sequence[FleetProject]) -> Iterator[Finding]:
    """Refuse one name for two clusters: one project would be planned on the other's state."""
    urls: dict[str, tuple[str, FleetProject]] = {}
    for project in projects:
        for name in project.clusters or ():
            url = _url(project, name)
            first, other = urls.setdefault(name, (url, project))
            if first != url:
                yield Finding(
                    source=project.source_of(name),
                    problem=f"{name} is another cluster here than in {other.place}",
                    advice="give one of them another name",
                )


def _url(project: FleetProject, cluster: str) -> str:
    """The cluster's URL as it is written: variables are only known on the executor.

    The file of an embedded cluster is relative to the project's folder.
    """
    written = project.file.raw_url(cluster) if project.file else ""
    kind, _, file = written.partition(":")
    if written and kind != "embedded":
        return written
    return f"{kind}:{(project.place.parent / file).absolute()}"
