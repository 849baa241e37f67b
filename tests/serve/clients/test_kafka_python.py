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
    cluster, topics, create = calls.of("cluster"), calls.of("topics"), admin.create_topics
    one = ["orders"]

    def parts() -> int:
        return len(admin.describe_topic_partitions(one)["topics"][0]["partitions"])

    def listed() -> list[str]:
        return [name for name in admin.list_topics() if not name.startswith("_")]

    def judged() -> bool:
        return bool(create([NewTopic("judged", 1, 1)], validate_only=True))

    cluster("describe: brokers", 3, lambda: len(admin.describe_cluster()["brokers"]))
    cluster("describe features", True, lambda: "metadata.version" in str(admin.describe_features()))
    cluster("describe the quorum", 1, lambda: len(admin.describe_metadata_quorum()["topics"]))
    cluster("describe log folders", 3, lambda: len(admin.describe_log_dirs()))
    topics("create", True, lambda: bool(create([orders])))
    topics("create: it exists", "TopicAlreadyExistsError", lambda: create([orders]))
    topics("create: too few brokers", "InvalidReplicationFactorError", lambda: create([large]))
    topics("create, judged only", True, judged)
    topics("list", one, listed)
    topics("create partitions", True, lambda: bool(admin.create_partitions({"orders": 5})))
    topics("describe", 5, lambda: len(admin.describe_topics(one)[0]["partitions"]))
    topics("describe its partitions", 5, parts)


def _configs(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType

    topic = ConfigResource(ConfigResourceType.TOPIC, "orders")
    broker = ConfigResource(ConfigResourceType.BROKER, "2")

    def described() -> str:
        return str(admin.describe_configs([topic])["topic"]["orders"]["retention.ms"]["value"])

    def alter(value: str, incremental: bool) -> object:
        change = ConfigResource(ConfigResourceType.TOPIC, "orders", {"retention.ms": value})
        return admin.alter_configs([change], incremental=incremental)["topic"]["orders"]

    def of_broker() -> bool:
        found = admin.describe_configs([broker], config_filter=ConfigFilterType.ALL)
        return len(found["broker"]["2"]) > 20

    configs = calls.of("configs")
    configs("describe", "7000", described)
    configs("alter", "OK", lambda: str(alter("9000", True)))
    configs("describe what was altered", "9000", described)
    configs("alter: wrong value", True, lambda: "InvalidConfig" in str(alter("soon", True)))
    configs("alter (AlterConfigs)", "OK", lambda: str(alter("8000", False)))
    configs("describe a broker", True, of_broker)
    configs("list config resources", True, lambda: bool(admin.list_config_resources()))


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
    acls = calls.of("ACLs")
    acls("create", 1, lambda: len(admin.create_acls([acl])["succeeded"]))
    acls("describe", [acl], lambda: admin.describe_acls(every)[0])
    acls("delete", 1, lambda: len(admin.delete_acls([every])[0][1]))
    acls("describe: none", [], lambda: admin.describe_acls(every)[0])


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
    users, moves, elect = calls.of("users"), calls.of("moves"), admin.elect_leaders
    described = admin.describe_user_scram_credentials
    users("alter SCRAM credentials", {"carol": None}, lambda: alter([change]))
    users("describe SCRAM credentials", True, lambda: "carol" in str(described()))
    users("remove SCRAM credentials", {"carol": None}, lambda: alter([remove]))
    move = admin.alter_partition_reassignments
    moves("alter reassignments", {first: None}, lambda: move({first: [3, 1]}))
    moves("list reassignments", {}, admin.list_partition_reassignments)
    moves("elect leaders", True, lambda: bool(elect(0, {"orders": [0]}, raise_errors=False)))


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

    records, transactions, groups = map(calls.of, ("records", "transactions", "groups"))
    records("produce", 0, lambda: produce(b"one", enable_idempotence=False))
    records("produce, idempotent", 1, lambda: produce(b"two"))
    producer = KafkaProducer(bootstrap_servers=addresses, transactional_id="kafka-python")
    transactions("begin", None, producer.init_transactions)
    for end, value in ((producer.abort_transaction, b"lost"), (producer.commit_transaction, b"3")):

        def transaction(end: Any = end, value: bytes = value) -> None:  # noqa: ANN401
            producer.begin_transaction()
            producer.send("data", value).get(PATIENCE_MS / 1000)
            end()

        transactions(end.__name__, None, transaction)
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

    def is_listed() -> bool:
        return "kafka-python" in str(admin.list_transactions())

    def offset_of_a_time() -> int:
        return int(admin.list_partition_offsets({first: 1})[first].offset)

    def first_left() -> int:
        return int(admin.delete_records({first: 1})[first]["low_watermark"])

    first, all_values = TopicPartition("data", 0), [b"one", b"two", b"3"]
    groups("consume in a group, what is committed", all_values, lambda: read("read_committed", 3))
    transactions("list", True, is_listed)
    records("offset of a time", 0, offset_of_a_time)
    records("delete", 1, first_left)


def _groups(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from kafka import OffsetAndMetadata, TopicPartition

    first = TopicPartition("data", 0)

    def state() -> str:
        return str(admin.describe_groups(["readers"])["readers"]["group_state"])

    def altered() -> str:
        committed = {first: OffsetAndMetadata(2, "", -1)}
        return admin.alter_group_offsets("readers", committed)[first].__name__

    def offset() -> int:
        return int(admin.list_group_offsets("readers")["readers"][first].offset)

    groups = calls.of("groups")
    groups("list", ["readers"], lambda: [group["group_id"] for group in admin.list_groups()])
    groups("describe", "Empty", state)
    groups("alter offsets", "NoError", altered)
    groups("list offsets", 2, offset)
    groups("delete", True, lambda: bool(admin.delete_groups(["readers"])))


def _end(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    delete, topics = admin.delete_topics, calls.of("topics")
    topics("delete", True, lambda: bool(delete(["orders"])))
    topics("delete: there is none", "UnknownTopicOrPartitionError", lambda: delete(["orders"]))
