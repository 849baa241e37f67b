"""Loads the converted project as a plan would, so that none is written that can't be loaded."""

import tempfile
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from kgitops.conversion.objects import SourceObject
from kgitops.conversion.writing.texts import WrittenFile
from kgitops.manifests.files import display_name
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity
from kgitops.workflow.loading import validate_manifests
from kgitops.workflow.project.selection import Selection


def check_project(
    texts: Mapping[str, str], files: Mapping[str, WrittenFile]
) -> tuple[Finding, ...]:
    """The errors that a plan would stop at, each at the object of the source.

    ``texts`` are all files of the project, ``files`` those that hold converted objects.
    """
    if not any(file.starts for file in files.values()):
        return ()
    with tempfile.TemporaryDirectory(prefix="kgitops-convert-") as name:
        folder = Path(name)
        _write(folder, texts)
        places = {display_name(folder / path): file for path, file in files.items()}
        try:
            findings = validate_manifests(Selection(paths=(folder,))).findings
        except FindingsError as error:
            findings = tuple(error.findings)
    return tuple(
        _at_source(finding, places)
        for finding in findings
        if finding.severity is Severity.ERROR and not _declares_nothing(finding, places)
    )


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _declares_nothing(finding: Finding, places: Mapping[str, WrittenFile]) -> bool:
    """Tell if it is about a file of comments alone, which is written as such on purpose."""
    file = places.get(finding.source.file) if finding.source else None
    return file is not None and not file.starts


def _at_source(finding: Finding, places: Mapping[str, WrittenFile]) -> Finding:
    """The finding at the object of the source that the document came from."""
    item = _object(finding, places)
    if item is None:
        return finding
    return replace(
        finding, source=item.source, problem=f"{item.kind} {item.name}: {finding.problem}"
    )


def _object(finding: Finding, places: Mapping[str, WrittenFile]) -> SourceObject | None:
    file = places.get(finding.source.file) if finding.source else None
    if file is None or finding.source is None:
        return None
    index = bisect_right([line for line, _ in file.starts], finding.source.line) - 1
    return file.starts[index][1] if index >= 0 else None
