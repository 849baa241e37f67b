"""A project's declarations for a cluster as rows, and back (docs/reference/fleet-tables.md)."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.fleet.tables.desired_header import (
    DESIRED_KIND,
    DesiredHeader,
    DesiredPlace,
    Git,
    header_of,
)
from kgitops.fleet.tables.format import (
    DESIRED,
    PROJECT_ROW,
    Row,
    bucket_of,
    fingerprint_of_text,
    in_order,
    write_rows,
)
from kgitops.fleet.tables.hydrating import check_unique_addresses
from kgitops.fleet.tables.reading import Rows, open_rows
from kgitops.fleet.tables.unchanged import affects_others, depends_on_offsets
from kgitops.manifests.value_origin import ValueOrigin, origins_of
from kgitops.model.json.canonical import canonical_json, canonical_text
from kgitops.model.json.codec import decode, from_json, to_json
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredObject,
    DesiredTopic,
    declared_object,
    last_applied,
)
from kgitops.model.json.strict import ShapeError
from kgitops.model.resources.addresses import kind_of
from kgitops.model.source import Source

DECLARED = ("kind", "address", "declared", "file", "line", "column", "labels", "origins")
"""The columns that objects are made from."""
_NO_GIT = Git()


def write_desired(
    desired: DesiredState, path: Path, git: Git = _NO_GIT, cluster: str | None = None
) -> None:
    """Write the declared objects, for ``cluster`` if one is named, as one Parquet file."""
    write_rows(desired_rows(desired, git, cluster), DESIRED, path)


def desired_rows(
    desired: DesiredState, git: Git = _NO_GIT, cluster: str | None = None
) -> Iterator[Row]:
    """The header, then a row for each declared object, by bucket and address."""
    identity = desired.project.identity
    rows = in_order(_row(identity, item) for item in desired.objects)
    header: Row = {
        "kind": PROJECT_ROW,
        "address": f"{PROJECT_ROW}/{identity}",
        "bucket": -1,
        "declared": canonical_text(to_json(header_of(desired, len(rows), git, cluster))),
    }
    return chain([header], rows)


def keys_of(identity: str, item: DesiredObject) -> Row:
    """The columns that an object is compared by."""
    return _keys(identity, item, canonical_json(last_applied(item)))


def _keys(identity: str, item: DesiredObject, declared: bytes) -> Row:
    fingerprint = (
        None if depends_on_offsets(item) else fingerprint_of_text(identity, item.address, declared)
    )
    return {
        "kind": kind_of(item.address),
        "address": item.address,
        "bucket": bucket_of(item.address),
        "name": _name(item),
        "fingerprint": fingerprint,
        "context": isinstance(item, DesiredAcl) and affects_others(item.binding),
    }


def _row(identity: str, item: DesiredObject) -> Row:
    declared = canonical_json(last_applied(item))
    source = item.located.source
    origins = origins_of(item.located)
    return {
        **_keys(identity, item, declared),
        "declared": declared.decode(),
        "file": source.file,
        "line": source.line,
        "column": source.column,
        "labels": canonical_text(item.labels) if item.labels else None,
        "origins": canonical_text(to_json(origins)) if origins else None,
    }


def _name(item: DesiredObject) -> str | None:
    match item:
        case DesiredTopic(virtual_cluster=None):
            return item.name
        case DesiredAcl():
            return item.binding.resource_name
        case _:
            return None


def open_desired(
    files: Sequence[Path], project: str, cluster: str, *, named: str | None = None
) -> Rows:
    """Open the rows that were compiled for a cluster.

    Args:
        files: all files of the table.
        project: the project's name in messages.
        cluster: the cluster that the rows must be for, if they name one.
        named: the project that the rows must be of; any project if None.

    Raises:
        UnreachableError: a file can't be read, or is not Parquet.
        SafetyError: the rows can't be trusted.
    """
    rows = open_rows(
        files,
        DESIRED,
        PROJECT_ROW,
        what=f"what {project} declares for {cluster}",
        remake="compile it again with kgitops fleet compile",
    )
    if rows.header.get("kind") != DESIRED_KIND:
        raise rows.broken(f'its header has no "kind": "{DESIRED_KIND}"')
    # Two projects with one name on a cluster would each remove the other's objects.
    header = header_in(rows)
    owner = header.project.name
    if named is not None and owner != named:
        raise rows.broken(f"its folder says {named}, and its rows are of the project {owner}")
    if header.cluster not in (None, cluster):
        raise rows.broken(f"it is what is declared for {header.cluster}")
    return rows


def header_in(rows: Rows) -> DesiredHeader:
    """The header of the rows.

    Raises:
        SafetyError: the header is not what it must be.
    """
    try:
        return from_json(DesiredHeader, rows.header, "the header")
    except ShapeError as error:
        raise rows.broken(f"its header can't be read: {error}") from error


def declared_in_rows(rows: Rows, table: pa.Table) -> list[DesiredObject]:
    """The objects in ``table``, which has the columns ``DECLARED``.

    Raises:
        SafetyError: a row is not what it must be.
    """
    check_unique_addresses(rows, table)
    return list(_objects(rows, table))


def _objects(rows: Rows, table: pa.Table) -> Iterator[DesiredObject]:
    columns = (table[name].to_pylist() for name in DECLARED)
    for kind, address, declared, file, line, column, labels, origins in zip(*columns, strict=True):
        if kind == PROJECT_ROW:
            continue
        if None in (address, file, line, column) or kind != kind_of(address):
            raise rows.broken(f"the row of {address} does not fit together")
        try:
            place = DesiredPlace(Source(file, line, column), _origins(origins))
            item = declared_object(address, msgspec.json.decode(declared), place)
            if labels is not None:
                item = replace(item, labels=decode(dict[str, str], labels, "labels"))
            own = item.own_address
        except (ValueError, KeyError, TypeError) as error:
            raise rows.broken(f"the row of {address} can't be read: {error!r}") from error
        if own != address:
            raise rows.broken(f"the row of {address} holds {own}")
        yield item


def _origins(text: str | None) -> dict[str, ValueOrigin]:
    return {} if text is None else decode(dict[str, ValueOrigin], text, "origins")
