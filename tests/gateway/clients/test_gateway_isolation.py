"""Two tenants with equal local names, and one topic that each has under a name of its own."""

from collections.abc import Mapping
from contextlib import ExitStack

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import JavaSession, Login, Member, Refused
from gateway.clients.tenants import ANALYTICS, SALES, Tenant

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

EVERY = pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.3.0"])
TENANTS = {SALES: "sales-app", ANALYTICS: "ana-reader"}
TOPIC = "Orders"


class Both:
    """One JVM in which both tenants have clients."""

    def __init__(self, java: JavaSession, entrance: Entrance) -> None:
        self.java = java
        self.logins = {tenant: entrance.login(user) for tenant, user in TENANTS.items()}

    def topic(self, tenant: str, name: str = TOPIC) -> str:
        return self.logins[tenant].topic(name)

    def id(self, tenant: str, name: str) -> str:
        return self.logins[tenant].group(f"{name}-{self.java.version}")

    def ask(self, tenant: str, what: str, /, **arguments: object) -> object:
        return self.java.ask(what, login=self.logins[tenant].file, **arguments)

    def login(self, tenant: str) -> Login:
        return self.logins[tenant]


@pytest.fixture
def both(sessions: Mapping[str, JavaSession], entrance: Entrance, version: str) -> Both:
    return Both(sessions[version], entrance)


@EVERY
def test_equal_names_of_topics_and_groups(both: Both, version: str) -> None:
    """Each reads what it wrote, in a group of its own: both get all partitions."""
    protocols = {"classic": {}}
    if version == "4.3.0":
        protocols["consumer"] = {"config.group.protocol": "consumer"}
    for protocol, more in protocols.items():
        word = f"{version} {protocol}"
        for tenant in TENANTS:
            asked = {"topic": both.topic(tenant), "prefix": f"{word} {tenant} ", "count": 10}
            both.ask(tenant, "Records.produce", **asked)
        name = f"etl-{word.replace(' ', '-')}"
        with ExitStack() as stack:
            members = {
                tenant: stack.enter_context(
                    Member(both.java, both.login(tenant), tenant, name, topics=TOPIC, **more)
                )
                for tenant in TENANTS
            }
            for tenant, member in members.items():
                topic = both.topic(tenant)
                places = [f"{topic}-{partition}" for partition in range(3)]
                mine = {f"{topic}:{word} {tenant} {number}" for number in range(10)}
                member.await_read(mine)
                state = member.state()
                assert state["owned"] == places
                (other,) = TENANTS.keys() - {tenant}
                assert not [value for value in state["read"] if f" {other} " in value]
                group = both.login(tenant).group(name)
                told = both.ask(tenant, "Administration.group", group=group)
                assert told["owned"] == [places]
        groups = {tenant: both.login(tenant).group(name) for tenant in TENANTS}
        for tenant, group in groups.items():
            assert group in both.ask(tenant, "Administration.groups")
        sales = both.ask(SALES, "Administration.offsets", group=groups[SALES])
        both.ask(ANALYTICS, "Administration.drop", group=groups[ANALYTICS])
        assert groups[ANALYTICS] not in both.ask(ANALYTICS, "Administration.groups")
        assert both.ask(SALES, "Administration.offsets", group=groups[SALES]) == sales


@EVERY
def test_equal_transactional_ids(both: Both, version: str) -> None:
    """Neither fences the other."""
    for tenant in TENANTS:
        where = {"topic": both.topic(tenant), "prefix": f"{version} tx {tenant} ", "count": 3}
        both.ask(tenant, "Records.begin", producer=tenant, id=both.id(tenant, "tx"), **where)
    for tenant in TENANTS:
        assert both.ask(tenant, "Records.end", producer=tenant) == "committed"
    for tenant in TENANTS:
        topic = both.topic(tenant)
        level = {"config.isolation.level": "read_committed"}
        values = both.ask(tenant, "Records.read", topic=topic, **level)
        mine = sorted(value for value in values if value.startswith(f"{version} tx "))
        assert mine == [f"{version} tx {tenant} {number}" for number in range(3)]
        if version != "2.8.2":
            (other,) = TENANTS.keys() - {tenant}
            listed = both.ask(tenant, "Since3.transactions")
            assert both.id(tenant, "tx") in listed
            assert not [name for name in listed if other in name]


@EVERY
def test_one_topic_under_two_names(both: Both, version: str) -> None:
    """What one writes the other reads, each under its name and in its own group."""
    names = {SALES: "stream", ANALYTICS: "sales-stream"}
    for tenant in TENANTS:
        asked = {"topic": both.topic(tenant, names[tenant]), "prefix": f"{version} {tenant} "}
        told = both.ask(tenant, "Records.produce", count=5, **asked)
        assert told["topics"] == [both.topic(tenant, names[tenant])]
    with ExitStack() as stack:
        group = f"shared-{version}"
        for tenant in TENANTS:
            topic = both.topic(tenant, names[tenant])
            login = both.login(tenant)
            member = stack.enter_context(
                Member(both.java, login, tenant, group, topics=names[tenant])
            )
            all_ = {f"{topic}:{version} {one} {number}" for one in TENANTS for number in range(5)}
            member.await_read(all_)
    if version != "2.8.2":
        ids = {
            both.ask(tenant, "Since3.id", topic=both.topic(tenant, names[tenant]))
            for tenant in TENANTS
        }
        assert len(ids) == 1


@pytest.mark.parametrize("version", ["3.9.1", "4.3.0"])
def test_ids_of_topics_of_others_are_unknown(
    both: Both, version: str, tenants: Mapping[str, Tenant]
) -> None:
    """The same error as for an id that no topic has."""
    topic_id = both.ask(ANALYTICS, "Since3.id", topic=both.topic(ANALYTICS))
    with pytest.raises(Refused) as refused:
        both.ask(SALES, "Since3.of id", id=topic_id)
    with pytest.raises(Refused) as none:
        both.ask(SALES, "Since3.of id", id="AAAAAAAAQACAAAAAAAAAAQ")
    assert refused.value.kind == none.value.kind == "UnknownTopicIdException"
    assert tenants[ANALYTICS].links[TOPIC] not in refused.value.message
