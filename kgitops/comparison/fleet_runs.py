"""Parquet to be compared: a cluster's state, or a fleet's run, which is the plans of its units."""

from pathlib import Path

from kgitops.comparison.comparing import ComparedState, StateKind
from kgitops.comparison.reading import objects_of, snapshot_objects
from kgitops.fleet.output.runs import newest_run, read_history
from kgitops.fleet.output.slices import read_slice
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.units.states import find_state_files
from kgitops.model.registry import Json


def read_parquet(path: Path) -> ComparedState:
    """The state of a cluster in a file or in the folder ``cluster=NAME``, else a run.

    Raises:
        UsageError: there is neither.
        SafetyError: the state can't be trusted.
        UntrustedPlanError: the run's tables are not those that it wrote.
    """
    if path.is_file() or any(path.glob("*.parquet")):
        return snapshot_objects(read_state(*find_state_files(path)), str(path))
    return run_objects(path)


def run_objects(folder: Path) -> ComparedState:
    """The newest run in a folder; an object's address begins with its cluster and project.

    Raises:
        UsageError: there is no run.
        UntrustedPlanError: its tables are not those that it wrote.
    """
    run = newest_run(folder)
    objects: dict[str, Json] = {}
    for unit in read_history(run).latest.units:
        if not unit.planned:
            reasons = [reason.sentence for reason in unit.reasons]
            objects[unit.name] = {"planned": False, "reasons": reasons}
            continue
        objects[unit.name] = {"planned": True}
        for address, value in objects_of(read_slice(run, unit.cluster, unit.project)).items():
            objects[f"{unit.name} {address}"] = value
    return ComparedState(kind=StateKind.FLEET_RUN, name=str(folder), objects=objects)
