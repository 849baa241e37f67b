"""Offsets of quiet partitions in a group that lives outlast ``offsets.retention.minutes``.

The coordinator keeps those of topics that some member subscribes to, and reads that in what the
members sent when they joined: it must find the names that it knows there.
"""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import Client, JavaSession
from gateway.clients.keepers import GROUP, KEEPERS
from gateway.clients.member import member
from gateway.clients.tenants import OTHERS, Tenant
from patience import eventually

pytestmark = [
    pytest.mark.kafka("gateway-clients"),
    pytest.mark.xdist_group("gateway-clients"),
    pytest.mark.slow,
]

_CHECK_INTERVAL_S = 2
PROTOCOLS = {"classic": {}, "consumer": {"config.group.protocol": "consumer"}}
OLDER = ("2.8.2", "3.9.1")
"""Releases that join as classic members."""


def test_offsets_of_a_quiet_partition_do_not_expire(
    sessions: Mapping[str, JavaSession],
    entrance: Entrance,
    tenants: Mapping[str, Tenant],
    tmp_path: Path,
) -> None:
    """Of no client's group. Those of a group none of whose members subscribes to the topic do."""
    client = Client(sessions["4.3.0"], entrance.login("sales-app"))
    quiet, kept = f"{client.own('quiet')}-0", {}

    def offsets(group: str) -> Mapping[str, int]:
        return client.ask("Administration.offsets", group=group)

    with ExitStack() as members:
        written = client.produce("quiet", "kept ")
        for protocol, more in PROTOCOLS.items():
            name = f"kept-{protocol}"
            member_ = members.enter_context(client.member(name, name, ("orders", "quiet"), **more))
            kept[client.group(name)] = quiet, member_, written
        for version in OLDER:
            older = Client(sessions[version], entrance.login("sales-app"))
            values = older.produce("quiet", "kept ")
            member_ = members.enter_context(older.member("kept", "kept", ("orders", "quiet")))
            kept[older.group("kept")] = f"{older.own('quiet')}-0", member_, values
        for group, (place, member_, values) in kept.items():
            member_.await_read(values)
            eventually(
                partial(offsets, group),
                lambda found, place=place: place in found,
                what=f"{group} has an offset of {place}",
            )
        places = {group: place for group, (place, _, _) in kept.items()}
        for name, keeper in KEEPERS.items():
            other = member(entrance, tenants, name)
            client.ask("Records.produce", topic=other.quiet, prefix="kept ", count=1)
            members.enter_context(keeper(other, tmp_path))
            places[f"{other.prefix}{GROUP}"] = f"{other.quiet}-0"
        before = {group: offsets(group)[place] for group, place in places.items()}
        assert len(before) == len(PROTOCOLS) + len(OLDER) + len(OTHERS)
        for protocol, more in PROTOCOLS.items():
            name = f"forgotten-{protocol}"
            where = {"group": client.group(name), "topic": client.own("quiet")}
            client.ask("Administration.commit", **where, partition=0, offset=1)
            members.enter_context(client.member(name, name, ("refunds",), **more))
        for protocol in PROTOCOLS:
            group = client.group(f"forgotten-{protocol}")
            eventually(
                partial(offsets, group),
                lambda found: quiet not in found,
                what=f"the offset of {group} expires",
            )
        # Brokers look one after the other: each has had its turn since the last was committed.
        time.sleep(3 * _CHECK_INTERVAL_S)
        after = {group: offsets(group).get(place) for group, place in places.items()}
        assert after == before
