"""A cluster's state as rows, and back: docs/fleet-tables.md has the columns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from kgitops.cluster.snapshot_json import (
    client_quota_to_json,
    state_to_json,
    topic_to_json,
    usage_to_json,
)
from kgitops.fleet.tables.fingerprints import bucket_of
from kgitops.fleet.tables.schemas import CLUSTER_ROW, STATE
from kgitops.fleet.tables.settled import reaches_others, settled_fingerprints
from kgitops.fleet.tables.writing import Row, in_order, write_rows
from kgitops.model.addresses import acl_address, kind_of, quota_address, topic_address
from kgitops.model.canonical_json import canonical_json
from kgitops.model.cluster_state import ClusterState
from kgitops.model.object_json import binding_to_json
from kgitops.model.registry import Json, Owner
from kgitops.plan.planner import base_of


def write_state(state: ClusterState, path: Path) -> None:
    """Write the state as one Parquet file, with the fingerprints of what is settled."""
    write_rows(state_rows(state), STATE, path)


def state_rows(state: ClusterState) -> Iterator[Row]:
    """The header, then a row for each address, by bucket and address."""
    rows = in_order(_rows(state, settled_fingerprints(state)))
    return chain([_header(state, len(rows))], rows)


def _header(state: ClusterState, rows: int) -> Row:
    """Everything but the objects, in the snapshot's own shape, and what stands for them."""
    registry = state.registry and replace(state.registry, owners={})
    bare = replace(state, topics={}, usage={}, acls=frozenset(), quotas={}, registry=registry)
    header = {**state_to_json(bare), "rows": rows, "base_digest": base_of(state).digest}
    return {
        "kind": CLUSTER_ROW,
        "address": f"{CLUSTER_ROW}/{state.cluster_id}",
        "bucket": -1,
        "exists": True,
        "context": True,
        "found": _text(header),
    }


def _rows(state: ClusterState, settled: Mapping[str, bytes]) -> list[Row]:
    found: dict[str, Row] = {
        str(row["address"]): row for row in chain(_topics(state), _acls(state), _quotas(state))
    }
    owners = state.registry.owners if state.registry else {}
    rows = []
    for address in {**found, **owners}:
        row: Row = {
            "kind": kind_of(address),
            "address": address,
            "bucket": bucket_of(address),
            "fingerprint": settled.get(address),
            "exists": address in found,
            "context": False,
            **found.get(address, {}),
            **(_owner(owners[address]) if address in owners else {}),
        }
        rows.append(row)
    return rows


def _topics(state: ClusterState) -> Iterator[Row]:
    for name, topic in state.topics.items():
        usage = state.usage.get(name)
        body = {**topic_to_json(topic), "usage": None if usage is None else usage_to_json(usage)}
        yield {
            "address": topic_address(name),
            "name": name,
            "partitions": topic.num_partitions,
            "found": _text(body),
        }


def _acls(state: ClusterState) -> Iterator[Row]:
    for binding in state.acls:
        yield {
            "address": acl_address(binding),
            "name": binding.resource_name,
            "context": reaches_others(binding),
            "found": _text(binding_to_json(binding)),
        }


def _quotas(state: ClusterState) -> Iterator[Row]:
    for entity, quota in state.quotas.items():
        yield {"address": quota_address(entity), "found": _text(client_quota_to_json(quota))}


def _owner(owner: Owner) -> Row:
    return {
        "owner": owner.project,
        "owner_topic_id": owner.topic_id,
        "adopted": owner.adopted,
        "spent": owner.spent,
        "last_applied": _text(owner.last_applied),
    }


def _text(value: Json) -> str:
    return canonical_json(value).decode()
