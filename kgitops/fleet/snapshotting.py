"""Many clusters' states into Parquet, a task and a partition each.

A cluster that can't be read leaves a file that says so in the place of its state: whoever plans
with it is told when it was tried and why it failed. An older state that looks like tonight's would
be planned with, and no state at all might be taken for a cluster that nobody has.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kgitops.fleet.spark.progress import OnProgress, untold
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.tables.partitions import partition_folder
from kgitops.fleet.tables.state_rows import write_state, write_unread
from kgitops.fleet.tables.writing import UnwritableError
from kgitops.fleet.units.desired_paths import told_apart
from kgitops.fleet.units.given_paths import check_there
from kgitops.fleet.units.here import work_in
from kgitops.fleet.units.projects import FoundProject, find_projects
from kgitops.manifests.problems import suggestion
from kgitops.model import clock
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.json.canonical import canonical_text
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.workflow.project.selection import Selection, open_workspace

AT_ONCE = 8
"""Reading is waiting for the network, so that there are more tasks at a time than cores."""
_FILE = "state.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshot:
    """What is asked for: the clusters of these projects, or some of them, and which Spark reads."""

    projects: tuple[Path, ...]
    out: Path
    clusters: tuple[str, ...] = ()
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCluster:
    """What became of one cluster: how many topics it has, or why it could not be read."""

    cluster: str
    topics: int = 0
    reason: Reason | None = None


def snapshot_fleet(
    asked: FleetSnapshot, on_progress: OnProgress = untold
) -> tuple[ReadCluster, ...]:
    """Read the clusters, in the order of their names; each state is replaced as a whole.

    Raises:
        FindingsError: a project can't be used, or two mean different clusters by one name.
        UsageError: there is no such cluster, states can't go there, or no such Spark can be meant.
        UnreachableError: Spark can't be reached.
        KgitopsError: a state can't be written.
    """
    specs = specs_for(asked)
    master = asked.master
    if master is None and asked.remote is None:
        master = f"local[{max(os.cpu_count() or 1, min(AT_ONCE, len(specs)))}]"
    with session(master, asked.remote, asked.conf, work=read_cluster) as spark:
        return tuple(map(_read_answer, run_tasks(spark, specs, read_cluster, on_progress)))


def specs_for(asked: FleetSnapshot) -> list[str]:
    """What each cluster's task is told: nothing that a project file takes from the environment.

    Raises:
        FindingsError: a project can't be used, or two mean different clusters by one name.
        UsageError: there is no such cluster, or states can't go there.
    """
    check_there(asked.projects)
    _check_out(asked.out)
    return [_spec(asked.out, cluster, project) for cluster, project in _wanted(asked)]


def read_cluster(spec: str) -> str:
    """A task: read a cluster and write its state; what keeps it from being read is an answer.

    ``${env:…}`` is the executor's environment, so that no secret travels.

    Raises:
        KgitopsError: the state can't be written.
    """
    given = json.loads(spec)
    work_in(given["here"])
    path = Path(given["out"])
    selection = Selection(
        paths=(Path(given["project"]),), cluster=given["cluster"], environ=os.environ
    )
    try:
        with open_workspace(selection).connected() as cluster:
            state = cluster.read_state()
            state = state.with_usage(cluster.read_usage(frozenset(state.topics)))
        write_state(state, path)
    except UnwritableError:
        raise
    except KgitopsError as error:
        return _unread(given, error.reasons[0], path)
    except Exception as error:  # noqa: BLE001 (one cluster's fault is not the others')
        # What it says may hold what came from the environment.
        sentence = (
            f"kgitops failed where it should not: {type(error).__name__}; run kgitops --debug "
            f"snapshot -c {given['cluster']} and report what it prints"
        )
        return _unread(given, Reason(exit=ExitCode.ERROR, sentence=sentence), path)
    return canonical_text({"topics": len(state.topics), **_of(given)})


def _unread(given: Mapping[str, str], reason: Reason, path: Path) -> str:
    write_unread(given["cluster"], reason, clock.to_text(datetime.now(UTC)), path)
    return canonical_text({"exit": int(reason.exit), "sentence": reason.sentence, **_of(given)})


def _of(given: Mapping[str, str]) -> dict[str, str]:
    return {"cluster": given["cluster"]}


def _read_answer(answer: str) -> ReadCluster:
    given = json.loads(answer)
    if "topics" in given:
        return ReadCluster(cluster=given["cluster"], topics=given["topics"])
    reason = Reason(exit=ExitCode(given["exit"]), sentence=given["sentence"])
    return ReadCluster(cluster=given["cluster"], reason=reason)


def _spec(out: Path, cluster: str, project: Path) -> str:
    place = out.absolute() / partition_folder("cluster", cluster) / _FILE
    return canonical_text(
        {
            "cluster": cluster,
            "project": str(project),
            "out": str(place),
            "here": str(Path.cwd()),
        }
    )


def _check_out(out: Path) -> None:
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise UsageError(f"--out {out}: {there} is a file; name a folder")


def _wanted(asked: FleetSnapshot) -> list[tuple[str, Path]]:
    """The clusters by name, each with a project that knows how to reach it."""
    found = find_projects(told_apart(asked.projects), asked.environ)
    findings = [*found.findings, *_disputed(found.projects)]
    if findings:
        raise FindingsError(findings)
    homes: dict[str, Path] = {}
    for project in found.projects:
        for cluster in project.clusters or ():
            homes.setdefault(cluster, project.desired.paths[0])
    for name in asked.clusters:
        if name not in homes:
            near = suggestion(name, list(homes))
            raise UsageError(
                f"no project has a cluster {name!r}; "
                + (f"did you mean {near}?" if near else f"there are {', '.join(sorted(homes))}")
            )
    if not homes:
        raise UsageError("no project file names a cluster; give the folder of one that does")
    chosen = asked.clusters or tuple(homes)
    return sorted((name, homes[name]) for name in set(chosen))


def _disputed(projects: Sequence[FoundProject]) -> Iterator[Finding]:
    """One name for two clusters: each project would be planned on the other's state."""
    urls: dict[str, tuple[str, FoundProject]] = {}
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


def _url(project: FoundProject, cluster: str) -> str:
    """Where the cluster is, as it is written: values of the environment are only known there.

    A file of an embedded one counts from the project's folder.
    """
    written = project.file.raw_url(cluster) if project.file else ""
    kind, _, file = written.partition(":")
    if written and kind != "embedded":
        return written
    return f"{kind}:{(project.place.parent / file).absolute()}"
