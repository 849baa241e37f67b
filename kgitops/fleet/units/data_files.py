"""PATHs as the user gave them → the data files below them, and the partitions they lie in.

Partitions are folders such as ``cluster=prod``, named as by Hive and Spark.

Only names and sizes are looked at, never what is in a file.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, field

from kgitops.manifests.files import display_name
from kgitops.model.source import Finding

_NAMED = 3


class DataFile(Struct, frozen=True, kw_only=True):
    """A file; ``partitions`` are those of the folders that it lies in, the innermost winning."""

    path: Path
    size: int
    partitions: Mapping[str, str] = field(default_factory=dict)

    def named(self, key: str) -> tuple[str, Path]:
        """The value of the partition ``key``, else the file's name; and the path that has it."""
        if key in self.partitions:
            return self.partitions[key], self.path.parent
        return self.path.stem, self.path


def data_files(
    path: Path, suffixes: Collection[str], findings: list[Finding], advice: str
) -> Iterator[DataFile]:
    """Find the files below ``path``, by name; mistakes are added to ``findings``.

    Args:
        path: a file or a folder, which may be a partition of a table or lie in one.
        suffixes: those of data files, such as ``.parquet``; any other file is a finding.
        findings: where to add them.
        advice: for findings, on what to give instead.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 (resolves ".." but no links)
    walk = _Walk(tuple(suffixes), findings, advice)
    outside = _partitions_around(path)
    if not os.path.lexists(path):
        walk.add(f"{display_name(path)} does not exist", "correct the path")
    elif path.is_dir():
        yield from walk.below(path, _within(outside, path.name), (os.path.realpath(path),))
    else:
        yield from walk.file(path, outside)


def _partitions_around(path: Path) -> dict[str, str]:
    """The partitions that ``path`` itself lies in: ``table/cluster=prod/part-0.parquet``."""
    folders: list[str] = []
    for folder in path.parents:
        if partition_of(folder.name) is None:
            break
        folders.append(folder.name)
    partitions: dict[str, str] = {}
    for name in reversed(folders):
        partitions = _within(partitions, name)
    return partitions


def _within(partitions: dict[str, str], folder: str) -> dict[str, str]:
    partition = partition_of(folder)
    return partitions if partition is None else {**partitions, partition[0]: partition[1]}


class _Walk(Struct, frozen=True):
    suffixes: tuple[str, ...]
    findings: list[Finding]
    advice: str

    def below(
        self, folder: Path, partitions: dict[str, str], parents: tuple[str, ...]
    ) -> Iterator[DataFile]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.add(_unreadable(folder, error), "correct its permissions")
            return
        other_names: list[str] = []
        for entry in entries:
            path = folder / entry.name
            if is_passed_over(entry.name):
                continue
            if entry.is_dir():
                yield from self._folder(path, partitions, parents)
            elif entry.is_file() and entry.name.endswith(self.suffixes):
                yield from self._data_file(path, partitions)
            else:
                other_names.append(entry.name)
        if other_names:
            self._add_others(folder, other_names)

    def file(self, path: Path, partitions: dict[str, str]) -> Iterator[DataFile]:
        """A file that the user named."""
        if path.is_file() and path.name.endswith(self.suffixes):
            yield from self._data_file(path, partitions)
        else:
            wanted = " or ".join(self.suffixes)
            self.add(f"{display_name(path)} is not a {wanted} file", self.advice)

    def _folder(
        self, path: Path, partitions: dict[str, str], parents: tuple[str, ...]
    ) -> Iterator[DataFile]:
        real = os.path.realpath(path)
        if real in parents:
            self.add(f"{display_name(path)} is a link to a folder that it lies in", "remove it")
        elif path.name.endswith(self.suffixes):
            name = display_name(path)
            self.add(f"{name} is a folder, though it is named like a file", "rename it")
        else:
            yield from self.below(path, _within(partitions, path.name), (*parents, real))

    def _data_file(self, path: Path, partitions: dict[str, str]) -> Iterator[DataFile]:
        try:
            size = path.stat().st_size
        except OSError as error:
            self.add(_unreadable(path, error), "correct its permissions")
        else:
            yield DataFile(path=path, size=size, partitions=partitions)

    def _add_others(self, folder: Path, names: list[str]) -> None:
        shown = ", ".join(names[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        wanted = " and ".join(self.suffixes)
        self.add(
            f"{display_name(folder)} holds {shown}{more} next to {wanted} files",
            f"move what is something else out of it, or {self.advice}",
        )

    def add(self, problem: str, advice: str) -> None:
        self.findings.append(Finding(source=None, problem=problem, advice=advice))


def _unreadable(path: Path, error: OSError) -> str:
    return f"{display_name(path)} can't be read: {(error.strerror or str(error)).lower()}"


NULL = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark escape (ExternalCatalogUtils.escapePathName), and nothing else.
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)


def partition_folder(key: str, value: str) -> str:
    """The name of the folder that holds the rows whose column ``key`` is ``value``."""
    return f"{key}={_ESCAPED.sub(lambda match: f'%{ord(match[0]):02X}', value) or NULL}"


def partition_of(folder: str) -> tuple[str, str] | None:
    """Column and value of a partition's folder; None for any other folder.

    The value is empty where the folder says that there is none. Escapes beyond ASCII, which Spark
    never writes, are read as UTF-8, which is what others mean by them.
    """
    match = _PARTITION.fullmatch(folder)
    if match is None:
        return None
    value = unquote(match[2], errors="surrogateescape")
    return match[1], "" if value == NULL else value


def is_passed_over(name: str) -> bool:
    """True for names that Spark does not take for data either, such as ``_SUCCESS``."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
