"""The objects of a made-up fleet as rows of text: nothing is hydrated, so it is quick.

``fleet_values.py`` makes the same objects as the product's values, and holds the rows against them.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product

from kgitops.fleet.tables.format import fingerprint_of_text

IDENTITY, PROJECT = "00000000-0000-4000-8000-000000000001", "bench"
PARTITIONS, GROWN, REPLICAS, BROKERS = 6, 12, 3, 12
DOMAINS = (
    "accounting.ledger",
    "billing.invoices",
    "catalogue.items",
    "checkout.orders",
    "fraud.scores",
    "identity.sessions",
    "logistics.parcels",
    "marketing.clicks",
    "payments.captures",
    "warehouse.stock",
)
RIGHTS = (
    ("writer", "Write"),
    ("reader", "Read"),
    ("viewer", "Describe"),
    ("auditor", "DescribeConfigs"),
    ("owner", "Alter"),
)
CONFIGS = [
    {
        "cleanup.policy": cleanup,
        "compression.type": compression,
        "delete.retention.ms": "86400000",
        "file.delete.delay.ms": "60000",
        "flush.messages": "9223372036854775807",
        "flush.ms": "9223372036854775807",
        "index.interval.bytes": "4096",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": size,
        "message.timestamp.type": "CreateTime",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "2",
        "preallocate": "false",
        "retention.bytes": retained,
        "retention.ms": retention,
        "segment.bytes": segment,
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
        "segment.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }
    for cleanup, compression, size, retained, retention, segment in product(
        ("delete", "compact", "compact,delete"),
        ("producer", "lz4", "zstd"),
        ("1048588", "5242880"),
        ("-1", "10737418240", "107374182400"),
        ("86400000", "259200000", "604800000", "1209600000", "2592000000"),
        ("268435456", "1073741824"),
    )
]
"""Twenty keys, as a team has them that writes down everything."""
CHANGED = [{**configs, "retention.ms": "172800000"} for configs in CONFIGS]
ASSIGNMENTS = [
    [
        [1 + (first + partition + step) % BROKERS for step in (0, shift, shift + 1)]
        for partition in range(PARTITIONS)
    ]
    for first, shift in product(range(BROKERS), range(1, BROKERS - 1))
]


class Fate(Enum):
    """What becomes of a topic: 1 % created, 1 % deleted, 3 % altered in three ways."""

    SAME = auto()
    CREATED = auto()
    DELETED = auto()
    CONFIG = auto()  # another value is declared
    GROWN = auto()  # more partitions are declared
    DRIFTED = auto()  # somebody changed a value on the cluster


FATES = {3: Fate.CREATED, 29: Fate.DELETED, 41: Fate.CONFIG, 67: Fate.GROWN, 83: Fate.DRIFTED}
"""By the number's last two digits."""


@dataclass(slots=True)
class Topic:
    """One topic; ``variant`` and ``place`` choose its configs and its assignment."""

    name: str
    team: str
    topic_id: str
    variant: int
    place: int
    fate: Fate
    line: int


def make_topic(cluster: str, number: int) -> Topic:
    """The topic of that number; names are in the order of numbers."""
    digest = hashlib.blake2b(f"{cluster} {number}".encode(), digest_size=20).digest()
    team = f"team-{number // 500:05d}"
    return Topic(
        f"{team}.{DOMAINS[number // 50 % 10]}.{number:08d}",
        team,
        base64.urlsafe_b64encode(digest[:16]).decode()[:22],
        int.from_bytes(digest[16:18]) % len(CONFIGS),
        int.from_bytes(digest[18:]) % len(ASSIGNMENTS),
        FATES.get(number % 100, Fate.SAME),
        2 + 27 * (number % 500),
    )


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


_CONFIGS, _CHANGED = [*map(_text, CONFIGS)], [*map(_text, CHANGED)]
_ASSIGNMENTS = [*map(_text, ASSIGNMENTS)]
Row = tuple[object, ...]
Pair = tuple[Row | None, Row | None]
"""A row of each table, state and desired; None where it has none."""


def topic_pair(topic: Topic, address: str, bucket: int) -> Pair:
    """The topic's rows."""
    fate, variant = topic.fate, topic.variant
    declared = _topic_body(
        topic,
        _CHANGED[variant] if fate is Fate.CONFIG else _CONFIGS[variant],
        GROWN if fate is Fate.GROWN else PARTITIONS,
    )
    print_of = fingerprint_of_text(IDENTITY, address, declared.encode())
    wanted = _desired(topic, "topic", address, bucket, print_of, declared)
    if fate is Fate.CREATED:
        return None, wanted
    applied = declared
    if fate is Fate.CONFIG or fate is Fate.GROWN:
        applied = _topic_body(topic, _CONFIGS[variant], PARTITIONS)
        print_of = fingerprint_of_text(IDENTITY, address, applied.encode())
    configs = _CHANGED[variant] if fate is Fate.DRIFTED else _CONFIGS[variant]
    state = (
        "topic",
        address,
        topic.name,
        bucket,
        None if fate is Fate.DRIFTED else print_of,
        IDENTITY,
        topic.topic_id,
        True,
        False,
        False,
        PARTITIONS,
        False,
        applied,
        f'{{"assignment":{_ASSIGNMENTS[topic.place]},"configs":{configs},'
        f'"marked_for_deletion":false,"name":"{topic.name}","reassigning":false,'
        f'"topic_id":"{topic.topic_id}","usage":null}}',
    )
    return state, None if fate is Fate.DELETED else wanted


def _topic_body(topic: Topic, configs: str, partitions: int) -> str:
    return (
        f'{{"assignments":null,"configs":{configs},"configsPolicy":"Declared",'
        '"deleteRecordsBefore":{},"deletionPolicy":"Delete","deletionPolicyWritten":true,'
        f'"kind":"Topic","name":"{topic.name}","partitions":{partitions},'
        f'"replicationFactor":{REPLICAS}}}'
    )


def acl_address_of(topic: Topic, right: int) -> str:
    role, operation = RIGHTS[right]
    return f"acl/User:{topic.team}-{role}/Allow/{operation}/topic/literal/{topic.name}@*"


def acl_pair(topic: Topic, right: int, address: str, bucket: int) -> Pair:
    """The rows of one of the topic's ACLs, which comes and goes with it."""
    role, operation = RIGHTS[right]
    principal = f"User:{topic.team}-{role}"
    body = (
        '{"deletionPolicy":"Delete","deletionPolicyWritten":false,"host":"*","kind":"Acl",'
        f'"operation":"{operation}","permission":"Allow","principal":"{principal}",'
        f'"resource":{{"name":"{topic.name}","patternType":"literal","type":"topic"}}}}'
    )
    print_of = fingerprint_of_text(IDENTITY, address, body.encode())
    wanted = _desired(topic, "acl", address, bucket, print_of, body)
    if topic.fate is Fate.CREATED:
        return None, wanted
    state = (
        "acl",
        address,
        topic.name,
        bucket,
        print_of,
        IDENTITY,
        None,
        True,
        False,
        False,
        None,
        False,
        body,
        f'{{"host":"*","operation":"{operation}","pattern_type":"literal",'
        f'"permission_type":"Allow","principal":"{principal}","resource_name":"{topic.name}",'
        '"resource_type":"topic"}',
    )
    return state, None if topic.fate is Fate.DELETED else wanted


def _desired(topic: Topic, kind: str, address: str, bucket: int, print_of: bytes, body: str) -> Row:
    file = f"teams/{topic.team}/{kind}s.yaml"
    place = file, topic.line, 1
    labels = origins = None
    return kind, address, topic.name, bucket, print_of, False, body, *place, labels, origins
