"""A cluster's state as rows, and back: docs/reference/fleet-tables.md has the columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from msgspec.structs import asdict, replace

from kgitops.cluster.snapshot_json import (
    KIND,
    SnapshotDocument,
    quotas_document,
    snapshot_document,
    usage_document,
    users_document,
)
from kgitops.fleet.tables.format import (
    CLUSTER_ROW,
    FORMAT_VERSION,
    ROWS_AT_ONCE,
    STATE,
    Row,
    bucket_of,
    fingerprint_of_text,
    write_rows,
    write_tables,
)
from kgitops.fleet.tables.unchanged import affects_others, unchanged_objects
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.declared import DesiredObject, last_applied
from kgitops.model.json.objects import binding_document, like
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import (
    acl_address,
    kind_of,
    quota_address,
    topic_address,
    user_address,
)
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser
from kgitops.model.verdict import Reason

_Object = tuple[TopicState, TopicUsage | None] | AclBinding | ClientQuotaState | FoundUser
_UNOWNED = (None, None, None, None, None)
_OWNER_COLUMNS = ("owner", "owner_topic_id", "adopted", "spent", "last_applied")


def write_state(state: ClusterState, path: Path) -> None:
    """Write the state as one Parquet file, with the fingerprints of unchanged objects.

    Raises:
        KgitopsError: the file can't be written; what was there before still is.
    """
    write_tables(_tables(state, ROWS_AT_ONCE), STATE, path)


def write_unread(cluster: str, reason: Reason, at: str, path: Path) -> None:
    """Write that the cluster could not be read, in place of its state.

    Raises:
        KgitopsError: the file can't be written; what was there before still is.
    """
    header = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "rows": 0,
        "unread": {"at": at, "exit": reason.exit, "sentence": reason.sentence},
    }
    row = {
        "kind": CLUSTER_ROW,
        "address": f"{CLUSTER_ROW}/{cluster}",
        "bucket": -1,
        "exists": False,
        "context": True,
        "found": canonical_text(header),
    }
    write_rows([row], STATE, path)


def state_rows(state: ClusterState) -> Iterator[Row]:
    """The header, then a row for each address, by bucket and address."""
    for table in _tables(state, ROWS_AT_ONCE):
        yield from table.to_pylist()


def _tables(state: ClusterState, size: int) -> Iterator[pa.Table]:
    """All rows in order, ``size`` at a time; only so many exist as text at once."""
    unchanged = unchanged_objects(state)
    objects = dict(_objects(state))
    owners = state.registry.owners if state.registry else {}
    addresses = sorted((bucket_of(address), address) for address in {**objects, **owners})
    first = pa.Table.from_pylist([_header(state, len(addresses), unchanged.base_digest)], STATE)
    for start in range(0, len(addresses) + 1, size):
        # The header is one of the first ones.
        part = addresses[max(start - 1, 0) : start + size - 1]
        rows = [
            _Row(
                bucket,
                address,
                objects.get(address),
                owners.get(address),
                unchanged.objects.get(address),
            )
            for bucket, address in part
        ]
        table = _table(rows)
        yield table if start else pa.concat_tables([first, table]).combine_chunks()


class _Row(NamedTuple):
    bucket: int
    address: str
    item: _Object | None
    owner: Owner | None
    unchanged: DesiredObject | None


class _Header(SnapshotDocument, frozen=True, kw_only=True):
    """Everything but the objects, in the snapshot's own shape, with their number and digest."""

    rows: int
    base_digest: str


def _header(state: ClusterState, rows: int, base_digest: str) -> Row:
    registry = state.registry and replace(state.registry, owners={})
    bare = replace(
        state,
        topics={},
        usage={},
        acls=frozenset(),
        quotas={},
        objects={},
        registry=registry,
    )
    header = like(_Header, snapshot_document(bare), rows=rows, base_digest=base_digest)
    return {
        "kind": CLUSTER_ROW,
        "address": f"{CLUSTER_ROW}/{state.cluster_id}",
        "bucket": -1,
        "exists": True,
        "context": True,
        "found": canonical_text(header),
    }


def _objects(state: ClusterState) -> Iterator[tuple[str, _Object]]:
    """All objects on the cluster, by address."""
    for name, topic in state.topics.items():
        yield topic_address(name), (topic, state.usage.get(name))
    for binding in state.acls:
        yield acl_address(binding), binding
    for entity, quota in state.quotas.items():
        yield quota_address(entity), quota
    for user in state.of(FoundUser):
        yield user_address(user.name), user


def _table(rows: Sequence[_Row]) -> pa.Table:
    """Built by columns, in a tenth of the time that rows take."""
    bodies = [_body(row.item) for row in rows]
    owned = [_owner(row.owner) for row in rows]
    columns: dict[str, list[object]] = {
        "kind": [kind_of(row.address) for row in rows],
        "address": [row.address for row in rows],
        "bucket": [row.bucket for row in rows],
        "exists": [row.item is not None for row in rows],
        "fingerprint": [
            _fingerprint(row, parts[-1]) for row, parts in zip(rows, owned, strict=True)
        ],
        **_columns(("name", "partitions", "context", "found"), bodies),
        **_columns(_OWNER_COLUMNS, owned),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in STATE]
    return pa.Table.from_arrays(arrays, schema=STATE)


def _columns(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> dict[str, list[object]]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _body(item: _Object | None) -> tuple[str | None, int | None, bool, str | None]:
    """Name, number of partitions, whether others depend on it, and the object as text."""
    match item:
        case None:
            return None, None, False, None
        case AclBinding():
            text = canonical_text(binding_document(item))
            return item.resource_name, None, affects_others(item), text
        case ClientQuotaState():
            return None, None, False, canonical_text(quotas_document(item))
        case FoundUser(name=name, held=held):
            return None, None, False, canonical_text(users_document({name: held}))
        case topic, usage:
            used = usage and usage_document(usage)
            text = canonical_text({**asdict(topic), "usage": used})
            return topic.name, topic.num_partitions, False, text


def _owner(
    owner: Owner | None,
) -> tuple[str | None, str | None, bool | None, bool | None, str | None]:
    if owner is None:
        return _UNOWNED
    applied = canonical_text(owner.last_applied)
    return owner.project, owner.topic_id, owner.adopted, owner.spent, applied


def _fingerprint(row: _Row, applied: str | None) -> bytes | None:
    """The fingerprint of the applied normal form, which mostly is the registry's own text."""
    item, owner = row.unchanged, row.owner
    if item is None or owner is None or applied is None:
        return None
    declared = last_applied(item)
    text = applied if declared == owner.last_applied else canonical_text(declared)
    return fingerprint_of_text(owner.project, row.address, text.encode())
