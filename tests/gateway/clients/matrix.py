"""The table of clients and scenarios behind a gateway, as the tests assert it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.clients.entrance import Entrance
from gateway.clients.java_scenarios import java_scenarios
from gateway.clients.tenants import RELEASES
from serve.clients.reports import ClientCall

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "gateway-clients.md"
WRITE = "KGITOPS_WRITE_GATEWAY_CLIENTS"
NONE = "-"
CLIENTS = ("librdkafka", "kafka-python", "franz-go", "sarama", "KafkaJS")
PASSED: Mapping[str, Sequence[int]] = {
    "list topics": (1, 1, 1, 1, 1),
    "describe topics": (2, 1, 1, 1, 1),
    "describe configs": (1, 1, 1, 1, 1),
    "unknown topic": (4, 2, 4, 2, 2),
    "offsets of a topic": (1, 1, 1, 1, 1),
    "produce": (1, 1, 2, 2, 2),
    "produce, idempotent": (1, 1, 1, 1, 1),
    "produce, acks=0": (2, 2, 2, 2, 2),
    "transaction": (3, 3, 2, 2, 2),
    "consume, transform, produce": (2, 2, 2, 2, 2),
    "read committed": (1, 1, 1, 1, 1),
    "list transactions": (0, 1, 1, 0, 0),
    "describe transactions": (0, 1, 1, 0, 0),
    "range group": (2, 1, 1, 1, 0),
    "round-robin group": (0, 0, 0, 0, 1),
    "sticky group": (0, 1, 1, 1, 0),
    "cooperative group": (2, 1, 1, 1, 0),
    "classic group by regex": (2, 1, 1, 0, 1),
    "KIP-848 group": (2, 0, 1, 0, 0),
    "KIP-848 group by regex": (2, 0, 1, 0, 0),
    "classic group that goes to KIP-848": (1, 0, 1, 0, 0),
    "static member": (4, 2, 3, 2, 0),
    "list groups": (1, 1, 1, 1, 1),
    "describe group": (1, 1, 1, 1, 1),
    "offsets of a group": (3, 3, 4, 3, 3),
    "delete offsets": (0, 1, 1, 1, 0),
    "delete group": (2, 2, 2, 2, 2),
    "changes are refused": (4, 3, 3, 3, 3),
}
"""By scenario, the number of calls that pass, a number for each client."""
ONLY_BEHIND_IT = frozenset({"unknown topic", "changes are refused"})
"""What brokers themselves answer in another way."""
_HEAD = """\
# Clients behind a gateway

Programs of others that `kgitops gateway` is tested with, unchanged, and how many of their calls
pass. Each logs in over SASL_SSL as a member of the virtual cluster `emea.sales` on three real
brokers whose authorizer lets nobody do anything without an ACL, and knows local names only. A
second tenant has topics of the same names. `tests/gateway/clients/` has the programs; a test fails
if a call does not pass, or is missing. It needs Java, Node.js and Go:
`uv run --group test pytest -m kafka tests/gateway/clients`.

"""
_TAIL = """
A group's call is: one member has all partitions, shares them with a second one, and has all again
after that has left, while a description of the group names both members' topics. "Unknown" is a
topic that nobody has, and one by the name that only brokers know. A group that goes to KIP-848 has
a classic member, gets one of the new protocol while that one runs, and continues where it was.

A dash: the client has no such call, or no such groups. librdkafka's only sticky assignor is the
cooperative one. kafka-python, sarama and KafkaJS have no KIP-848; sarama has no patterns, KafkaJS
no assignor but round-robin and no static members. Two things that fail at brokers as well are left
out: a static member of franz-go 1.22 that comes back by KIP-848 before its session has ended, and
members of kafka-python 3.0 that join before they know the partitions, since a short poll may lose
the join that follows.

Offsets of every client's group outlast `offsets.retention.minutes` while the group lives, though
nothing is read (`test_gateway_offsets.py`).

## Java

How many tests of a scenario each release runs, in the same folder.

"""
_END = """
Sticky and cooperative groups are among the classic ones. Streams, Connect and the tools are those
of Kafka 4.3.0.

`KGITOPS_TESTS_WITHOUT_GATEWAY=1` lets all clients go to the brokers by physical names, to see
whether a failure is the gateway's.
"""


def check(client: str, calls: Sequence[ClientCall], entrance: Entrance) -> None:
    """All calls passed, and they are as many of each scenario as the table says."""
    failed = [f"{call.family}, {call.name}: {call.problem}" for call in calls if call.problem]
    assert not failed, "\n".join(failed)
    place = CLIENTS.index(client)
    left_out = frozenset() if entrance.is_gateway else ONLY_BEHIND_IT
    expected = {
        scenario: counts[place]
        for scenario, counts in PASSED.items()
        if counts[place] and scenario not in left_out
    }
    assert Counter(call.family for call in calls) == expected


def render_page() -> str:
    """The page, with a line for each scenario."""
    sums = [sum(counts) for counts in zip(*PASSED.values(), strict=True)]
    others = table(CLIENTS, {**PASSED, "all": sums})
    java = table([f"Java {version}" for version in RELEASES], java_scenarios())
    return _HEAD + others + _TAIL + java + _END


def table(columns: Sequence[str], rows: Mapping[str, Sequence[int]]) -> str:
    """With a dash for none."""
    lines = [f"| scenario | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for scenario, counts in rows.items():
        lines.append(f"| {scenario} | {' | '.join(str(count or NONE) for count in counts)} |")
    return "\n".join(lines) + "\n"
