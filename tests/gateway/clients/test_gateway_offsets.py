"""Offsets of quiet partitions in a group that lives outlast ``offsets.retention.minutes``.

The coordinator keeps those of topics that some member subscribes to, and reads that in what the
members sent when they joined: it must find the names that it knows there.
"""

from collections.abc import Mapping
from contextlib import ExitStack

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_client import Client
from gateway.clients.java_session import JavaSession, wait

pytestmark = [
    pytest.mark.kafka("gateway-clients"),
    pytest.mark.xdist_group("gateway-clients"),
    pytest.mark.slow,
]

_RETENTION_S = 60
PROTOCOLS = {"classic": {}, "consumer": {"config.group.protocol": "consumer"}}


def test_offsets_of_a_quiet_partition_do_not_expire(
    sessions: Mapping[str, JavaSession], entrance: Entrance
) -> None:
    """Those of a group beside it do, none of whose members subscribes to the topic."""
    client = Client(sessions["4.3.0"], entrance.login("sales-app"))
    quiet = f"{client.own('quiet')}-0"

    def offsets(group: str) -> Mapping[str, int]:
        return client.ask("Administration.offsets", group=client.group(group))

    with ExitStack() as members:
        written = client.produce("quiet", "kept ")
        for protocol, more in PROTOCOLS.items():
            name = f"kept-{protocol}"
            kept = members.enter_context(client.member(name, name, ("orders", "quiet"), **more))
            wait(lambda kept=kept: written <= {*kept.state()["read"]}, kept.state)
            wait(lambda name=name: quiet in offsets(name))
        before = {protocol: offsets(f"kept-{protocol}")[quiet] for protocol in PROTOCOLS}
        for protocol, more in PROTOCOLS.items():
            name = f"forgotten-{protocol}"
            where = {"group": client.group(name), "topic": client.own("quiet")}
            client.ask("Administration.commit", **where, partition=0, offset=1)
            members.enter_context(client.member(name, name, ("refunds",), **more))
        for protocol in PROTOCOLS:
            name = f"forgotten-{protocol}"
            wait(lambda name=name: quiet not in offsets(name), patience_s=3 * _RETENTION_S)
        after = {protocol: offsets(f"kept-{protocol}").get(quiet) for protocol in PROTOCOLS}
        assert after == before
