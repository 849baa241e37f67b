"""Random requests about groups, their offsets, and transactions."""

from serve.differential.random_choices import Choices, Coordinator, Fields, Step


def offset_commit(choices: Choices) -> Step:
    """Offsets of a group without members."""
    group = choices.group()

    def topic() -> Fields:
        rows = [
            {
                "partition_index": index,
                "committed_offset": choices.often(5, 0, -1),
                "committed_leader_epoch": -1,
                "committed_metadata": choices.often("", None, "m" * 5000),
            }
            for index in choices.partitions()
        ]
        return {"name": choices.topic(), "partitions": rows}

    fields = {
        "group_id": group,
        "generation_id_or_member_epoch": choices.often(-1, 3),
        "member_id": choices.often("", "ghost"),
        "topics": choices.some(topic, most=2),
    }
    return Step(
        "OffsetCommit",
        fields,
        writes=True,
        version=choices.often(9, 2, 7),
        coordinator=Coordinator(group),
    )


def offset_fetch(choices: Choices) -> Step:
    """Offsets of a group, by partition or all."""
    group = choices.group()

    def topic() -> Fields:
        return {"name": choices.topic(), "partition_indexes": list(choices.partitions())}

    topics = choices.often(choices.some(topic, most=2), None)
    if choices.rarely():
        fields: Fields = {"group_id": group, "topics": topics}
        return Step(
            "OffsetFetch",
            fields,
            writes=False,
            version=choices.one(5, 6),
            coordinator=Coordinator(group),
        )
    row = {"group_id": group, "topics": topics, "member_epoch": -1, "member_id": None}
    return Step(
        "OffsetFetch", {"groups": [row]}, writes=False, version=9, coordinator=Coordinator(group)
    )


def offset_delete(choices: Choices) -> Step:
    """Some partitions' offsets."""
    group = choices.group()

    def topic() -> Fields:
        rows = [{"partition_index": index} for index in choices.partitions()]
        return {"name": choices.topic(), "partitions": rows}

    fields = {"group_id": group, "topics": choices.some(topic, most=2)}
    return Step("OffsetDelete", fields, writes=True, coordinator=Coordinator(group))


def delete_groups(choices: Choices) -> Step:
    """A group, or none of that name."""
    group = choices.group()
    return Step(
        "DeleteGroups", {"groups_names": [group]}, writes=True, coordinator=Coordinator(group)
    )


def describe_groups(choices: Choices) -> Step:
    """A group that has offsets and no members."""
    group = choices.group()
    fields = {"groups": [group], "include_authorized_operations": choices.one(True, False)}
    return Step(
        "DescribeGroups",
        fields,
        writes=False,
        version=choices.often(6, 3, 5),
        coordinator=Coordinator(group),
    )


def describe_consumer_groups(choices: Choices) -> Step:
    """A group that is none of KIP-848's."""
    group = choices.group()
    return Step(
        "ConsumerGroupDescribe",
        {"group_ids": [group]},
        writes=False,
        coordinator=Coordinator(group),
    )


def describe_transactions(choices: Choices) -> Step:
    """Transactional ids that nobody uses."""
    asked = choices.often(choices.prefix + "absent", "")
    fields = {"transactional_ids": [asked]}
    coordinator = Coordinator(asked or "any", key_type=1)
    return Step("DescribeTransactions", fields, writes=False, coordinator=coordinator)


def list_transactions(choices: Choices) -> Step:
    """By a filter that nothing matches."""
    fields = {
        "state_filters": choices.often(["Ongoing"], ["NoSuchState"], []),
        "producer_id_filters": [987_654_321],
        "transactional_id_pattern": choices.often(None, "x.*", "["),
    }
    return Step("ListTransactions", fields, writes=False)


READS = (
    offset_fetch,
    offset_fetch,
    describe_groups,
    describe_consumer_groups,
    describe_transactions,
    list_transactions,
)
WRITES = (offset_commit, offset_commit, offset_delete, delete_groups)
