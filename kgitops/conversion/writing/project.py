"""A converted project: its file, its check as for a plan, its place: all of its files or none."""

import re
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from kgitops.conversion.objects import Conversion
from kgitops.conversion.topics import VENDORS
from kgitops.conversion.writing.texts import WrittenFile
from kgitops.kinds.exports import Inline
from kgitops.manifests.files import display_name
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.registry import Json
from kgitops.model.source import Finding, Severity, Source
from kgitops.workflow.export.files import document_yaml
from kgitops.workflow.loading import validate_manifests
from kgitops.workflow.project.selection import Selection

_NO_CLUSTER = """\
    # The source names no cluster: write its address here, or give it with -c kafka://HOST:PORT.
"""


def project_text(conversion: Conversion, name: str) -> str:
    """The text of ``kgitops.yaml``; its uid is new each time."""
    clusters: dict[str, Json] = {
        cluster.name: {
            "url": f"kafka://{cluster.bootstrap_servers}",
            **({"clusterId": cluster.cluster_id} if cluster.cluster_id else {}),
            **({"configs": dict(cluster.configs)} if cluster.configs else {}),
        }
        for cluster in conversion.clusters
    } or {"main": {"url": "kafka://localhost:9092"}}
    vendors = _vendor_configs(conversion)
    defaults = conversion.topic_defaults
    spec: dict[str, Json] = {
        "manifests": ["manifests"],
        **({"defaults": {"topic": dict(defaults)}} if defaults else {}),
        **({"defaultCluster": next(iter(clusters))} if len(clusters) == 1 else {}),
        "clusters": clusters,
        **({"allowConfigs": vendors} if vendors else {}),
    }
    document = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": Inline({"name": name, "uid": str(uuid.uuid4())}),
        "spec": spec,
    }
    # Placeholders for secrets are meant as such here.
    text = document_yaml(document).replace("$${env:", "${env:")
    if not conversion.clusters:
        text = text.replace("  clusters:\n", f"  clusters:\n{_NO_CLUSTER}")
    return text


def project_name(folder: str) -> str:
    """The name of a folder as a project's name."""
    return re.sub(r"[^a-z0-9-]+", "-", folder.lower()).strip("-") or "converted"


def _vendor_configs(conversion: Conversion) -> list[str]:
    """Patterns for the vendors' configs that topics have."""
    keys = {
        key
        for item in conversion.objects
        for document in item.documents
        if isinstance(configs := document.spec.get("configs"), Mapping)
        for key in configs
    }
    return [f"{vendor}*" for vendor in VENDORS if any(key.startswith(vendor) for key in keys)]


def put_project(files: Mapping[str, str], folder: Path) -> None:
    """Write the files beside ``folder``, which is new or empty, and rename them to it.

    Raises:
        KgitopsError: they can't be written; ``folder`` is as it was.
    """
    parent = folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        private = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    except OSError as error:
        raise _not_written(folder, error) from error
    try:
        for path, text in files.items():
            (private / path).parent.mkdir(parents=True, exist_ok=True)
            (private / path).write_text(text, encoding="utf-8")
        private.chmod(0o755)
        if folder.is_dir():
            _fill(folder, private)
        else:
            private.rename(folder)
    except OSError as error:
        raise _not_written(folder, error) from error
    finally:
        shutil.rmtree(private, ignore_errors=True)  # after an error, or an interruption


def _fill(folder: Path, private: Path) -> None:
    """Move everything into a folder that is there, where somebody may be working; or nothing."""
    if any(folder.iterdir()):
        raise OSError("somebody put something there meanwhile")
    moved: list[Path] = []
    try:
        for entry in sorted(private.iterdir()):
            moved.append(folder / entry.name)
            entry.rename(moved[-1])
    except BaseException:
        for path in moved:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


def _not_written(folder: Path, error: OSError) -> KgitopsError:
    reason = (error.strerror or str(error)).lower()
    return KgitopsError(f"{folder} can't be written: {reason}; name another folder")


def check_project(
    texts: Mapping[str, str], files: Mapping[str, WrittenFile], source: Path | None = None
) -> tuple[Finding, ...]:
    """The errors that a plan would stop at, with the places of the source.

    ``texts`` are all files of the project, ``files`` those that hold converted objects. Other files
    have the names that they have below ``source``, if they were copied from there.
    """
    if not any(file.objects for file in files.values()):
        return ()
    with tempfile.TemporaryDirectory(prefix="kgitops-convert-") as name:
        folder = Path(name)
        _write(folder, texts)
        places = {display_name(folder / path): file for path, file in files.items()}
        try:
            findings = validate_manifests(Selection(paths=(folder,))).findings
        except FindingsError as error:
            findings = tuple(error.findings)
        checked = display_name(folder)
    given = display_name(source) if source else "."
    return tuple(
        _renamed(_at_source(finding, places, checked), checked, given)
        for finding in findings
        if finding.severity is Severity.ERROR and not _declares_nothing(finding, places)
    )


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _declares_nothing(finding: Finding, places: Mapping[str, WrittenFile]) -> bool:
    """Return whether it is about a file of comments alone, which is written as such on purpose."""
    file = places.get(finding.source.file) if finding.source else None
    return file is not None and not file.objects


def _at_source(finding: Finding, places: Mapping[str, WrittenFile], checked: str) -> Finding:
    """The finding with the places of the source, and the object that was rewritten."""

    def source_of(match: re.Match[str]) -> str:
        file = places.get(match[1])
        place = Source(match[1], int(match[2]), int(match[3]))
        return str(file.source_of(place)[1]) if file else match[0]

    problem = re.sub(rf"({re.escape(checked)}/.*?):(\d+):(\d+)", source_of, finding.problem)
    place = finding.source
    file = places.get(place.file) if place else None
    if place is None or file is None:
        return replace(finding, problem=problem)
    item, source = file.source_of(place)
    named = f"{item.kind} {item.name}: " if item else ""
    return replace(finding, source=source, problem=f"{named}{problem}")


def _renamed(finding: Finding, checked: str, given: str) -> Finding:
    """The finding with the user's names of files below ``given``, not the copies' names."""

    def renamed(text: str) -> str:
        below = "" if given == "." else f"{given}/"
        return text.replace(f"{checked}/", below).replace(checked, given)

    at = finding.source
    return replace(
        finding,
        source=replace(at, file=renamed(at.file)) if at else None,
        problem=renamed(finding.problem),
        advice=renamed(finding.advice),
    )
