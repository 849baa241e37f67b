"""Java clients of three releases as a member of ``emea.sales``, who knows local names only.

Each release has topics of its own (``tenants.py``) and one JVM for all its tests.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import Client, JavaSession, Refused, await_read, await_shared
from gateway.clients.tenants import PER_RELEASE, RELEASES, SALES, Tenant
from patience import eventually

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

USER = "sales-app"
MECHANISMS = {"2.8.2": "PLAIN", "3.9.1": "SCRAM-SHA-256", "4.3.0": "SCRAM-SHA-512"}
NEWER, NEWEST = ("3.9.1", "4.3.0"), "4.3.0"
ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
NEW_PROTOCOL = {"config.group.protocol": "consumer"}
EVERY = pytest.mark.parametrize("version", RELEASES)


@pytest.fixture
def client(
    sessions: Mapping[str, JavaSession], entrance: Entrance, request: pytest.FixtureRequest
) -> Client:
    """Of the release that the test is parametrized with, else the newest."""
    version = getattr(request.node, "callspec", None)
    name = version.params.get("version", NEWEST) if version else NEWEST
    return Client(sessions[name], entrance.login(USER, MECHANISMS[name]))


@EVERY
def test_topics_are_listed_and_described(
    client: Client, version: str, tenants: Mapping[str, Tenant], entrance: Entrance
) -> None:
    # Another test's topics come while it runs.
    listed = {n for n in client.ask("Administration.topics") if not n.startswith("coming-")}
    assert {client.login.topic(name) for name in tenants[SALES].links} == listed
    for topic, partitions in PER_RELEASE.items():
        name = client.own(topic)
        assert client.ask("Administration.topic", topic=name) == {
            "name": name,
            "internal": False,
            "leaders": partitions,
            "partitions": partitions,
        }
    assert client.ask("Administration.configs", topic=client.own("orders")) == {
        "retention.ms": "604800000"
    }
    brokers = client.ask("Administration.brokers")
    assert brokers.keys() == {"1", "2", "3"}
    assert entrance.is_gateway is not bool(entrance.addresses_of_brokers() & {*brokers.values()})


@EVERY
def test_other_names_are_unknown(
    client: Client, version: str, tenants: Mapping[str, Tenant], entrance: Entrance
) -> None:
    """Physical ones, another tenant's, and none's."""
    strange = ("none", "kafka-cluster", "__kgitops", "__consumer_offsets")
    if entrance.is_gateway:
        strange += (tenants[SALES].links["Orders"], "sales-stream", "emea.eu.sales.stream")
    for name in strange:
        with pytest.raises(Refused) as refused:
            client.ask("Administration.topic", topic=name)
        kinds = {"UnknownTopicOrPartitionException"}
        if not entrance.is_gateway:
            kinds.add("TopicAuthorizationException")
        assert refused.value.kind in kinds, name


@EVERY
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_records_are_produced(client: Client, version: str, acks: str) -> None:
    """Idempotent with acks=all; with acks=0 there is no answer, and the connection goes on."""
    more = {"config.acks": acks, "config.enable.idempotence": str(acks == "all").lower()}
    topic = client.own("refunds")
    prefix = f"acks {acks} "
    told = client.ask("Records.produce", topic=topic, prefix=prefix, count=30, **more)
    assert told == {"topics": [topic], "records": 30, "offsets": 0 if acks == "0" else 30}
    expected = sorted(f"{prefix}{number}" for number in range(30))

    def written() -> list[str]:
        values = client.ask("Records.read", topic=topic)
        return sorted(value for value in values if value.startswith(prefix))

    eventually(written, lambda values: values == expected, what="all is written")
    ends = client.ask("Administration.ends", topic=topic, partitions=3)
    assert ends.keys() == set(client.places("refunds"))
    assert sum(ends.values()) >= 30


@EVERY
def test_transactions(client: Client, version: str) -> None:
    """Aborted records are seen by those who read uncommitted alone; the second producer fences."""
    topic, name = client.own("invoices"), client.login.group(f"{client.prefix}-tx")
    for end in ("commit", "abort", "commit"):
        asked = {"topic": topic, "id": name, "prefix": f"{end} ", "count": 5, "end": end}
        assert client.ask("Records.transact", **asked) == end
    committed = sorted([f"commit {number}" for number in range(5)] * 2)
    read = client.ask("Records.read", topic=topic, **{"config.isolation.level": "read_committed"})
    assert sorted(read) == committed
    aborted = [f"abort {number}" for number in range(5)]
    assert sorted(client.ask("Records.read", topic=topic)) == sorted([*committed, *aborted])
    fenced = client.ask("Records.fence", topic=topic, id=name)
    assert fenced in {"ProducerFencedException", "InvalidProducerEpochException"}


@EVERY
def test_consume_transform_produce(client: Client, version: str) -> None:
    """A group's offsets are committed with what is written; what was aborted is not there."""
    values = client.produce("quiet", "raw ")
    source, target = client.own("quiet"), client.own("invoices")
    there = len(client.ask("Records.read", topic=source))  # another test writes to it, too
    committed = client.ask(
        "Records.transform",
        group=client.group("transform"),
        id=client.login.group(f"{client.prefix}-transform"),
        count=there,
        to=target,
        **{"from": source},
    )
    assert committed == {f"{source}-0": there}
    found = client.ask("Records.read", topic=target, **{"config.isolation.level": "read_committed"})
    assert sorted(f"{source}:{value}" for value in found if value.startswith("raw ")) == sorted(
        values
    )
    assert not [value for value in found if value.startswith("aborted")]


@EVERY
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_classic_groups(client: Client, version: str, assignor: str) -> None:
    """Two members share the partitions, one of them goes, and the other takes over."""
    strategy = {"config.partition.assignment.strategy": ASSIGNORS[assignor]}
    values = client.produce("orders", f"{assignor} one ")
    places = client.places("orders", "refunds")
    topics, group = ("orders", "refunds"), f"classic-{assignor}"
    with ExitStack() as members:
        one = members.enter_context(client.member("one", group, topics, **strategy))
        one.await_owned(places)
        two = members.enter_context(client.member("two", group, topics, **strategy))
        await_shared(places, one, two)
        values |= client.produce("orders", f"{assignor} two ")
        await_read(values, one, two)
        told = client.ask("Administration.group", group=client.group(group))
        assert (told["state"], told["assignor"]) == ("Stable", assignor)
        assert sorted(place for member in told["owned"] for place in member) == places
        two.stop()
        one.await_owned(places)
    assert client.ask("Administration.offsets", group=client.group(group)).keys() >= set(
        client.places("orders")
    )


@pytest.mark.parametrize(
    ("version", "protocol"), [*((version, "classic") for version in RELEASES), (NEWEST, "consumer")]
)
def test_static_members(client: Client, version: str, protocol: str) -> None:
    """One who comes back under its instance id gets what it had, without a rebalance."""
    topics, group = ("orders",), f"static-{protocol}"
    more = NEW_PROTOCOL if protocol == "consumer" else {}
    with ExitStack() as members:
        ids = [f"{client.prefix}-{protocol}-{number}" for number in (1, 2)]
        one, two = (
            members.enter_context(
                client.member(name, group, topics, **{"config.group.instance.id": name}, **more)
            )
            for name in ids
        )
        await_shared(client.places("orders"), one, two)
        before = two.state()["owned"]
        generation = one.state()["generation"]
        two.stop()
        told = client.ask("Administration.group", group=client.group(group))
        assert told["instances"] == ids
        again = members.enter_context(
            client.member(ids[1], group, topics, **{"config.group.instance.id": ids[1]}, **more)
        )
        again.await_owned(before)
        assert one.state()["generation"] == generation


@EVERY
def test_a_pattern_that_the_client_matches(client: Client, version: str) -> None:
    """It is matched against local names, and those of other tenants are never among them."""
    values = client.produce("orders", "pattern ") | client.produce("refunds", "pattern ")
    pattern = f"({client.own('orders')}|{client.own('refunds')}|sales-stream|Reports)"
    with client.member("pattern", "pattern", pattern=pattern) as member:
        member.await_owned(client.places("orders", "refunds"))
        member.await_read(values)


@EVERY
def test_groups_are_administered(client: Client, version: str) -> None:
    """Listed, described, their offsets set, listed and deleted, and they themselves deleted."""
    group, topic = client.group("administered"), client.own("orders")
    where = {"group": group, "topic": topic}
    client.ask("Administration.commit", **where, partition=0, offset=3)
    client.ask("Administration.commit", **where, partition=1, offset=4)
    assert group in client.ask("Administration.groups")
    assert client.ask("Administration.group", group=group)["state"] == "Empty"
    offsets = client.ask("Administration.offsets", group=group)
    assert offsets == {f"{topic}-0": 3, f"{topic}-1": 4}
    client.ask("Administration.forget", **where, partition=0)
    assert client.ask("Administration.offsets", group=group) == {f"{topic}-1": 4}
    client.ask("Administration.drop", group=group)
    assert group not in client.ask("Administration.groups")
    with pytest.raises(Refused, match=r"GroupIdNotFoundException|GroupNotEmpty"):
        client.ask("Administration.drop", group=group)


@EVERY
def test_records_are_not_deleted(client: Client, version: str) -> None:
    """Kafka's right to delete records is that to delete the topic, which nobody has but kgitops."""
    topic = client.own("refunds")
    with pytest.raises(Refused, match="TopicAuthorizationException"):
        client.ask("Administration.truncate", topic=topic, partition=0, offset=1)


@pytest.mark.parametrize("version", NEWER)
def test_topic_ids_and_open_transactions(client: Client, version: str) -> None:
    """What clients learned to ask for later."""
    topic = client.own("refunds")
    topic_id = client.ask("Since3.id", topic=topic)
    assert client.ask("Since3.of id", id=topic_id) == topic
    name = client.login.group(f"{client.prefix}-open")
    assert client.ask("Since3.open", topic=topic, id=name) == {
        "state": "Ongoing",
        "topics": [f"{topic}-0"],
        "producers": True,
        "then": "ProducerFencedException",
    }
    assert name in client.ask("Since3.transactions")


@pytest.mark.parametrize(
    ("version", "how"), [("3.9.1", "names"), ("4.3.0", "names"), ("4.3.0", "pattern")]
)
def test_groups_of_the_new_protocol(
    client: Client,
    version: str,
    how: str,
    sessions: Mapping[str, JavaSession],
    entrance: Entrance,
) -> None:
    """KIP-848 by names, and by a pattern that brokers match (RE2J)."""
    newest = Client(sessions[NEWEST], entrance.login(USER))
    group = f"new-{how}"
    values = client.produce("orders", f"new {how} one ")
    places = client.places("orders", "refunds")
    pattern = f"({client.own('orders')}|{client.own('refunds')}|sales-stream|Reports)"
    subscribed: dict[str, Any] = (
        {"topics": ("orders", "refunds")} if how == "names" else {"re2j": pattern}
    )
    with ExitStack() as members:
        one = members.enter_context(client.member("one", group, **subscribed, **NEW_PROTOCOL))
        one.await_owned(places)
        two = members.enter_context(client.member("two", group, **subscribed, **NEW_PROTOCOL))
        await_shared(places, one, two)
        values |= client.produce("orders", f"new {how} two ")
        await_read(values, one, two)
        told = newest.ask("Since4.group", group=client.group(group))
        assert (told["type"], told["state"]) == ("Consumer", "Stable")
        assert sorted(place for member in told["owned"] for place in member) == places
        assert newest.ask("Since4.group types")[client.group(group)] == "Consumer"
        two.stop()
        one.await_owned(places)
    offsets = client.ask("Administration.offsets", group=client.group(group))
    assert offsets.keys() >= set(client.places("orders"))


@EVERY
def test_live_migration_to_the_new_protocol(
    client: Client, version: str, sessions: Mapping[str, JavaSession], entrance: Entrance
) -> None:
    """A classic member of any release and one of the new protocol share a group, then one goes."""
    newest = Client(sessions[NEWEST], entrance.login(USER))
    newest.prefix = client.prefix
    group, topics = "migrating", ("orders", "refunds")
    places = client.places(*topics)
    values = client.produce("orders", "before ")
    with ExitStack() as members:
        old = members.enter_context(client.member("old", group, topics))
        old.await_owned(places)
        old.await_read(values)
        new = members.enter_context(newest.member("new", group, topics, **NEW_PROTOCOL))
        await_shared(places, old, new)
        told = newest.ask("Since4.group", group=client.group(group))
        assert (told["type"], sorted(told["upgraded"])) == ("Consumer", [False, True])
        values |= client.produce("orders", "between ")
        await_read(values, old, new)
        old.stop()
        new.await_owned(places)
        later = client.produce("orders", "after ")
        new.await_read(later)
        # It went on where the group was, and read nothing of before again.
        assert not [value for value in new.state()["read"] if ":before " in value]


CHANGES = (
    "create topic",
    "delete topic",
    "create partitions",
    "alter configs",
    "create ACL",
    "delete ACLs",
    "alter quota",
)


@EVERY
@pytest.mark.parametrize("what", CHANGES)
def test_what_manifests_declare_is_not_changed(
    client: Client, version: str, what: str, entrance: Entrance
) -> None:
    if not entrance.is_gateway:
        pytest.skip("brokers let those who have the rights change it")
    topic = "new" if what == "create topic" else client.own("orders")
    with pytest.raises(Refused) as refused:
        client.ask("Administration.change", what=what, topic=topic)
    assert refused.value.kind == "PolicyViolationException"
    assert "change their manifests" in refused.value.message


@EVERY
def test_creating_a_topic_that_is_there_is_no_violation(client: Client, version: str) -> None:
    """Applications that create their topics at each start take this for success."""
    with pytest.raises(Refused) as refused:
        client.ask("Administration.change", what="create topic", topic=client.own("orders"))
    assert refused.value.kind == "TopicExistsException"
