"""Rows of a state → the objects that they describe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from kgitops.cluster.snapshot import state_from_json
from kgitops.cluster.snapshot_json import (
    QuotasDocument,
    UsageDocument,
    quotas_of,
    usage_of,
    users_of,
)
from kgitops.fleet.tables.format import CLUSTER_ROW, STATE
from kgitops.fleet.tables.reading import Rows, open_rows
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.errors import UnreachableError
from kgitops.model.json.codec import from_json
from kgitops.model.json.declared import check_declaration
from kgitops.model.json.objects import read_binding
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import (
    acl_address,
    kind_of,
    quota_address,
    topic_address,
    user_address,
)
from kgitops.model.resources.kinds import CREDENTIALS, Kind
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import ScramIterations, found_users

T = TypeVar("T")

HYDRATED = (
    "kind",
    "address",
    "owner",
    "owner_topic_id",
    "adopted",
    "spent",
    "last_applied",
    "exists",
    "found",
)
"""The columns that objects are made from."""
BODY = ("kind", "address", "found")
"""Those of them with the object on the cluster."""
_OWNER_COLUMNS = ("owner", "owner_topic_id", "adopted", "spent", "last_applied")
OWNED = ("address", *_OWNER_COLUMNS)
"""Those with the owner."""


def open_state(files: Sequence[Path], cluster: str) -> Rows:
    """The saved state of a cluster.

    Raises:
        UnreachableError: a file can't be read, or is not Parquet; the cluster itself could not be.
        SafetyError: the state can't be trusted.
    """
    rows = open_rows(
        files,
        STATE,
        CLUSTER_ROW,
        what=f"the state of the cluster {cluster}",
        remake="make a new one with kgitops fleet snapshot",
    )
    unread = rows.header.get("unread")
    if unread is not None:
        raise UnreachableError(
            f"the cluster {cluster} could not be read at {unread['at']}: {unread['sentence']}"
        )
    return rows


def read_state(files: Sequence[Path], cluster: str) -> ClusterState:
    """The whole state; errors as of ``open_state``."""
    rows = open_state(files, cluster)
    return hydrate(rows, rows.columns(HYDRATED))


def hydrate(rows: Rows, table: pa.Table) -> ClusterState:
    """The cluster, holding of its objects just those in ``table``, with ``HYDRATED`` columns.

    Raises:
        SafetyError: a row is not what it must be.
    """
    check_unique_addresses(rows, table)
    _check_kinds(rows, table)
    bare = state_without_objects(rows)
    topics: dict[str, TopicState] = {}
    usage: dict[str, TopicUsage] = {}
    for topic, used in _topics(rows, table):
        topics[topic.name] = topic
        if used is not None:
            usage[topic.name] = used
    registry = bare.registry
    if registry is not None:
        registry = replace(registry, owners=owners_in(rows, table))
    state = replace(
        bare,
        topics=topics,
        usage=usage,
        acls=acls_in(rows, table),
        quotas=quotas_in(rows, table),
        registry=registry,
    )
    if Kind.USER not in bare.asked:
        return state
    return state.with_objects(found_users(users_in(rows, table)))


def check_unique_addresses(rows: Rows, table: pa.Table) -> None:
    """No address may have two rows.

    Raises:
        SafetyError: one has.
    """
    counts = pc.value_counts(table["address"])
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        address = min(twice.field("values").to_pylist())
        raise rows.broken(f"it has more than one row of {address}")


def _check_kinds(rows: Rows, table: pa.Table) -> None:
    """Check kinds and bodies: a row that was passed over would look like an object that is gone.

    Raises:
        SafetyError: a row's kind is not its address's, or it lacks the object that exists.
    """
    addresses = table["address"].to_pylist()
    kinds = pa.array([address and kind_of(address) for address in addresses], pa.string())
    complete = pc.equal(table["exists"], pc.is_valid(table["found"]))
    valid = pc.and_(pc.equal(table["kind"], kinds), complete)
    at = pc.index(pc.fill_null(valid, fill_value=False), value=False).as_py()
    if at >= 0:
        raise rows.broken(f"the row of {addresses[at]} does not fit together")


def state_without_objects(rows: Rows) -> ClusterState:
    """The state that the header holds: all but topics, ACLs, quotas, users and owners."""
    return state_from_json(rows.header, rows.what)


def topics_in(rows: Rows, table: pa.Table) -> Mapping[str, TopicState]:
    """The topics in ``table``, with ``BODY`` columns, by name; errors as of ``hydrate``."""
    return {topic.name: topic for topic, _ in _topics(rows, table)}


def acls_in(rows: Rows, table: pa.Table) -> frozenset[AclBinding]:
    """The bindings, likewise."""
    return frozenset(
        _read(rows, table, "acl", lambda body: read_binding(body, "the object"), acl_address)
    )


def quotas_in(rows: Rows, table: pa.Table) -> Mapping[ClientQuotaEntity, ClientQuotaState]:
    """The quotas by entity, likewise."""
    quotas = _read(
        rows,
        table,
        "quota",
        lambda body: quotas_of(from_json(QuotasDocument, body, "the object")),
        lambda quota: quota_address(quota.entity),
    )
    return {quota.entity: quota for quota in quotas}


def users_in(rows: Rows, table: pa.Table) -> Mapping[str, ScramIterations]:
    """The users by name, likewise."""
    one_each = _read(
        rows,
        table,
        CREDENTIALS,
        lambda body: users_of(from_json(dict[str, dict[str, int]], body, "the object")),
        lambda users: " and ".join(map(user_address, users)),
    )
    return {name: held for users in one_each for name, held in users.items()}


def owners_in(rows: Rows, table: pa.Table) -> Mapping[str, Owner]:
    """The owners by address, in ``table`` with ``OWNED`` columns; errors likewise."""
    return dict(_owners(rows, table))


def _topics(rows: Rows, table: pa.Table) -> Iterator[tuple[TopicState, TopicUsage | None]]:
    return _read(rows, table, "topic", _topic, lambda topic: topic_address(topic[0].name))


def _read(
    rows: Rows,
    table: pa.Table,
    kind: str,
    read: Callable[[Json], T],
    address_of: Callable[[T], str],
) -> Iterator[T]:
    """The objects of one kind that exist on the cluster."""
    mask = pc.and_(pc.equal(table["kind"], kind), pc.is_valid(table["found"]))
    chosen = table.filter(mask)
    for address, text in zip(
        chosen["address"].to_pylist(), chosen["found"].to_pylist(), strict=True
    ):
        try:
            item = read(msgspec.json.decode(text))
        except (ShapeError, ValueError, KeyError) as error:
            raise rows.broken(f"the row of {address} can't be read: {error}") from error
        if address_of(item) != address:
            raise rows.broken(f"the row of {address} holds {address_of(item)}")
        yield item


def _topic(body: Json) -> tuple[TopicState, TopicUsage | None]:
    usage = body.pop("usage")
    topic = from_json(TopicState, body, "the object")
    return topic, None if usage is None else usage_of(from_json(UsageDocument, usage, "usage"))


def _owners(rows: Rows, table: pa.Table) -> Iterator[tuple[str, Owner]]:
    kept = table.filter(pc.is_valid(table["owner"]))
    columns = (kept[name].to_pylist() for name in OWNED)
    for address, project, topic_id, adopted, spent, last in zip(*columns, strict=True):
        try:
            owner = {
                "project": project,
                "topic_id": topic_id,
                "adopted": adopted,
                "spent": spent,
                "last_applied": msgspec.json.decode(last),
            }
            found = from_json(Owner, owner, "the owner")
            check_declaration(address, found)
            yield address, found
        except (ValueError, TypeError) as error:
            raise rows.broken(f"the row of {address} can't be read: {error}") from error
