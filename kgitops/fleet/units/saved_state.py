"""A file or a folder that is the state of one cluster → its files, and the cluster's name."""

from pathlib import Path

from kgitops.fleet.tables.partitions import partition_of
from kgitops.fleet.units.data_files import data_files
from kgitops.model.errors import UnreachableError, UsageError
from kgitops.model.source import Finding

_ADVICE = "give one FILE.parquet, or a folder cluster=NAME of Parquet files"


def files_of_state(path: Path) -> tuple[list[Path], str]:
    """The Parquet files that are the state at ``path``.

    Raises:
        UnreachableError: there is nothing to read, or it can't be told what belongs to it.
        UsageError: it holds the states of several clusters.
    """
    findings: list[Finding] = []
    found = list(data_files(path, (".parquet",), findings, _ADVICE))
    if findings:
        problem, advice = findings[0].problem, findings[0].advice
        raise UnreachableError(f"the snapshot {path} can't be read: {problem}; {advice}")
    if not found:
        raise UnreachableError(f"the snapshot {path} can't be read: it is empty; {_ADVICE}")
    names = sorted({file.partitions.get("cluster", "") for file in found})
    if len(names) > 1:
        raise UsageError(
            f"--snapshot {path} holds the states of {len(names)} clusters; name the folder of one, "
            f"such as {path / f'cluster={names[-1]}'}"
        )
    partition = partition_of(path.absolute().name)
    name = names[0] or (partition[1] if partition else path.stem)
    return [file.path for file in found], name
