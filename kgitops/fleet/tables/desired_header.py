"""The header of a project's rows: everything of a DesiredState but its objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety, Tombstone
from kgitops.fleet.tables.schemas import FORMAT_VERSION
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
class Place:
    """Where something is declared; a table knows no more than where it begins."""

    source: Source

    def at(self, *path: str | int) -> Source:
        """The same place, whatever is asked for."""
        del path
        return self.source


Git = tuple[str | None, bool]
"""The commit of what is declared, and whether it differs from that commit."""
NO_GIT: Git = (None, False)


def header_to_json(
    desired: DesiredState, rows: int, git: Git, cluster: str | None
) -> dict[str, Json]:
    """The header of a table of ``rows`` objects, declared for ``cluster``.

    A run's own targets and overrides are no part of what is declared.
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
    """What ``header_to_json`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    given = members(value, "the header", _KEYS)
    scope = members(given["scope"], "scope", ("whole", "other_clusters"))
    safety = members(given["safety"], "safety", _SAFETY_KEYS)
    return DesiredState(
        project=_project(given["project"]),
        scope=ManagedScope(
            whole=boolean(scope["whole"], "scope.whole"),
            other_clusters=frozenset(array(scope["other_clusters"], "other_clusters", text)),
        ),
        safety=Safety(
            max_deletes=integer(safety["max_deletes"], "max_deletes"),
            max_delete_percent=integer(safety["max_delete_percent"], "max_delete_percent"),
            replication_throttle=integer(safety["replication_throttle"], "replication_throttle"),
        ),
        principal=text(given["principal"], "principal"),
        digest=text(given["digest"], "digest"),
        tombstones=array(given["tombstones"], "tombstones", _tombstone),
        warnings=array(given["warnings"], "warnings", finding_from_json),
    )


def read_git(value: Mapping[str, Json]) -> Git:
    """The commit in a header; errors as of ``read_header``."""
    given = members(value["git"], "git", ("sha", "dirty"))
    return text_or_none(given["sha"], "git.sha"), boolean(given["dirty"], "git.dirty")


def _project(value: Json) -> Project:
    given = members(value, "project", _PROJECT_KEYS)
    return Project(
        name=text(given["name"], "project.name"),
        uid=text_or_none(given["uid"], "project.uid"),
        formerly=array(given["formerly"], "project.formerly", text),
        take_from=array(given["take_from"], "project.take_from", text),
    )


def _tombstone(value: Json, path: str) -> Tombstone:
    given = members(value, path, _TOMBSTONE_KEYS)
    return Tombstone(
        name=text(given["name"], f"{path}.name"),
        address=text(given["address"], f"{path}.address"),
        reason=text(given["reason"], f"{path}.reason"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        labels=read_labels(given["labels"], f"{path}.labels"),
        located=_place(given["source"], f"{path}.source"),
    )


def _place(value: Json, path: str) -> Located:
    source = read_source(mapping(value, path), path)
    if source is None:
        raise ShapeError(f"{path} is empty")
    return Place(source)
