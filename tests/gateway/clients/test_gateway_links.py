"""Two names of one topic in one virtual cluster, and names that come while members run."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from cli.projects import document
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import Client, JavaSession, Member, Sharer
from gateway.clients.tenants import RELEASES, SALES, apply
from patience import eventually
from real_kafka.golden_documents import scoped

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

NAMES = ("stream", "stream-again")
NEWEST = "4.3.0"
NEW_PROTOCOL = {"config.group.protocol": "consumer"}


@pytest.fixture
def client(
    sessions: Mapping[str, JavaSession], entrance: Entrance, request: pytest.FixtureRequest
) -> Client:
    """Of the release that the test is parametrized with, else the newest."""
    if not entrance.is_gateway:
        pytest.skip("brokers know one name of a topic")
    version = getattr(request.node, "callspec", None)
    name = version.params.get("version", NEWEST) if version else NEWEST
    return Client(sessions[name], entrance.login("sales-app"))


@pytest.mark.parametrize("version", RELEASES)
def test_who_uses_one_of_two_names_gets_it_back(client: Client, version: str) -> None:
    """In a group, by name and by pattern; each finds what the other wrote.

    Who lets brokers match a pattern asks for the name of an id, and gets one of them.
    """
    expected = set()
    for name in NAMES:
        told = client.ask("Records.produce", topic=name, prefix=f"{version} {name} ", count=10)
        assert told["topics"] == [name]
        expected |= {f"{version} {name} {number}" for number in range(10)}
    ways: dict[str, dict[str, str]] = {"name": {}, "pattern": {}}
    if version == NEWEST:
        ways |= {"name new": NEW_PROTOCOL, "re2j new": NEW_PROTOCOL}
    for way, more in ways.items():
        for name in NAMES:
            kind = way.split()[0]
            topics = {"topics" if kind == "name" else kind: name}
            group = f"{way.replace(' ', '-')}-of-{name}-{version}"
            with Member(client.java, client.login, "one", group, **topics, **more) as member:
                if kind == "re2j":
                    _reads_once(member, expected)
                    continue
                member.await_read({f"{name}:{value}" for value in expected})
                assert member.state()["owned"] == _places(name)


def test_who_uses_both_names_reads_the_topic(client: Client) -> None:
    """Java's clients can't take metadata with one id for two names, so one of them has none."""
    client.ask("Records.produce", topic="stream", prefix="both ", count=10)
    for way, more in {"classic": {}, "new": NEW_PROTOCOL}.items():
        topics = ",".join(NAMES)
        with Member(client.java, client.login, way, f"both-{way}", topics=topics, **more) as member:
            _reads_once(member, {f"both {number}" for number in range(10)})


def test_names_that_come_while_members_run(client: Client, project: Path) -> None:
    """Those who subscribed by a pattern get them, whether the client or the broker matches it.

    So do those who named them before, and who have another topic or none until then.
    """
    ways = {
        "name": {"topics": "coming-one,coming-two", **NEW_PROTOCOL},
        "pattern": {"pattern": "coming.*", "config.metadata.max.age.ms": "1000"},
        "re2j": {"re2j": "coming.*", **NEW_PROTOCOL},
    }
    with ExitStack() as stack:
        members = [
            stack.enter_context(Member(client.java, client.login, way, f"coming-{way}", **how))
            for way, how in ways.items()
        ]
        sharing = ["Orders", "coming-one", "coming-two"]
        sharer = Sharer(client.java, client.login, "sharing", "coming-shared", sharing)
        stack.enter_context(sharer)
        for topic in ("coming-one", "coming-two"):
            spec = {"partitions": 2, "replicationFactor": 2, "deletionPolicy": "Delete"}
            apply(project, scoped("Topic", SALES, topic, **spec))
            for member in members:
                _owns(member, f"{topic}-1")
        client.ask("Records.produce", topic="coming-two", prefix="there ", count=10)
        for member in members:
            member.await_read({f"coming-two:there {number}" for number in range(10)})

        def shared() -> set[str]:
            # A share group begins at the end of a topic, wherever that is when it is assigned.
            client.ask("Records.produce", topic="coming-two", prefix="shared ", count=1)
            return sharer.accepted()

        eventually(shared, {"coming-two:shared 0"}.issubset, what="it has accepted a record")


def test_a_share_group_follows_a_link(client: Client, project: Path, entrance: Entrance) -> None:
    """Its session ends when the link leads to another topic, and goes on in that one."""
    kind = {"partitions": 2, "replicationFactor": 2, "deletionPolicy": "Delete"}
    first, second = targets = ("moving.first", "moving.second")
    apply(project, *(document("Topic", topic, **kind) for topic in targets))
    direct, topics = entrance.direct().file, ["Orders", "moving"]

    def lead(target: str) -> None:
        apply(project, scoped("TopicLink", SALES, "moving", target={"physicalTopic": target}))

    lead(first)
    with Sharer(client.java, client.login, "mover", "moved", topics, patient="yes") as sharer:

        def read(topic: str) -> set[str]:
            asked = {"login": direct, "topic": topic, "prefix": f"{topic} ", "count": 1}
            client.java.ask("Records.produce", **asked)
            return sharer.accepted()

        eventually(partial(read, first), {f"moving:{first} 0"}.issubset, what="it reads the first")
        lead(second)
        eventually(
            partial(read, second), {f"moving:{second} 0"}.issubset, what="it reads the second"
        )


def _places(topic: str) -> list[str]:
    return [f"{topic}-{partition}" for partition in range(3)]


def _owns(member: Member, place: str) -> None:
    eventually(
        lambda: member.state()["owned"],
        lambda owned: place in owned,
        what=f"{member.name} owns {place}",
    )


def _reads_once(member: Member, values: set[str]) -> None:
    """Under whichever of the names."""

    def not_once() -> dict[str, int]:
        read = {*member.state()["read"]}
        times = {value: sum(f"{name}:{value}" in read for name in NAMES) for value in values}
        return {value: count for value, count in times.items() if count != 1}

    eventually(not_once, lambda found: not found, what=f"{member.name} has read each once")
