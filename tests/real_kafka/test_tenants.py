"""Tenants of a real cluster reach what is theirs by its physical names, and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from cluster_contract.contract import done, send
from cluster_contract.tenant_requests import (
    GROUP,
    TRANSACTIONAL_ID,
    USER,
    acl_in,
    add,
    all_done,
    creation_in,
    make,
)
from msgspec.structs import replace
from patience import eventually
from real_kafka.broker_messages import api_names, codes, request
from real_kafka.other_operations import NO_TENANTS, listings, share_group, trials
from real_kafka.tenant_operations import (
    Names,
    group_operations,
    topic_operations,
    transaction_operations,
)
from real_kafka.tenant_operations import Operation as Ask

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.port import Cluster
from kgitops.lowering.report import lowering_report
from kgitops.model.requests import CreateAclRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import physical_id
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
    29,  # TOPIC_AUTHORIZATION_FAILED
    30,  # GROUP_AUTHORIZATION_FAILED
    31,  # CLUSTER_AUTHORIZATION_FAILED
    53,  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
}
REFUSALS = {"topic": {29}, "group": {30}, "cluster": {31}, "transaction": {53}}
NO_TOKENS = {61, 65}  # delegation tokens are off, or another's
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
TRIALS, LISTINGS = trials(), listings()


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
    return eventually(
        lambda: ask(wire, names), lambda code: code not in COMING, what="the coordinator is there"
    )


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
        refusals = REFUSED if user == "nobody" else REFUSALS[kind] | REFUSALS["cluster"]
        assert settled(ask, wires[user], asked) in refusals, asked


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


def test_every_api_of_the_broker_is_tried(wires: Mapping[str, Wire]) -> None:
    """VC-003: whatever the broker advertises, so that what comes with a new Kafka is seen here."""
    hello = request("ApiVersions", client_software_name="kgitops", client_software_version="0")
    advertised = {api_names()[row.api_key] for row in wires["admin"].send(hello).api_keys}
    tried = {name.partition(" ")[0] for name in (*TOPICS, *GROUPS, *TRANSACTIONS, *TRIALS)}
    tried |= LISTINGS.keys()
    assert advertised - tried - NO_TENANTS.keys() == set()
    assert tried - advertised == set()
    assert tried & NO_TENANTS.keys() == set()


def with_ids(names: Names, wires: Mapping[str, Wire], user: str) -> Names:
    """They, and what brokers call the topic; they learn of one after its creation is answered."""
    topics = [{"topic_id": None, "name": names.topic}]
    topic_id = eventually(
        lambda: (
            wires["admin"].send(request("Metadata", topics=topics, oldest=12)).topics[0].topic_id
        ),
        what=f"the brokers know {names.topic}",
    )
    return replace(names, topic_id=topic_id, user=user)


@pytest.fixture(scope="module")
def named(admin: Cluster, wires: Mapping[str, Wire]) -> Mapping[str, Names]:
    """What each tenant has; one's share group is there."""
    found = {
        name: with_ids(names_of(admin, name), wires, user)
        for name, user in ((A, "tenant-a"), (B, "tenant-b"))
    }
    group = {"group_id": share_group(found[A]), "member_id": str(uuid4())}
    for epoch in (0, -1):
        joining = request(
            "ShareGroupHeartbeat",
            member_epoch=epoch,
            subscribed_topic_names=[found[A].topic],
            **group,
        )
        assert (
            settled(lambda wire, _, asked=joining: first(wire, asked), wires["tenant-a"], LOCAL)
            == 0
        )
    return found


def first(wire: Wire, asked: Message) -> int:
    """The outermost error of the answer, or 0."""
    return next(filter(None, codes(wire.send(asked))), 0)


def mixed(kind: str, theirs: Names, mine: Names) -> Names:
    """One's own, but for what is of this kind."""
    return {
        "cluster": theirs,
        "topic": replace(mine, topic=theirs.topic, topic_id=theirs.topic_id),
        "group": replace(mine, group=theirs.group),
        "transaction": replace(mine, transactional_id=theirs.transactional_id),
    }[kind]


@pytest.mark.parametrize("user", ["tenant-a", "nobody"])
@pytest.mark.parametrize(
    ("api", "kind"), [(api, kind) for api, trial in TRIALS.items() for kind in trial.kinds]
)
def test_every_other_operation_is_refused_too(
    named: Mapping[str, Names], wires: Mapping[str, Wire], user: str, api: str, kind: str
) -> None:
    """VC-003, VC-029, VC-087, VC-112, VC-116: for what is another's, and for nothing else."""
    trial = TRIALS[api]
    local = replace(LOCAL, user="tenant-b")
    for theirs in (named[B], local)[: 1 if trial.by_id and kind == "topic" else 2]:
        asked = trial.build(mixed(kind, theirs, named[A]))
        begins = TRIALS[trial.after].build(named[A]) if trial.after else None

        def ask(
            wire: Wire, _: Names, asked: Message = asked, begins: Message | None = begins
        ) -> int:
            if begins:
                first(wire, begins)
            return first(wire, asked)

        code = settled(ask, wires[user], LOCAL)
        refusals = REFUSED if user == "nobody" else REFUSALS[kind]
        assert code in (NO_TOKENS if "DelegationToken" in api else refusals)


def test_nothing_of_another_tenant_is_listed(
    named: Mapping[str, Names], wires: Mapping[str, Wire], admin: Cluster
) -> None:
    """VC-003, VC-029: but one's own by physical names, which the lowering report says (L-LIST)."""
    mine, theirs = named[A], named[B]
    quota = {"key": "producer_byte_rate", "value": 1e9, "remove": False}
    entity = [{"entity_type": "user", "entity_name": "tenant-b"}]
    entries = [{"entity": entity, "ops": [quota]}]
    assert first(wires["admin"], request("AlterClientQuotas", entries=entries)) == 0
    assert settled(TRANSACTIONS["InitProducerId"], wires["tenant-b"], theirs) == 0
    secrets = (
        theirs.topic,
        str(theirs.topic_id),
        theirs.group,
        theirs.transactional_id,
        "tenant-b",
    )
    seen, refused = set(), set()
    for api, listing in LISTINGS.items():
        if any(secret in repr(wires["admin"].send(listing)) for secret in secrets):
            seen.add(api)
        for user in ("tenant-a", "nobody"):
            answer = wires[user].send(listing)
            assert [secret for secret in secrets if secret in repr(answer)] == [], (user, api)
        if set(codes(wires["tenant-a"].send(listing))) & {*REFUSALS["cluster"], *NO_TOKENS}:
            refused.add(api)
    # Nothing is being moved, and there are no tokens; what brokers are there is no tenant's.
    assert LISTINGS.keys() - seen == {
        "ListPartitionReassignments",
        "DescribeDelegationToken",
        "DescribeCluster",
    }
    assert {"ListPartitionReassignments", "DescribeDelegationToken"} <= refused
    assert mine.topic in repr(wires["tenant-a"].send(LISTINGS["Metadata"]))
    assert "L-LIST" in {line.code for line in lowering_report(admin.read_state())}


def test_a_pattern_takes_in_nothing_of_another_tenant(
    named: Mapping[str, Names], wires: Mapping[str, Wire]
) -> None:
    """VC-029: who subscribes to all topics is given one's own."""
    member = {"group_id": f"{A}:pattern", "member_id": str(uuid4())}
    epoch = 0

    def given() -> Sequence[Message]:
        nonlocal epoch
        asked = {"subscribed_topic_regex": ".*", "topic_partitions": []} if not epoch else {}
        answer = wires["tenant-a"].send(
            request(
                "ConsumerGroupHeartbeat",
                member_epoch=epoch,
                rebalance_timeout_ms=10_000,
                oldest=1,
                **member,
                **asked,
            )
        )
        assert answer.error_code in {0, *COMING}
        epoch = answer.member_epoch
        return answer.assignment.topic_partitions if answer.assignment else ()

    rows = eventually(given, what="partitions are given")
    assert [row.topic_id for row in rows] == [named[A].topic_id]


def test_who_rules_the_cluster_is_refused_nothing(wires: Mapping[str, Wire]) -> None:
    """So it is the tenant that is refused, and not what the requests above look like."""
    refusals = set().union(*REFUSALS.values())
    for api, trial in TRIALS.items():
        name = f"{uuid4()}"
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
        assert first(wires["admin"], request("CreateTopics", topics=topics)) == 0
        found = with_ids(Names(name, name, name), wires, name)
        assert first(wires["admin"], trial.build(found)) not in refusals, api
