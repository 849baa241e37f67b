"""The table of clients and how many of their calls pass, as the tests assert it."""

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "serve-clients.md"
WRITE = "KGITOPS_WRITE_CLIENTS"
NONE = "-"
FAMILIES = (
    "cluster",
    "topics",
    "configs",
    "ACLs",
    "quotas",
    "users",
    "moves",
    "groups",
    "records",
    "transactions",
)

PASSED: Mapping[str, Mapping[str, int]] = {
    "Kafka's tools": {
        "cluster": 7,
        "topics": 17,
        "configs": 14,
        "ACLs": 3,
        "quotas": 5,
        "users": 3,
        "moves": 4,
        "groups": 10,
        "records": 4,
        "transactions": 3,
    },
    "Java 1.1.1": {
        "cluster": 4,
        "topics": 13,
        "configs": 3,
        "ACLs": 4,
        "groups": 2,
        "records": 2,
        "transactions": 1,
    },
    "Java 2.8.2": {
        "cluster": 6,
        "topics": 13,
        "configs": 10,
        "ACLs": 5,
        "quotas": 5,
        "users": 4,
        "moves": 4,
        "groups": 11,
        "records": 5,
        "transactions": 6,
    },
    "Java 3.9.1": {
        "cluster": 7,
        "topics": 18,
        "configs": 10,
        "ACLs": 5,
        "quotas": 5,
        "users": 4,
        "moves": 4,
        "groups": 11,
        "records": 5,
        "transactions": 10,
    },
    "Java 4.3.0": {
        "cluster": 6,
        "topics": 18,
        "configs": 12,
        "ACLs": 5,
        "quotas": 5,
        "users": 4,
        "moves": 4,
        "groups": 22,
        "records": 5,
        "transactions": 10,
    },
    "confluent-kafka": {
        "cluster": 1,
        "topics": 9,
        "configs": 6,
        "ACLs": 4,
        "users": 3,
        "moves": 1,
        "groups": 7,
        "records": 4,
        "transactions": 5,
    },
    "kafka-python": {
        "cluster": 4,
        "topics": 10,
        "configs": 7,
        "ACLs": 4,
        "users": 3,
        "moves": 3,
        "groups": 6,
        "records": 4,
        "transactions": 4,
    },
    "KafkaJS": {
        "cluster": 1,
        "topics": 9,
        "configs": 3,
        "ACLs": 3,
        "moves": 2,
        "groups": 6,
        "records": 4,
        "transactions": 2,
    },
    "sarama": {
        "cluster": 3,
        "topics": 8,
        "configs": 6,
        "ACLs": 3,
        "quotas": 3,
        "users": 3,
        "moves": 3,
        "groups": 6,
        "records": 3,
        "transactions": 2,
    },
    "franz-go": {
        "cluster": 3,
        "topics": 7,
        "configs": 5,
        "ACLs": 3,
        "quotas": 3,
        "users": 3,
        "moves": 3,
        "groups": 6,
        "records": 4,
        "transactions": 3,
    },
}
"""By client, the number of calls that pass in each family."""
_HEAD = """\
# Clients of a served cluster

Programs of others that `kgitops serve` is tested with, unchanged, and how many of their calls pass.
Each call's answer is compared with what a Kafka 4.3 gives. `tests/serve/clients/` has the programs;
a test fails if a call does not pass, or is missing. It needs Java, Node.js and Go:
`uv run --group test pytest -m kafka tests/serve/clients`.

"""
_TAIL = """
"Records" are produced, read and deleted, by offset and by time; "transactions" are committed and
aborted ones, and what consumers of either kind read; "moves" are reassignments and elections.
Java 1.1.1 meets a cluster with `compat=seed`, as Kafka 4 itself does not answer it any more
(KIP-896), the others one with `compat=kraft`. A dash: the client has no such call, or the scenario
leaves it out.
"""


def render_page() -> str:
    """The page, with a line for each client."""
    lines = [
        f"| client | {' | '.join(FAMILIES)} | all |",
        f"| --- |{' ---: |' * (len(FAMILIES) + 1)}",
    ]
    for client, counts in PASSED.items():
        cells = [str(counts.get(family, NONE)) for family in FAMILIES]
        lines.append(f"| {client} | {' | '.join(cells)} | {sum(counts.values())} |")
    return _HEAD + "\n".join(lines) + "\n" + _TAIL
