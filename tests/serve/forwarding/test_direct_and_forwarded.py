"""Every forwarded API in every version: the answers through a broker are those without one."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import pytest
from serve.plain_requests import Fields, request_of
from serve.served import ServedCluster, repeating, served
from serve.topic_requests import creating, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.serve.announced import announced_versions
from kgitops.serve.answers.table import ANSWERS, WAITING
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.options import Routing
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.frames import request_frame


def forwarded_versions(compat: Compat) -> Mapping[str, range]:
    """The versions that brokers announce of the APIs that they forward, from what decides both."""
    seed = compat is Compat.SEED
    announced = announced_versions(
        [*ANSWERS, *WAITING], NodeKind.BROKER, seed=seed, virtual_clusters=True
    )
    names = {apis()[key].name: versions for key, versions in announced.items()}
    return {name: versions for name, versions in sorted(names.items()) if name in FORWARDED}


ALL = [
    (compat, api, version)
    for compat in Compat
    for api, versions in forwarded_versions(compat).items()
    for version in versions
]


ACL = {
    "resource_name": "orders",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "orders",
    "pattern_type_filter": 3,
    "permission_type": 1,
}
CREDENTIAL = {
    "name": "alice",
    "mechanism": 1,
    "iterations": 4096,
    "salt": b"salt",
    "salted_password": bytes(32),
}
CONFIGURED = (2, "there"), (2, "absent"), (4, "1"), (4, "2"), (4, ""), (9, "")
USER = {"resource_type": 2, "resource_name": "User:alice", "resource_operation": 1}


def topic(name: str, partitions: int = 2, factor: int = 3, **more: object) -> Fields:
    counts = {"num_partitions": partitions, "replication_factor": factor}
    return {"name": name, **counts, **more}


def fields_of(api: str, version: int) -> Sequence[Fields]:
    """Of requests as clients send them: some succeed, some are refused."""
    both = "there", "absent"
    match api:
        case "CreateTopics":
            wrong = {"name": "retention.ms", "value": "-7"}
            dry = {"topics": topic("tried"), "validate_only": True}
            return [
                {"topics": [topic("orders", 1, 1), topic("audit", 3, 3), topic("a b", 1, 1)]},
                {"topics": [topic("orders"), topic("x", 1, 9, configs=wrong)]},
                *([dry] if version >= 1 else []),
                {"topics": topic("late"), "timeout_ms": 0},
            ]
        case "DeleteTopics" if version >= 6:
            by_id = {"topics": {"topic_id": bytes(15) + b"\7"}}
            return [{"topics": [{"name": name} for name in both], "timeout_ms": 9000}, by_id]
        case "DeleteTopics":
            return [{"topic_names": [*both], "timeout_ms": 9000}]
        case "CreatePartitions":
            more = {"name": "there", "count": 4, "assignments": None}
            return [{"topics": [more, {"name": "absent", "count": 2}], "timeout_ms": 9000}]
        case "AlterPartitionReassignments":
            moved = {"partitions": {"partition_index": 0, "replicas": [2]}}
            return [{"topics": [{"name": name, **moved} for name in both]}]
        case "ListPartitionReassignments":
            return [{"topics": {"name": "there", "partition_indexes": [0]}}]
        case "ElectLeaders":
            rows = [{"topic": name, "partitions": [0]} for name in both]
            return [{"topic_partitions": rows}, {"topic_partitions": None}]
        case "DescribeQuorum":
            partition = {"partition_index": 0}
            return [{"topics": {"topic_name": "__cluster_metadata", "partitions": partition}}]
        case "UpdateFeatures":
            update = {"feature": "metadata.version", "max_version_level": 29}
            return [{"feature_updates": update}]
        case "CreateVirtualClusters" | "DeleteVirtualClusters":
            pairs = ("team", "new"), ("absent", "team")
            return [{"virtual_clusters": [{"name": name} for name in names]} for names in pairs]
        case "AlterVirtualClusters":
            pairs = ("team", "new"), ("absent", "team")
            rows = [[{"name": name, "resources": USER} for name in names] for names in pairs]
            return [{"virtual_cluster": changed} for changed in rows]
        case "CreateAcls":
            return [{"creations": [{**ACL, "resource_type": kind} for kind in (2, 3, 99)]}]
        case "DeleteAcls":
            return [{"filters": [{**FILTER, "operation": operation} for operation in (1, 3)]}]
        case "AlterConfigs" | "IncrementalAlterConfigs":
            values = "86400000", "never", None
            configs = [{"configs": {"name": "retention.ms", "value": value}} for value in values]
            named = [{"resource_type": kind, "resource_name": name} for kind, name in CONFIGURED]
            return [{"resources": [{**row, **config} for row in named]} for config in configs]
        case "AlterClientQuotas":
            entity = {"entity": {"entity_type": "user", "entity_name": "alice"}}
            ops = [{"key": key, "value": 1024.0} for key in ("producer_byte_rate", "unknown")]
            return [{"entries": [{**entity, "ops": op} for op in ops]}]
        case "AlterUserScramCredentials":
            return [{"deletions": {"name": "alice", "mechanism": 1}}, {"upsertions": CREDENTIAL}]
    raise AssertionError(f"brokers forward {api}: add requests of clients for it here")


@pytest.fixture(scope="module")
def pairs() -> Iterator[dict[Compat, tuple[ServedCluster, ServedCluster]]]:
    """For each mode two clusters with the same past: one decides directly, one forwards."""
    with ExitStack() as stack:
        yield {
            compat: tuple(
                stack.enter_context(
                    served(compat=compat, routing=routing, clock_and_ids=repeating())
                )
                for routing in (Routing.DIRECT, Routing.FORWARD)
            )
            for compat in Compat
        }


def answers(brokers: ServedCluster, api: str, version: int) -> tuple[list[bytes], list[int]]:
    """The whole frames that a client gets, and how many Envelopes the broker sent for each.

    A topic ``there`` and a virtual cluster ``team`` are there before each request.
    """
    found = apis()[keys()[api]]
    got, envelopes = [], []
    team = messages.CreateVirtualClustersRequest.CreatableVirtualCluster(name="team")
    with brokers.client(1) as client:
        for fields in ({}, *fields_of(api, version)):
            client.ask("CreateTopics", 7, creating(new_topic("there", 2, 2)))
            client.ask("CreateVirtualClusters", 0, messages.CreateVirtualClustersRequest([team]))
            before = brokers.redirected()
            request = request_of(api, fields)
            client.socket.sendall(request_frame(found, version, 4711, "raw", request))
            got.append(client.receive_frame())
            envelopes.append(brokers.redirected() - before)
    # Only the ports of the two clusters differ, which DescribeQuorum tells behind the host: two
    # bytes alone may be a part of a timestamp.
    place = brokers.endpoint(3000)
    host = place.host.encode()
    if api == "DescribeQuorum":
        address = host + struct.pack(">H", place.port)
        got = [data.replace(address, host) for data in got]
    return got, envelopes


@pytest.mark.parametrize(("compat", "api", "version"), ALL)
def test_answers_are_the_same_byte_for_byte(
    pairs: dict[Compat, tuple[ServedCluster, ServedCluster]], compat: Compat, api: str, version: int
) -> None:
    """F590-04, F590-05, F590-06, F590-09, F590-16, F590-23, F590-41, A4-30, A4-60, A4-82, A4-106.

    F590-13: a broker that decides directly is one of before the upgrade.
    """
    direct, forwarded = pairs[compat]
    got, envelopes = answers(forwarded, api, version)
    assert (got, [0] * len(got)) == answers(direct, api, version)
    assert envelopes == [1] * len(got)
    assert all(struct.unpack(">i", data[:4]) == (4711,) for data in got)
    assert len(got) >= 2
    assert forwarded.topics() == direct.topics()


@pytest.mark.parametrize("compat", Compat)
def test_every_version_that_a_broker_announces_is_compared(
    pairs: dict[Compat, tuple[ServedCluster, ServedCluster]], compat: Compat
) -> None:
    """F590-06, F590-23: those of the test above are what a client is told."""
    _, forwarded = pairs[compat]
    with forwarded.client(1) as client:
        announced = {
            apis()[row.api_key].name: range(row.min_version, row.max_version + 1)
            for row in client.ask("ApiVersions", 3).api_keys
        }
    told = {name: versions for name, versions in announced.items() if name in FORWARDED}
    assert told == forwarded_versions(compat)
    assert len(told) > 15
