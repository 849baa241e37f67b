"""Random requests that make, change, delete and read topics."""

from serve.differential.random_choices import Choices, Fields, Step

CONFIGS = (
    ("retention.ms", "60000"),
    ("retention.ms", "-1"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("segment.bytes", "1048576"),
    ("max.message.bytes", "2000"),
    ("min.insync.replicas", "1"),
    ("compression.type", "gzip"),
    ("retention.ms", "soon"),
    ("retention.ms", "-2"),
    ("retention.ms", None),
    ("no.such.config", "1"),
    ("cleanup.policy", ""),
    ("segment.bytes", "1"),
    ("min.insync.replicas", "0"),
    ("", "1"),
)
GOOD_CONFIGS = CONFIGS[:8]


def create_topics(choices: Choices) -> Step:
    """Some topics, placed by hand or by the cluster."""
    topics = choices.some(lambda: _new_topic(choices))
    if choices.rarely():
        by_hand = {
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": [1, 2]}],
        }
        topics = [{**by_hand, "name": choices.prefix + name} for name in ("e.f", "e_f")]
    fields = {
        "topics": topics,
        "timeout_ms": 30_000,
        "validate_only": choices.rarely(),
    }
    return Step("CreateTopics", fields, writes=True, version=choices.often(7, 2, 4, 5, 6))


def _new_topic(choices: Choices) -> Fields:
    assignments = choices.often(
        [[1, 2]], [], [[1, 2], [2, 3]], [[1, 1]], [[9]], [[1], [2, 3]], [[]]
    )
    first = choices.often(0, 0, 1)
    rows = [
        {"partition_index": first + index, "broker_ids": brokers}
        for index, brokers in enumerate(assignments)
    ]
    if len(rows) > 1 and choices.rarely():
        rows[1] = {**rows[1], "partition_index": rows[0]["partition_index"]}
    placed_by_hand = bool(rows) and not choices.rarely()
    names = [choices.one(*GOOD_CONFIGS) if not choices.rarely() else choices.one(*CONFIGS)]
    return {
        # Where a cluster places replicas itself, two clusters place them differently.
        "name": choices.topic() if placed_by_hand else choices.prefix + "placed",
        "num_partitions": -1 if placed_by_hand else choices.often(2, 1, 0, -2),
        "replication_factor": -1 if placed_by_hand else choices.often(3, 1, 0, 4, -2),
        "assignments": rows,
        "configs": [{"name": name, "value": value} for name, value in names],
    }


def create_partitions(choices: Choices) -> Step:
    """More partitions, or as many, or fewer."""

    def row() -> Fields:
        count = choices.often(choices.one(2, 3), 1, 0, -1)
        given = choices.one(None, None, [[1, 2]], [[1, 2], [2, 3]], [[9, 1]], [[1, 1]], [[]])
        assignments = None if given is None else [{"broker_ids": brokers} for brokers in given]
        name = choices.topic() if assignments else choices.prefix + "placed"
        return {"name": name, "count": count, "assignments": assignments}

    fields = {
        "topics": choices.some(row, most=2),
        "timeout_ms": 30_000,
        "validate_only": choices.rarely(),
    }
    return Step("CreatePartitions", fields, writes=True, version=choices.often(3, 0, 1, 2))


def delete_topics(choices: Choices) -> Step:
    """Some topics by name or by id."""
    if choices.rarely():
        fields = {"topic_names": choices.some(choices.topic), "timeout_ms": 30_000}
        return Step("DeleteTopics", fields, writes=True, version=choices.one(1, 3, 5))

    def row() -> Fields:
        if choices.random.random() < 0.5:
            return {"name": choices.topic()}
        return {"name": None, "topic_id": f"id of {choices.existing_name()}"}

    fields = {"topics": choices.some(row), "timeout_ms": 30_000}
    return Step("DeleteTopics", fields, writes=True)


def delete_records(choices: Choices) -> Step:
    """Up to an offset that an empty log has, or not."""

    def row() -> Fields:
        offsets = [
            {"partition_index": index, "offset": choices.often(0, -1, 5, -2)}
            for index in choices.partitions()
        ]
        return {"name": choices.existing_name(), "partitions": offsets}

    fields = {"topics": choices.some(row), "timeout_ms": 30_000}
    return Step("DeleteRecords", fields, writes=True)


def metadata(choices: Choices) -> Step:
    """About the program's topics by name or by id."""
    by_id = choices.rarely()

    def row() -> Fields:
        if by_id:
            return {"name": None, "topic_id": f"id of {choices.existing_name()}"}
        return {"name": choices.topic()}

    fields = {
        "topics": choices.some(row) or [{"name": choices.topic()}],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": choices.one(True, False),
    }
    return Step("Metadata", fields, writes=False, version=13 if by_id else choices.often(13, 8, 10))


def describe_topic_partitions(choices: Choices) -> Step:
    """A page of the program's topics."""
    fields = {
        "topics": [{"name": choices.topic()} for _ in range(choices.one(1, 2, 3))],
        "response_partition_limit": choices.often(100, 1, 2),
    }
    if choices.rarely():
        fields["cursor"] = {
            "topic_name": choices.existing_name(),
            "partition_index": choices.one(0, 1, -1),
        }
    return Step("DescribeTopicPartitions", fields, writes=False)


def list_offsets(choices: Choices) -> Step:
    """Of an empty log: the first, the last, by time."""

    def row() -> Fields:
        asked = [
            {
                "partition_index": index,
                "timestamp": choices.often(choices.one(-1, -2, -3), 0, 1_000, -4, -5),
                "current_leader_epoch": -1,
            }
            for index in choices.partitions()
        ]
        return {"name": choices.existing_name(), "partitions": asked}

    fields = {"replica_id": -1, "topics": choices.some(row), "timeout_ms": 30_000}
    return Step("ListOffsets", fields, writes=False, version=choices.often(10, 1, 5, 8))


def describe_log_dirs(choices: Choices) -> Step:
    """The program's topics on one broker."""
    rows = [
        {"topic": choices.existing_name(), "partitions": list(choices.partitions())}
        for _ in range(choices.one(1, 2))
    ]
    return Step("DescribeLogDirs", {"topics": rows}, writes=False, version=choices.often(4, 1, 3))


def offset_for_leader_epoch(choices: Choices) -> Step:
    """The end of an empty log, for an epoch that it has or will have."""

    def row() -> Fields:
        asked = [
            {
                "partition": index,
                "current_leader_epoch": choices.often(-1, 99),
                "leader_epoch": choices.often(99, -1),
            }
            for index in choices.partitions()
        ]
        return {"topic": choices.existing_name(), "partitions": asked}

    fields = {"replica_id": -1, "topics": choices.some(row)}
    return Step("OffsetForLeaderEpoch", fields, writes=False)


def describe_producers(choices: Choices) -> Step:
    """Partitions to which nobody writes."""

    def row() -> Fields:
        return {"name": choices.topic(), "partition_indexes": list(choices.partitions())}

    return Step("DescribeProducers", {"topics": choices.some(row)}, writes=False)


READS = (
    metadata,
    metadata,
    describe_topic_partitions,
    list_offsets,
    describe_log_dirs,
    describe_producers,
    offset_for_leader_epoch,
)
WRITES = (
    create_topics,
    create_topics,
    create_topics,
    create_partitions,
    delete_topics,
    delete_records,
)
