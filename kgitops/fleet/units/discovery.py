"""What ``--desired`` and ``--state`` come to: units of work, the heaviest first.

A cluster without a state is a finding and never an empty cluster; a state that no project is for is
a notice and never a plan of deletions.
"""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from kgitops.fleet.units.compiled import FoundRows, find_rows
from kgitops.fleet.units.desired_paths import told_apart
from kgitops.fleet.units.projects import FoundProject, Projects, find_projects
from kgitops.fleet.units.states import SavedState, States, find_states
from kgitops.fleet.units.unit import ManifestsAt, RowsAt, Unit
from kgitops.manifests.files import display_name
from kgitops.manifests.problems import suggestion
from kgitops.model.source import Finding, Source

_LONGEST = 100
_UNNAMED = "desired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What can be planned. ``unplanned`` are clusters with a state that no project is for."""

    units: tuple[Unit, ...] = ()
    findings: tuple[Finding, ...] = ()
    unplanned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Something declared for a cluster, before it meets the cluster's state."""

    cluster: str
    project: str | None
    place: Path
    desired: ManifestsAt | RowsAt
    size: int
    source: Source | None = None


@dataclass(slots=True)
class _Joining:
    states: Mapping[str, SavedState]
    unknown: bool
    disputed: frozenset[str]
    findings: list[Finding] = field(default_factory=list)

    def state_for(self, wanted: _Wanted) -> SavedState | None:
        """The state that ``wanted`` meets; a finding is added where there should be one."""
        state = self.states.get(wanted.cluster)
        if state is None and not self.unknown and wanted.cluster not in self.disputed:
            self.findings.append(_without_state(wanted, self.states))
        return state


def find_units(
    desired: Sequence[Path],
    state: Sequence[Path],
    policies: Sequence[Path],
    environ: Mapping[str, str],
) -> Found:
    """The units of these PATHs, whatever their order; what is wrong is a finding.

    Args:
        desired: project folders, manifests, and Parquet files of desired rows.
        state: files and folders of saved states.
        policies: what ``--policies`` names; every unit takes it along.
        environ: what ``${env:NAME}`` in project files stands for.
    """
    told = told_apart(desired)
    projects, rows, states = find_projects(told, environ), find_rows(told.rows), find_states(state)
    findings = [*projects.findings, *rows.findings, *states.findings]
    findings += _missing(policies)
    wanted = [*_of_projects(projects, states), *_of_rows(rows.rows)]
    kept, disputes = _without_twins(wanted, projects.disputed)
    joining = _Joining(
        states={found.cluster: found for found in states.states},
        unknown=not states.states and bool(states.findings),
        disputed=states.disputed,
        findings=disputes,
    )
    units = [
        (met.size + item.size, _unit(item, met, label, policies))
        for item, label in _labelled(kept)
        if (met := joining.state_for(item)) is not None
    ]
    heaviest_first = sorted(units, key=lambda unit: (-unit[0], unit[1].cluster, unit[1].project))
    complete = projects.complete and rows.complete
    meant = {item.cluster for item in wanted}
    return Found(
        units=tuple(unit for _, unit in heaviest_first),
        findings=_in_order((*findings, *joining.findings)),
        # Whoever can't be read may be the one that is for them.
        unplanned=tuple(name for name in joining.states if name not in meant) if complete else (),
    )


def _of_projects(projects: Projects, states: States) -> Iterator[_Wanted]:
    for project in projects.projects:
        clusters = project.clusters
        if clusters is None:
            clusters = tuple(found.cluster for found in states.states)
        for cluster in clusters:
            yield _wanted(project, cluster)


def _wanted(project: FoundProject, cluster: str) -> _Wanted:
    return _Wanted(
        cluster=cluster,
        project=project.name,
        place=project.place,
        desired=project.desired,
        size=project.size,
        source=project.source_of(cluster),
    )


def _of_rows(rows: Sequence[FoundRows]) -> Iterator[_Wanted]:
    for found in rows:
        yield _Wanted(
            cluster=found.cluster,
            project=found.project,
            place=found.place,
            desired=found.desired,
            size=found.size,
        )


def _without_twins(
    wanted: Sequence[_Wanted], disputed: set[str]
) -> tuple[list[_Wanted], list[Finding]]:
    """What one place alone declares; the rest is said.

    Rows that say no project stand alone on their cluster: they may be of any project, and two of
    one project would each plan to remove what the other declares.
    """
    by_cluster: dict[str, list[_Wanted]] = {}
    for item in wanted:
        by_cluster.setdefault(item.cluster, []).append(item)
    kept: list[_Wanted] = []
    findings: list[Finding] = []
    for cluster, items in by_cluster.items():
        by_project: dict[str | None, list[_Wanted]] = {}
        for item in sorted(items, key=lambda item: display_name(item.place)):
            by_project.setdefault(item.project, []).append(item)
        unnamed = by_project.get(None)
        if unnamed and len(items) > 1:
            findings.append(_unnamed(unnamed[0], cluster))
            continue
        for project, twins in by_project.items():
            if project in disputed:
                continue
            if len(twins) == 1:
                kept.append(twins[0])
                continue
            first, second = (display_name(twin.place) for twin in twins[:2])
            findings.append(
                Finding(
                    source=None,
                    problem=f"what the project {project} declares for the cluster {cluster} "
                    f"stands in {first} and in {second}",
                    advice="give one of them only",
                )
            )
    return kept, findings


def _labelled(wanted: Sequence[_Wanted]) -> Iterator[tuple[_Wanted, str]]:
    """Each with a name for messages and files, unique within its cluster on any file system."""
    taken: set[tuple[str, str]] = set()
    for item in sorted(wanted, key=lambda item: (item.cluster, item.project or "")):
        base = label = _label(item.project or _UNNAMED)
        number = 1
        while (item.cluster, label.casefold()) in taken:
            number += 1
            label = f"{base}-{number}"
        taken.add((item.cluster, label.casefold()))
        yield item, label


def _label(name: str) -> str:
    """The name where it can be part of a file's name, else with its characters escaped."""
    return re.sub(r"^[._]", "-", quote(name, safe="")[:_LONGEST])


def _unit(item: _Wanted, met: SavedState, label: str, policies: Sequence[Path]) -> Unit:
    return Unit(
        cluster=item.cluster,
        project=label,
        state=met.at,
        desired=item.desired,
        policies=tuple(policies),
        nonce=secrets.token_hex(16),
    )


def _missing(policies: Sequence[Path]) -> Iterator[Finding]:
    for path in policies:
        if not path.exists():
            problem = f"{display_name(path)} does not exist"
            yield Finding(source=None, problem=problem, advice="correct the path of --policies")


def _without_state(item: _Wanted, states: Mapping[str, SavedState]) -> Finding:
    near = suggestion(item.cluster, list(states))
    where = "" if item.source else f" ({display_name(item.place)})"
    return Finding(
        source=item.source,
        problem=f"there is no state of the cluster {item.cluster}, which the project "
        f"{item.project or _UNNAMED} is for{where}",
        advice=f"did you mean {near}, of which there is one? Else save it with kgitops fleet "
        "snapshot"
        if near
        else "save it with kgitops fleet snapshot",
    )


def _unnamed(item: _Wanted, cluster: str) -> Finding:
    return Finding(
        source=None,
        problem=f"{display_name(item.place)} does not say whose the rows are, and the cluster "
        f"{cluster} has others",
        advice="put each project's rows into a folder project=NAME",
    )


def _in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.sort_key))
