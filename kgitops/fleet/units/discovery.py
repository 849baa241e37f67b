"""``--desired`` and ``--state`` → units of work, the heaviest first.

A cluster without a state is a finding and never an empty cluster; a state without a project is a
notice and never a plan of deletions.
"""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct, field

from kgitops.fleet.units.paths import classify_paths, is_text
from kgitops.fleet.units.projects import (
    CompiledProject,
    FleetProject,
    FleetProjects,
    find_compiled_projects,
    find_projects,
)
from kgitops.fleet.units.states import SavedState, SavedStates, find_states
from kgitops.fleet.units.unit import ManifestFiles, RowFiles, Unit
from kgitops.manifests.files import display_name
from kgitops.model.source import Finding, Source
from kgitops.model.wording import nearest

_LONGEST = 100
_UNNAMED = "desired"


class FleetUnits(Struct, frozen=True, kw_only=True):
    """The units to plan. ``unplanned`` are clusters with a state and without a project."""

    units: tuple[Unit, ...] = ()
    findings: tuple[Finding, ...] = ()
    unplanned: tuple[str, ...] = ()


class _Declaration(Struct, frozen=True, kw_only=True):
    """A project's objects for a cluster, before the cluster's state is looked up."""

    cluster: str
    project: str | None
    place: Path
    desired: ManifestFiles | RowFiles
    size: int
    source: Source | None = None


class _StateLookup(Struct):
    states: Mapping[str, SavedState]
    unknown: bool
    disputed: frozenset[str]
    findings: list[Finding] = field(default_factory=list)

    def state_for(self, declaration: _Declaration) -> SavedState | None:
        """The state for ``declaration``; a missing one is added to the findings."""
        state = self.states.get(declaration.cluster)
        if state is None and not self.unknown and declaration.cluster not in self.disputed:
            self.findings.append(_without_state(declaration, self.states))
        return state


def find_units(
    desired: Sequence[Path],
    state: Sequence[Path],
    policies: Sequence[Path],
    environ: Mapping[str, str],
    *,
    allow_empty_folders: tuple[str, ...] = (),
) -> FleetUnits:
    """Find the units of these PATHs, in any order; mistakes become findings.

    Args:
        desired: project folders, manifests, and Parquet files of desired rows.
        state: files and folders of saved states.
        policies: the PATHs of ``--policies``; every unit has them.
        environ: the values of ``${env:NAME}`` in project files.
        allow_empty_folders: those of ``--allow-empty-folder``; every unit has them.
    """
    paths = classify_paths(desired)
    projects, rows = find_projects(paths, environ), find_compiled_projects(paths.rows)
    states = find_states(state)
    findings = [*projects.findings, *rows.findings, *states.findings]
    findings += _missing(policies)
    declarations = [*_of_projects(projects, states), *_of_rows(rows.rows)]
    kept, disputes = _without_twins(declarations, projects.disputed)
    lookup = _StateLookup(
        states={saved.cluster: saved for saved in states.states},
        unknown=not states.states and bool(states.findings),
        disputed=states.disputed,
        findings=disputes,
    )
    units = [
        (saved.size + item.size, _unit(item, saved, label, policies, allow_empty_folders))
        for item, label in _labelled(kept)
        if (saved := lookup.state_for(item)) is not None
    ]
    findings += [finding for _, unit in units for finding in _unsendable(unit)]
    units = [(size, unit) for size, unit in units if not any(_unsendable(unit))]
    heaviest_first = sorted(units, key=lambda unit: (-unit[0], unit[1].cluster, unit[1].project))
    complete = projects.complete and rows.complete
    planned = {item.cluster for item in declarations}
    return FleetUnits(
        units=tuple(unit for _, unit in heaviest_first),
        findings=_in_order((*findings, *lookup.findings)),
        # A project that can't be read may be the one for these clusters.
        unplanned=tuple(name for name in lookup.states if name not in planned) if complete else (),
    )


def _unsendable(unit: Unit) -> Iterator[Finding]:
    """Yield a finding for each path of a unit that no task can be given."""
    desired = unit.desired.paths if isinstance(unit.desired, ManifestFiles) else unit.desired.files
    for path in (*unit.state.files, *desired, *unit.policies):
        if not is_text(path):
            yield Finding(
                source=None,
                problem=f"{unit.project} can't be planned for {unit.cluster}: the name of "
                f"{display_name(path)} is not UTF-8",
                advice="rename it",
            )


def _of_projects(projects: FleetProjects, states: SavedStates) -> Iterator[_Declaration]:
    for project in projects.projects:
        clusters = project.clusters
        if clusters is None:
            clusters = tuple(saved.cluster for saved in states.states)
        for cluster in clusters:
            yield _declaration(project, cluster)


def _declaration(project: FleetProject, cluster: str) -> _Declaration:
    return _Declaration(
        cluster=cluster,
        project=project.name,
        place=project.place,
        desired=project.desired,
        size=project.size,
        source=project.source_of(cluster),
    )


def _of_rows(rows: Sequence[CompiledProject]) -> Iterator[_Declaration]:
    for row in rows:
        yield _Declaration(
            cluster=row.cluster,
            project=row.project,
            place=row.place,
            desired=row.desired,
            size=row.size,
        )


def _without_twins(
    declarations: Sequence[_Declaration], disputed: set[str]
) -> tuple[list[_Declaration], list[Finding]]:
    """Keep the declarations of a single place; the others become findings.

    Rows without a project's name must be alone on their cluster: they may be of any project, and
    two declarations of one project would each plan to remove the other's objects.
    """
    by_cluster: dict[str, list[_Declaration]] = {}
    for item in declarations:
        by_cluster.setdefault(item.cluster, []).append(item)
    kept: list[_Declaration] = []
    findings: list[Finding] = []
    for cluster, items in by_cluster.items():
        by_project: dict[str | None, list[_Declaration]] = {}
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
                    f"is in {first} and in {second}",
                    advice="give one of them only",
                )
            )
    return kept, findings


def _labelled(declarations: Sequence[_Declaration]) -> Iterator[tuple[_Declaration, str]]:
    """Give each a name for messages and files, unique within its cluster on any file system."""
    taken: set[tuple[str, str]] = set()
    for item in sorted(declarations, key=lambda item: (item.cluster, item.project or "")):
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


def _unit(
    item: _Declaration,
    saved: SavedState,
    label: str,
    policies: Sequence[Path],
    allow_empty_folders: tuple[str, ...],
) -> Unit:
    return Unit(
        cluster=item.cluster,
        project=label,
        state=saved.at,
        desired=item.desired,
        policies=tuple(policies),
        nonce=secrets.token_hex(16),
        allow_empty_folders=allow_empty_folders,
    )


def _missing(policies: Sequence[Path]) -> Iterator[Finding]:
    for path in policies:
        if not path.exists():
            problem = f"{display_name(path)} does not exist"
            yield Finding(source=None, problem=problem, advice="correct the path of --policies")


def _without_state(item: _Declaration, states: Mapping[str, SavedState]) -> Finding:
    near = nearest(item.cluster, list(states))
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


def _unnamed(item: _Declaration, cluster: str) -> Finding:
    return Finding(
        source=None,
        problem=f"{display_name(item.place)} does not say whose the rows are, and the cluster "
        f"{cluster} has others",
        advice="put each project's rows into a folder project=NAME",
    )


def _in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.sort_key))
