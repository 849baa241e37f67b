"""The conversion from start to end: read, joined, laid out, checked, written."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.compacting.acls import written_acls
from kgitops.conversion.compacting.compact import compact
from kgitops.conversion.joining import join, with_named_clusters
from kgitops.conversion.objects import Conversion, ConvertedFile
from kgitops.conversion.reading.folder import Inputs, SourceFolder, find_folder, passed_over
from kgitops.conversion.reading.resources import unread_documents
from kgitops.conversion.tools.table import AUTO, find_tool, offered, tool_module
from kgitops.conversion.users import with_joined_users
from kgitops.conversion.writing.project import check_project, project_name, project_text
from kgitops.conversion.writing.texts import WrittenFile, documents_text, file_text
from kgitops.manifests.files import PROJECT_FILE, SUFFIXES
from kgitops.model.errors import UsageError
from kgitops.model.source import Finding

_UNREAD = "not-converted"
"""The file for what is in no file that could be read."""
_PROSE = (".md", ".rst", ".adoc")
"""Endings of files for people: a link to one is a loss only where all files are copied."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ConvertedProject(Struct, frozen=True, kw_only=True):
    """The result: the conversion, the project's files by their paths, and what is wrong.

    ``findings`` stop it whatever is allowed: contradictions, and what a plan would refuse.
    """

    conversion: Conversion
    files: dict[str, str]
    findings: tuple[Finding, ...] = ()


def convert(
    path: Path,
    tool: str,
    name: str,
    *,
    compacted: bool = True,
    inputs: Inputs | None = None,
) -> ConvertedProject:
    """Convert the files below ``path``; ``name`` is that of the folder that they will be in.

    ``compacted``: what topics repeat becomes profiles and defaults, and documents become lists.
    ``inputs`` are values for Terraform's variables.

    Raises:
        UsageError: there is nothing to read, or it is of no tool, or of several.
    """
    folder = replace(find_folder(path), inputs=inputs or Inputs())
    chosen = find_tool(folder) if tool == AUTO else tool
    if folder.inputs.files and chosen != "terraform":
        raise UsageError(f"--var-file is for Terraform, and the files are of {chosen}; remove it")
    read = tool_module(chosen).convert(folder)
    read = _with_unread(read, folder, terraform=chosen == "terraform")
    named = read if read.project else with_joined_users(with_named_clusters(read))
    joined, conflicts = join(named)
    conversion = compact(joined) if compacted else joined
    conversion = replace(conversion, files=tuple(map(written_acls, conversion.files)))
    written = _written(conversion, compact=compacted)
    project = conversion.project or project_text(conversion, project_name(name))
    common = {**conversion.copied, PROJECT_FILE: project}
    files = {**common, **_texts(written)}
    source = folder.root if conversion.project else None
    refused = () if conflicts else check_project(files, written, source)
    if refused and compacted:  # in the words of the source, which has no such lists
        single = _written(conversion, compact=False)
        refused = check_project({**common, **_texts(single)}, single, source) or refused
    return ConvertedProject(conversion=conversion, files=files, findings=(*conflicts, *refused))


def _with_unread(read: Conversion, folder: SourceFolder, *, terraform: bool) -> Conversion:
    """The conversion with the files that no tool reads, and the documents of other known tools."""
    reported = {loss.source for loss in read.losses}
    others = [item for item in unread_documents(folder) if item.source not in reported]
    read = replace(read, offered=offered(folder, read.tool))
    places = {f"{item.source.file}:{item.source.line}" for item in others}
    copied = read.tool == "kgitops"
    lost = (
        *(item for item in folder.lost if copied or not item.source.file.endswith(_PROSE)),
        *passed_over(folder, terraform=terraform),
        *others,
    )
    if not lost:
        return read
    return replace(
        read,
        files=(*read.files, ConvertedFile(path=_UNREAD, objects=lost)),
        ignored=tuple(name for name in read.ignored if name.split(" ")[0] not in places),
    )


def _written(conversion: Conversion, *, compact: bool) -> dict[str, WrittenFile]:
    """The manifests by their paths, which are those of the source with ``.yaml``."""
    files: dict[str, WrittenFile] = {}
    taken: set[str] = set()
    for file in conversion.files:
        written = file_text(file, compact=compact)
        if written is not None:
            own = bool(conversion.project)
            files[file.path if own else _free_path(file.path, taken)] = written
    if conversion.profiles:
        files[_free_path("profiles", taken)] = documents_text(conversion.profiles)
    return files


def _texts(files: Mapping[str, WrittenFile]) -> dict[str, str]:
    return {path: file.text for path, file in files.items()}


def _free_path(source: str, taken: set[str]) -> str:
    """A path below ``manifests/`` that no other file has, also where case does not count."""
    *folders, name = _CONTROL.sub("-", source).encode(errors="replace").decode().split("/")
    folders = [folder for folder in folders if folder != ".."]
    # A folder that is named like a manifest could not be loaded.
    parts = [_without_suffix(folder) if folder.endswith(SUFFIXES) else folder for folder in folders]
    stem = "/".join((*parts, _without_suffix(name)))
    stem = stem if not f"/{stem}".endswith(("/", "/kgitops")) else f"{stem}-1"
    path, number = f"manifests/{stem}.yaml", 1
    while path.lower() in taken:
        number += 1
        path = f"manifests/{stem}-{number}.yaml"
    taken.add(path.lower())
    return path


def _without_suffix(name: str) -> str:
    return name.rpartition(".")[0] or name
