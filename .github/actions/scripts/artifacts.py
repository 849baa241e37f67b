"""Artefacts of this repository's own runs; what a fork's run left is never taken."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rest import GitHub
from runner import Stopped

_MOST_ZIPPED = 256 * 2**20
_MOST = 1024 * 2**20


def newest(
    api: GitHub, name: str, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any] | None:
    """The newest artefact with this name whose run is ``wanted``; None where there is none.

    Raises:
        Stopped: GitHub refuses.
    """
    found = [
        artifact
        for artifact in api.pages("/actions/artifacts", "artifacts", name=name)
        if artifact["name"] == name
        and not artifact["expired"]
        and is_own(artifact)
        and wanted(artifact["workflow_run"])
    ]
    return max(found, key=lambda artifact: artifact["id"], default=None)


def of_run(api: GitHub, name: str, run_id: str) -> dict[str, Any] | None:
    """The newest artefact with this name that this run left; None where there is none.

    Raises:
        Stopped: GitHub refuses.
    """
    found = [
        artifact
        for artifact in api.pages(f"/actions/runs/{run_id}/artifacts", "artifacts", name=name)
        if artifact["name"] == name and not artifact["expired"] and is_own(artifact)
    ]
    return max(found, key=lambda artifact: artifact["id"], default=None)


def is_own(artifact: dict[str, Any]) -> bool:
    """Whether its run was about a branch of this repository and not of a fork."""
    made_by = artifact.get("workflow_run") or {}
    here = made_by.get("repository_id")
    return here is not None and made_by.get("head_repository_id") == here


def extract(api: GitHub, artifact: dict[str, Any], member: str, to: Path) -> None:
    """One file of the artefact, by its name alone; nothing else in it is looked at.

    Raises:
        Stopped: GitHub refuses, or the artefact does not hold such a file.
    """
    if not extract_present(api, artifact, {member: to}):
        raise Stopped(_unusable(artifact, member))


def extract_present(
    api: GitHub, artifact: dict[str, Any], members: Mapping[str, Path]
) -> list[str]:
    """Those files of the artefact that are in it, each to its path; their names.

    Raises:
        Stopped: GitHub refuses, or the artefact can't be read.
    """
    content = api.download(f"/actions/artifacts/{artifact['id']}/zip", _MOST_ZIPPED)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            present = [member for member in members if member in archive.namelist()]
            for member in present:
                _check_size(artifact, archive.getinfo(member))
                members[member].write_bytes(archive.read(member))
    except Stopped:
        raise
    except Exception as error:  # zipfile passes on the errors of each decompressor
        raise Stopped(_unusable(artifact, " or ".join(members))) from error
    return present


def _check_size(artifact: dict[str, Any], member: zipfile.ZipInfo) -> None:
    if member.file_size > _MOST:
        raise Stopped(f"{member.filename} in the artefact {artifact['name']} is too large")


def _unusable(artifact: dict[str, Any], member: str) -> str:
    return f"the artefact {artifact['name']} holds no usable {member}; run its workflow again"
