"""The header of a project's rows: everything of a DesiredState but its objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety, Tombstone
from kgitops.fleet.tables.format import FORMAT_VERSION
from kgitops.model.json.objects import read_labels, read_source, source_to_json
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    integer,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.registry import Json
from kgitops.model.source import Located, Source
from kgitops.plan.document.from_json import finding_from_json
from kgitops.plan.document.to_json import finding_to_json

DESIRED_KIND = "kgitops.desired"
_KEYS = (
    "kind",
    "format_version",
    "rows",
    "project",
    "scope",
    "safety",
    "principal",
    "digest",
    "tombstones",
    "warnings",
    "virtual_clusters",
    "git",
    "cluster",
)
_PROJECT_KEYS = ("name", "uid", "formerly", "take_from")
_SAFETY_KEYS = ("max_deletes", "max_delete_percent", "replication_throttle")
_TOMBSTONE_KEYS = ("name", "address", "reason", "topic_id", "labels", "source")


@dataclass(frozen=True, slots=True)
class DesiredPlace:
    """A place in a document; a table holds only where the object begins."""

    source: Source

    def at(self, *path: str | int) -> Source:
        """The same place for any path."""
        del path
        return self.source


Git = tuple[str | None, bool]
"""The manifests' commit, and whether they differ from it."""
NO_GIT: Git = (None, False)


def header_to_json(
    desired: DesiredState, rows: int, git: Git, cluster: str | None
) -> dict[str, Json]:
    """The header of a table of ``rows`` objects, declared for ``cluster``.

    A run's own targets and overrides are not part of it.
    """
    project, safety = desired.project, desired.safety
    return {
        "kind": DESIRED_KIND,
        "format_version": FORMAT_VERSION,
        "rows": rows,
        "project": {
            "name": project.name,
            "uid": project.uid,
            "formerly": list(project.formerly),
            "take_from": list(project.take_from),
        },
        "scope": {
            "whole": desired.scope.whole,
            "other_clusters": sorted(desired.scope.other_clusters),
        },
        "safety": {key: getattr(safety, key) for key in _SAFETY_KEYS},
        "principal": desired.principal,
        "digest": desired.digest,
        "tombstones": [
            {
                "name": tombstone.name,
                "address": tombstone.address,
                "reason": tombstone.reason,
                "topic_id": tombstone.topic_id,
                "labels": dict(tombstone.labels),
                "source": source_to_json(tombstone.located.source),
            }
            for tombstone in desired.tombstones
        ],
        "warnings": [finding_to_json(finding) for finding in desired.warnings],
        "virtual_clusters": any(item.address.startswith("vc/") for item in desired.objects),
        "git": {"sha": git[0], "dirty": git[1]},
        "cluster": cluster,
    }


def read_header(value: Mapping[str, Json]) -> DesiredState:
    """Read a header that ``header_to_json`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    values = members(value, "the header", _KEYS)
    scope = members(values["scope"], "scope", ("whole", "other_clusters"))
    safety = members(values["safety"], "safety", _SAFETY_KEYS)
    return DesiredState(
        project=_project(values["project"]),
        scope=ManagedScope(
            whole=boolean(scope["whole"], "scope.whole"),
            other_clusters=frozenset(array(scope["other_clusters"], "other_clusters", text)),
        ),
        safety=Safety(
            max_deletes=integer(safety["max_deletes"], "max_deletes"),
            max_delete_percent=integer(safety["max_delete_percent"], "max_delete_percent"),
            replication_throttle=integer(safety["replication_throttle"], "replication_throttle"),
        ),
        principal=text(values["principal"], "principal"),
        digest=text(values["digest"], "digest"),
        tombstones=array(values["tombstones"], "tombstones", _tombstone),
        warnings=array(values["warnings"], "warnings", finding_from_json),
    )


def read_git(value: Mapping[str, Json]) -> Git:
    """The commit in a header; errors as of ``read_header``."""
    values = members(value["git"], "git", ("sha", "dirty"))
    return text_or_none(values["sha"], "git.sha"), boolean(values["dirty"], "git.dirty")


def _project(value: Json) -> Project:
    values = members(value, "project", _PROJECT_KEYS)
    return Project(
        name=text(values["name"], "project.name"),
        uid=text_or_none(values["uid"], "project.uid"),
        formerly=array(values["formerly"], "project.formerly", text),
        take_from=array(values["take_from"], "project.take_from", text),
    )


def _tombstone(value: Json, path: str) -> Tombstone:
    values = members(value, path, _TOMBSTONE_KEYS)
    return Tombstone(
        name=text(values["name"], f"{path}.name"),
        address=text(values["address"], f"{path}.address"),
        reason=text(values["reason"], f"{path}.reason"),
        topic_id=text_or_none(values["topic_id"], f"{path}.topic_id"),
        labels=read_labels(values["labels"], f"{path}.labels"),
        located=_place(values["source"], f"{path}.source"),
    )


def _place(value: Json, path: str) -> Located:
    source = read_source(mapping(value, path), path)
    if source is None:
        raise ShapeError(f"{path} is empty")
    return DesiredPlace(source)
