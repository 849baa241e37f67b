"""kafka-python: its administrative client, a producer, a consumer."""

from typing import Any

import pytest
from serve.clients.reports import Calls, check

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-python")]

PATIENCE_MS = 20_000


def test_kafka_python(servers: str) -> None:
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=servers.split(","))
    calls = Calls()
    _cluster_and_topics(calls, admin)
    _configs(calls, admin)
    _acls(calls, admin)
    _users_and_moves(calls, admin)
    _data(calls, admin, servers)
    _groups(calls, admin)
    _end(calls, admin)
    admin.close()
    check("kafka-python", calls.made)


def _cluster_and_topics(calls: Calls, admin: Any) -> None:  # noqa: ANN401 (of the library)
    from kafka.admin import NewTopic

    orders = NewTopic("orders", 3, 2, topic_configs={"retention.ms": "7000"})
    large = NewTopic("large", 1, 9)
    calls.call("cluster", "describe: brokers", 3, lambda: len(admin.describe_cluster()["brokers"]))
    calls.call(
        "cluster",
        "describe features",
        True,
        lambda: "metadata.version" in str(admin.describe_features()),
    )
    calls.call(
        "cluster",
        "describe the quorum",
        True,
        lambda: len(admin.describe_metadata_quorum()["topics"]) == 1,
    )
    calls.call("cluster", "describe log folders", 3, lambda: len(admin.describe_log_dirs()))
    calls.call("topics", "create", True, lambda: bool(admin.create_topics([orders])))
    calls.call(
        "topics",
        "create: it exists",
        "TopicAlreadyExistsError",
        lambda: admin.create_topics([orders]),
    )
    calls.call(
        "topics",
        "create: too few brokers",
        "InvalidReplicationFactorError",
        lambda: admin.create_topics([large]),
    )
    calls.call(
        "topics",
        "create, judged only",
        True,
        lambda: bool(admin.create_topics([NewTopic("judged", 1, 1)], validate_only=True)),
    )
    calls.call(
        "topics",
        "list",
        ["orders"],
        lambda: [name for name in admin.list_topics() if not name.startswith("_")],
    )
    calls.call(
        "topics", "create partitions", True, lambda: bool(admin.create_partitions({"orders": 5}))
    )
    calls.call(
        "topics", "describe", 5, lambda: len(admin.describe_topics(["orders"])[0]["partitions"])
    )
    calls.call(
        "topics",
        "describe its partitions",
        5,
        lambda: len(admin.describe_topic_partitions(["orders"])["topics"][0]["partitions"]),
    )


def _configs(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType

    topic = ConfigResource(ConfigResourceType.TOPIC, "orders")
    broker = ConfigResource(ConfigResourceType.BROKER, "2")

    def described() -> str:
        return str(admin.describe_configs([topic])["topic"]["orders"]["retention.ms"]["value"])

    def alter(value: str, incremental: bool) -> object:
        change = ConfigResource(ConfigResourceType.TOPIC, "orders", {"retention.ms": value})
        return admin.alter_configs([change], incremental=incremental)["topic"]["orders"]

    calls.call("configs", "describe", "7000", described)
    calls.call("configs", "alter", "OK", lambda: str(alter("9000", True)))
    calls.call("configs", "describe what was altered", "9000", described)
    calls.call(
        "configs", "alter: wrong value", True, lambda: "InvalidConfig" in str(alter("soon", True))
    )
    calls.call("configs", "alter (AlterConfigs)", "OK", lambda: str(alter("8000", False)))
    calls.call(
        "configs",
        "describe a broker",
        True,
        lambda: (
            len(admin.describe_configs([broker], config_filter=ConfigFilterType.ALL)["broker"]["2"])
            > 20
        ),
    )
    calls.call(
        "configs", "list config resources", True, lambda: bool(admin.list_config_resources())
    )


def _acls(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
    )

    pattern = ResourcePattern(ResourceType.TOPIC, "ord", ACLResourcePatternType.PREFIXED)
    acl = ACL("User:a", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)
    every = ACLFilter(
        None,
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
    )
    calls.call("ACLs", "create", 1, lambda: len(admin.create_acls([acl])["succeeded"]))
    calls.call("ACLs", "describe", [acl], lambda: admin.describe_acls(every)[0])
    calls.call("ACLs", "delete", 1, lambda: len(admin.delete_acls([every])[0][1]))
    calls.call("ACLs", "describe: none", [], lambda: admin.describe_acls(every)[0])


def _users_and_moves(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka import TopicPartition
    from kafka.admin import (
        ScramMechanism,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )

    first = TopicPartition("orders", 0)
    change = UserScramCredentialUpsertion("carol", ScramMechanism.SCRAM_SHA_256, "secret")
    remove = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)
    alter = admin.alter_user_scram_credentials
    calls.call("users", "alter SCRAM credentials", {"carol": None}, lambda: alter([change]))
    calls.call(
        "users",
        "describe SCRAM credentials",
        True,
        lambda: "carol" in str(admin.describe_user_scram_credentials()),
    )
    calls.call("users", "remove SCRAM credentials", {"carol": None}, lambda: alter([remove]))
    calls.call(
        "moves",
        "alter reassignments",
        {first: None},
        lambda: admin.alter_partition_reassignments({first: [3, 1]}),
    )
    calls.call("moves", "list reassignments", {}, admin.list_partition_reassignments)
    calls.call(
        "moves",
        "elect leaders",
        True,
        lambda: bool(admin.elect_leaders(0, {"orders": [0]}, raise_errors=False)),
    )


def _data(calls: Calls, admin: Any, servers: str) -> None:  # noqa: ANN401
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic

    addresses = servers.split(",")
    admin.create_topics([NewTopic("data", 1, 1)])

    def produce(value: bytes, **settings: object) -> int:
        producer = KafkaProducer(bootstrap_servers=addresses, **settings)
        try:
            return int(producer.send("data", value).get(PATIENCE_MS / 1000).offset)
        finally:
            producer.close()

    calls.call("records", "produce", 0, lambda: produce(b"one", enable_idempotence=False))
    calls.call("records", "produce, idempotent", 1, lambda: produce(b"two"))

    producer = KafkaProducer(bootstrap_servers=addresses, transactional_id="kafka-python")
    calls.call("transactions", "begin", None, producer.init_transactions)
    for end, value in ((producer.abort_transaction, b"lost"), (producer.commit_transaction, b"3")):

        def transaction(end: Any = end, value: bytes = value) -> None:  # noqa: ANN401
            producer.begin_transaction()
            producer.send("data", value).get(PATIENCE_MS / 1000)
            end()

        calls.call("transactions", end.__name__, None, transaction)
    producer.close()

    def read(level: str, count: int) -> list[bytes]:
        consumer = KafkaConsumer(
            "data",
            bootstrap_servers=addresses,
            group_id="readers",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level=level,
            consumer_timeout_ms=PATIENCE_MS,
        )
        try:
            found = [next(consumer).value for _ in range(count)]
            consumer.commit()
            return found
        finally:
            consumer.close()

    calls.call(
        "groups",
        "consume in a group, what is committed",
        [b"one", b"two", b"3"],
        lambda: read("read_committed", 3),
    )
    calls.call(
        "transactions", "list", True, lambda: "kafka-python" in str(admin.list_transactions())
    )
    calls.call(
        "records",
        "offset of a time",
        0,
        lambda: (
            admin.list_partition_offsets({TopicPartition("data", 0): 1})[
                TopicPartition("data", 0)
            ].offset
        ),
    )
    calls.call(
        "records",
        "delete",
        1,
        lambda: admin.delete_records({TopicPartition("data", 0): 1})[TopicPartition("data", 0)][
            "low_watermark"
        ],
    )


def _groups(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka import OffsetAndMetadata, TopicPartition

    first = TopicPartition("data", 0)
    calls.call(
        "groups", "list", ["readers"], lambda: [group["group_id"] for group in admin.list_groups()]
    )
    calls.call(
        "groups",
        "describe",
        "Empty",
        lambda: admin.describe_groups(["readers"])["readers"]["group_state"],
    )
    calls.call(
        "groups",
        "alter offsets",
        "NoError",
        lambda: (
            admin.alter_group_offsets("readers", {first: OffsetAndMetadata(2, "", -1)})[
                first
            ].__name__
        ),
    )
    calls.call(
        "groups",
        "list offsets",
        2,
        lambda: admin.list_group_offsets("readers")["readers"][first].offset,
    )
    calls.call("groups", "delete", True, lambda: bool(admin.delete_groups(["readers"])))


def _end(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    calls.call("topics", "delete", True, lambda: bool(admin.delete_topics(["orders"])))
    calls.call(
        "topics",
        "delete: there is none",
        "UnknownTopicOrPartitionError",
        lambda: admin.delete_topics(["orders"]),
    )
