"""Share groups (KIP-932) of two tenants, which call a group and a topic by the same names."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import JavaSession, Refused, Sharer
from gateway.clients.tenants import ANALYTICS, SALES, Tenant
from patience import eventually

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

GROUP, TOPIC = "shared-work", "Orders"
TENANTS = {SALES: "sales-app", ANALYTICS: "ana-reader"}


def test_share_groups(
    sessions: Mapping[str, JavaSession],
    entrance: Entrance,
    tenants: Mapping[str, Tenant],
) -> None:
    """Records are given out, given back, accepted and asked for anew, by local names only."""
    java = sessions["4.3.0"]
    logins = {tenant: entrance.login(user) for tenant, user in TENANTS.items()}
    topics = {tenant: login.topic(TOPIC) for tenant, login in logins.items()}
    direct = entrance.direct().file
    for tenant in tenants.values():
        group = tenant.physical_id(GROUP)
        java.ask("Shares.from the beginning", login=direct, group=group)

    def ask(tenant: str, what: str, /, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        return java.ask(what, login=logins[tenant].file, **arguments)

    def administer(tenant: str, what: str, **more: object) -> Any:  # noqa: ANN401 (JSON)
        return ask(tenant, f"Shares.{what}", group=logins[tenant].group(GROUP), **more)

    def produce(tenant: str, word: str) -> set[str]:
        topic, prefix = topics[tenant], f"shared {word} {tenant} "
        ask(tenant, "Records.produce", topic=topic, prefix=prefix, count=20)
        return {f"{topic}:{prefix}{number}" for number in range(20)}

    def offsets(tenant: str, what: str) -> Mapping[str, int]:
        found = administer(tenant, "offsets")
        return {place: told[what] for place, told in found.items()}

    def await_empty() -> None:
        eventually(
            partial(administer, SALES, "describe"),
            lambda told: told["state"] == "Empty",
            what="the group is empty",
        )

    mine, others = produce(SALES, "first"), produce(ANALYTICS, "first")
    places = [f"{topics[SALES]}-{partition}" for partition in range(3)]
    # By whatever name: its own topic, and the other tenant's by two.
    strange = (topics[ANALYTICS], "j4.orders", tenants[SALES].links[TOPIC])
    with ExitStack() as members:
        start = members.enter_context
        one = start(Sharer(java, logins[SALES], "one", GROUP, [topics[SALES]], gives="yes"))
        two = start(Sharer(java, logins[SALES], "two", GROUP, [topics[SALES]], gives="yes"))
        ana = start(Sharer(java, logins[ANALYTICS], "ana", GROUP, strange))

        def shared() -> set[str]:
            return one.accepted() | two.accepted()

        def await_shared() -> None:
            eventually(lambda: mine - shared(), lambda left: not left, what="all is accepted")

        await_shared()
        ana.await_accepted(others)
        # Each was given back once, and then accepted.
        assert mine <= {*one.state()["released"], *two.state()["released"]}
        told = administer(SALES, "describe")
        assert told["state"] == "Stable"
        assert sorted({place for owned in told["owned"] for place in owned}) == places
        nothing = dict.fromkeys(places, 0)
        eventually(
            partial(offsets, SALES, "lag"), lambda lags: lags == nothing, what="nothing is left"
        )
        mine |= produce(SALES, "second")
        await_shared()
        assert not [value for value in ana.accepted() if SALES in value]
        assert not [value for value in shared() if ANALYTICS in value]
    types = java.ask("Since4.group types", login=direct)
    for tenant in tenants.values():
        assert types[tenant.physical_id(GROUP)] == "Share"
        listed = ask(tenant.name, "Since4.group types")
        assert listed[logins[tenant.name].group(GROUP)] == "Share"

    # As by brokers with ACLs, which do not tell a topic that is not there from one of others.
    with Sharer(java, logins[SALES], "lost", f"{GROUP}-lost", ["none"]):
        eventually(
            lambda: java.ask("Shares.state", member="lost")["problem"],
            lambda problem: "TopicAuthorization" in problem,
            what="the topic is refused",
        )
    await_empty()
    for partition in range(3):
        administer(SALES, "alter offset", topic=topics[SALES], partition=partition, offset=0)
    assert offsets(SALES, "start") == nothing
    with Sharer(java, logins[SALES], "again", GROUP, [topics[SALES]]) as again:
        again.await_accepted(mine)
    await_empty()
    before = administer(ANALYTICS, "offsets")
    with pytest.raises(Refused) as refused:
        administer(SALES, "alter offset", topic="none", partition=0, offset=0)
    assert refused.value.kind == "UnknownTopicOrPartitionException"
    assert tenants[SALES].physical_id("none") not in refused.value.message
    administer(SALES, "delete offsets", topic=topics[SALES])
    assert administer(SALES, "offsets") == {}
    administer(SALES, "drop")
    with pytest.raises(Refused) as refused:
        administer(SALES, "describe")
    assert refused.value.kind == "GroupIdNotFoundException"
    assert administer(ANALYTICS, "offsets") == before
