"""Tenants of a real cluster reach what is theirs by its physical names, and nothing else."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cluster_contract.contract import done, send
from cluster_contract.virtual_clusters import (
    GROUP,
    TRANSACTIONAL_ID,
    USER,
    acl_in,
    add,
    all_done,
    creation_in,
    make,
)
from tenant_operations import (
    Names,
    group_operations,
    topic_operations,
    transaction_operations,
)
from tenant_operations import Operation as Ask

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.boot import boot
from kgitops.cluster.kafka.wire import Wire
from kgitops.cluster.port import Cluster
from kgitops.model.acls import Operation, ResourceType
from kgitops.model.requests import CreateAclRequest
from kgitops.model.virtual_clusters import physical_id
from kgitops.sandbox.sandbox import Sandbox

# "a" is a prefix of the other's name: only a separator keeps their groups apart (VC-112).
A, B = "a", "a.b"
USERS = {
    "admin": "admin-secret",
    "tenant-a": "a-secret",
    "tenant-b": "b-secret",
    "nobody": "n-secret",
}
REFUSED = {
    3,  # UNKNOWN_TOPIC_OR_PARTITION, to those who may not even know
    29,  # TOPIC_AUTHORIZATION_FAILED
    30,  # GROUP_AUTHORIZATION_FAILED
    31,  # CLUSTER_AUTHORIZATION_FAILED
    53,  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
}
COMING = {14, 15, 16}  # a coordinator is
# What a tenant may do with what is its own. Deleting and electing are nobody's but kgitops's.
OWN_TOPIC = (
    "Metadata",
    "Produce",
    "Fetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "CreatePartitions",
    "DescribeConfigs",
    "IncrementalAlterConfigs",
    "DescribeProducers",
    "OffsetCommit",
)
OWN_GROUP = ("FindCoordinator", "OffsetFetch", "OffsetCommit", "OffsetDelete", "DescribeGroups")
OWN_TRANSACTION = ("FindCoordinator", "InitProducerId")

TOPICS, GROUPS, TRANSACTIONS = topic_operations(), group_operations(), transaction_operations()


@pytest.fixture(scope="module")
def secured(own_kafka) -> Sandbox:
    """One broker; who has no ACL may do nothing."""
    properties = {"allow.everyone.if.no.acl.found": "false"}
    return own_kafka(sasl=True, users=USERS, properties=properties)


def login(secured: Sandbox, user: str) -> dict[str, str]:
    """Its configs, for librdkafka and for kgitops."""
    mine = {"sasl.username": user, "sasl.password": USERS[user]}
    return {"bootstrap.servers": secured.servers, **secured.configs, **mine}


@pytest.fixture(scope="module")
def admin(secured: Sandbox) -> Iterator[Cluster]:
    """Two tenants, each of which may do everything in its own virtual cluster."""
    cluster = connect(f"kafka://{secured.servers}", configs=secured.configs, base=Path())
    for name, user in ((A, "User:tenant-a"), (B, "User:tenant-b")):
        all_done(cluster, make(name), add(name, GROUP, "etl"), add(name, TRANSACTIONAL_ID, "tx"))
        everything = [
            acl_in(name, kind, "*", Operation.ALL, principal=user)
            for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
        ]
        for acl in everything:
            assert send(cluster, CreateAclRequest(binding=acl)).ok
        assert send(cluster, creation_in(name, "Orders", ((1,),))).ok
        wanted = {*everything}
        done(cluster, add(name, USER, user), lambda state, acls=wanted: acls <= state.acls)
    yield cluster
    cluster.close()


def names_of(admin: Cluster, virtual_cluster: str) -> Names:
    """The physical names: what the binding sheet says (VC-048, VC-111, VC-120)."""
    state = admin.read_state()
    return Names(
        topic=state.virtual_clusters[virtual_cluster].links["Orders"].topic,
        group=physical_id(virtual_cluster, "etl"),
        transactional_id=physical_id(virtual_cluster, "tx"),
    )


LOCAL = Names(topic="Orders", group="etl", transactional_id="tx")


@pytest.fixture(scope="module")
def wires(secured: Sandbox, admin: Cluster) -> Iterator[Mapping[str, Wire]]:
    """By user; they know their coordinators, and the internal topics are made."""
    admin.read_group_offsets(frozenset({"any"}))
    clusters = {user: boot(secured.servers, {**secured.configs, **_mine(user)}) for user in USERS}
    for user, virtual_cluster in (("tenant-a", A), ("tenant-b", B)):
        # A group that is not there is answered before its topics are looked at.
        commit = GROUPS["OffsetCommit"]
        assert settled(commit, clusters[user].wire, names_of(admin, virtual_cluster)) == 0
    yield {user: cluster.wire for user, cluster in clusters.items()}
    for cluster in clusters.values():
        cluster.close()


def _mine(user: str) -> dict[str, str]:
    return {"sasl.username": user, "sasl.password": USERS[user]}


def settled(ask: Ask, wire: Wire, names: Names) -> int:
    """The code once the topics of coordinators are there, which the first who asks has made."""
    deadline = time.monotonic() + 60
    while (code := ask(wire, names)) in COMING and time.monotonic() < deadline:
        time.sleep(0.1)
    return code


@pytest.mark.parametrize("user", ["tenant-a", "nobody"])
@pytest.mark.parametrize(
    "operation",
    [
        *(("topic", name) for name in TOPICS),
        *(("group", name) for name in GROUPS),
        *(("transaction", name) for name in TRANSACTIONS),
    ],
    ids="-".join,
)
def test_another_tenants_things_are_out_of_reach(
    admin: Cluster, wires: Mapping[str, Wire], user: str, operation: tuple[str, str]
) -> None:
    """VC-003, VC-029, VC-087, VC-112, VC-116: by their physical names and by local ones.

    What is asked for beside the other tenant's thing is one's own, so that it alone is refused.
    """
    kind, name = operation
    ask = {"topic": TOPICS, "group": GROUPS, "transaction": TRANSACTIONS}[kind][name]
    mine = names_of(admin, A)
    for theirs in (names_of(admin, B), LOCAL):
        asked = {
            "topic": Names(theirs.topic, mine.group, mine.transactional_id),
            "group": Names(mine.topic, theirs.group, mine.transactional_id),
            "transaction": Names(mine.topic, mine.group, theirs.transactional_id),
        }[kind]
        assert settled(ask, wires[user], asked) in REFUSED, asked


def test_ones_own_things_are_within_reach(admin: Cluster, wires: Mapping[str, Wire]) -> None:
    """VC-041, VC-087, VC-161, VC-163, VC-164, VC-167, VC-171, VC-172: but not to delete them."""
    for user, virtual_cluster in (("tenant-a", A), ("tenant-b", B)):
        mine = names_of(admin, virtual_cluster)
        answers = {
            **{("topic", name): settled(TOPICS[name], wires[user], mine) for name in OWN_TOPIC},
            **{("group", name): settled(GROUPS[name], wires[user], mine) for name in OWN_GROUP},
            **{
                ("txn", name): settled(TRANSACTIONS[name], wires[user], mine)
                for name in OWN_TRANSACTION
            },
        }
        assert {what: code for what, code in answers.items() if code} == {}
        for name in ("DeleteTopics", "DeleteRecords"):
            assert settled(TOPICS[name], wires[user], mine) in REFUSED
