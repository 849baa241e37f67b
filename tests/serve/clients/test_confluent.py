"""confluent-kafka, which is librdkafka: its administrative client, a producer, a consumer."""

import warnings
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from patience import eventually
from serve.clients.reports import Calls, check

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-python")]

PATIENCE_S = 20


def test_confluent(servers: str) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": servers, "socket.timeout.ms": 15_000})
    calls = Calls()
    _cluster_and_topics(calls, admin)
    _configs(calls, admin)
    _acls(calls, admin)
    _users(calls, admin)
    _groups(calls, admin)
    _data(calls, admin, servers)
    _end(calls, admin)
    check("confluent-kafka", calls.made)


def one(futures: Mapping[Any, Any]) -> Any:  # noqa: ANN401 (of the library)
    """The result of the only future."""
    (future,) = futures.values()
    return future.result(PATIENCE_S)


def code(ask: Any, *words: object) -> str:  # noqa: ANN401
    """The name of the error that a call ends with."""
    from confluent_kafka import KafkaException

    with pytest.raises(KafkaException) as caught:
        one(ask(*words))
    name: str = caught.value.args[0].name()
    return name


def _cluster_and_topics(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from confluent_kafka import TopicCollection
    from confluent_kafka.admin import NewPartitions, NewTopic

    orders = NewTopic("orders", 3, 2, config={"retention.ms": "7000"})
    large, judged = (NewTopic(*topic) for topic in (("large", 1, 9), ("judged", 1, 1)))
    create, more = admin.create_topics, [NewPartitions("orders", 5)]
    all_orders = TopicCollection(["orders"])

    def listed() -> list[str]:
        return [name for name in admin.list_topics(timeout=15).topics if name[0] != "_"]

    cluster, topics = calls.of("cluster"), calls.of("topics")
    cluster("describe: brokers", 3, lambda: len(admin.describe_cluster().result().nodes))
    topics("create", None, lambda: one(create([orders])))
    topics("create: it exists", "TOPIC_ALREADY_EXISTS", lambda: code(create, [orders]))
    topics("create: too few brokers", "INVALID_REPLICATION_FACTOR", lambda: code(create, [large]))
    topics("create, judged only", None, lambda: one(create([judged], validate_only=True)))
    topics("list", ["orders"], listed)
    topics("create partitions", None, lambda: one(admin.create_partitions(more)))
    topics("describe", 5, lambda: len(one(admin.describe_topics(all_orders)).partitions))


def _alter_whole(admin: Any, resource: object) -> object:  # noqa: ANN401
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return one(admin.alter_configs([resource]))


def _configs(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    topic = ConfigResource(ConfigResource.Type.TOPIC, "orders")
    broker = ConfigResource(ConfigResource.Type.BROKER, "2")
    whole = ConfigResource(ConfigResource.Type.TOPIC, "orders", set_config={"retention.ms": "1"})

    def change(value: str) -> list[ConfigResource]:
        entry = ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)
        return [ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry])]

    def described() -> str:
        return one(admin.describe_configs([topic]))["retention.ms"].value

    alter, configs = admin.incremental_alter_configs, calls.of("configs")
    configs("describe", "7000", described)
    configs("alter", None, lambda: one(alter(change("9000"))))
    configs("describe what was altered", "9000", described)
    configs("alter: wrong value", "INVALID_CONFIG", lambda: code(alter, change("soon")))
    configs("alter (AlterConfigs)", None, lambda: _alter_whole(admin, whole))
    configs("describe a broker", True, lambda: len(one(admin.describe_configs([broker]))) > 20)


def _acls(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    acl = AclBinding(
        ResourceType.TOPIC,
        "ord",
        ResourcePatternType.PREFIXED,
        "User:a",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    every = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    acls = calls.of("ACLs")
    acls("create", None, lambda: one(admin.create_acls([acl])))
    acls("describe", [acl], lambda: admin.describe_acls(every).result())
    acls("delete", [acl], lambda: one(admin.delete_acls([every])))
    acls("describe: none", [], lambda: admin.describe_acls(every).result())


def _users(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from confluent_kafka.admin import (
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )

    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion("carol", info, b"secret")
    remove = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)

    def iterations() -> int:
        found = admin.describe_user_scram_credentials().result()["carol"]
        return found.scram_credential_infos[0].iterations

    alter, users = admin.alter_user_scram_credentials, calls.of("users")
    users("alter SCRAM credentials", None, lambda: one(alter([change])))
    users("describe SCRAM credentials", 4096, iterations)
    users("remove SCRAM credentials", None, lambda: one(alter([remove])))


def _groups(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    from confluent_kafka import ConsumerGroupTopicPartitions, ElectionType, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    first = TopicPartition("orders", 0, 0)
    offsets = ConsumerGroupTopicPartitions("billing", [first])

    def listed() -> list[str]:
        return [group.group_id for group in admin.list_consumer_groups().result().valid]

    def committed() -> int:
        asked = [ConsumerGroupTopicPartitions("billing")]
        return one(admin.list_consumer_group_offsets(asked)).topic_partitions[0].offset

    def elected() -> int:
        asked = [TopicPartition("orders", 0)]
        return len(admin.elect_leaders(ElectionType.PREFERRED, asked).result())

    groups, records, moves = map(calls.of, ("groups", "records", "moves"))
    alter, describe = admin.alter_consumer_group_offsets, admin.describe_consumer_groups
    groups("alter offsets", "billing", lambda: one(alter([offsets])).group_id)
    groups("list", ["billing"], listed)
    groups("describe", "EMPTY", lambda: one(describe(["billing"])).state.name)
    groups("list offsets", 0, committed)
    latest = {first: OffsetSpec.latest()}
    records("list offsets", 0, lambda: one(admin.list_offsets(latest)).offset)
    records("delete", 0, lambda: one(admin.delete_records([first])).low_watermark)
    groups("delete", None, lambda: one(admin.delete_consumer_groups(["billing"])))
    moves("elect leaders", 1, elected)


def _data(calls: Calls, admin: Any, servers: str) -> None:  # noqa: ANN401
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    one(admin.create_topics([NewTopic("data", 2, 1)]))
    settings = {"bootstrap.servers": servers, "message.timeout.ms": PATIENCE_S * 1000}

    def produce(idempotent: bool, value: str) -> int:
        offsets: list[int] = []
        producer = Producer({**settings, "enable.idempotence": idempotent})
        producer.produce(
            "data",
            partition=0,
            value=value,
            on_delivery=lambda error, message: offsets.append(error or message.offset()),
        )
        producer.flush(PATIENCE_S)
        return offsets[0]

    records, transactions, groups = map(calls.of, ("records", "transactions", "groups"))
    records("produce", 0, lambda: produce(False, "one"))
    records("produce, idempotent", 1, lambda: produce(True, "two"))
    careful = Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
    transactions("begin", None, lambda: careful.init_transactions(PATIENCE_S))
    for end, value in (
        (careful.abort_transaction, "aborted"),
        (careful.commit_transaction, "three"),
    ):

        def transaction(end: Any = end, value: str = value) -> None:  # noqa: ANN401
            careful.begin_transaction()
            careful.produce("data", partition=0, value=value)
            careful.flush(PATIENCE_S)
            end(PATIENCE_S)

        transactions(end.__name__, None, transaction)
    for level, expected in (
        ("read_committed", ["one", "two", "three"]),
        ("read_uncommitted", ["one", "two", "aborted", "three"]),
    ):
        transactions(level, expected, partial(_read, servers, level, len(expected)))
    groups("two members share the partitions", (1, 1), lambda: _shared(servers))
    groups("what was committed", 3, lambda: _committed(servers))


def _consumer(servers: str, group: str, **more: object) -> Any:  # noqa: ANN401
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{key.replace("_", "."): value for key, value in more.items()},
        }
    )


def _read(servers: str, level: str, count: int) -> list[str]:
    consumer = _consumer(servers, level, isolation_level=level)
    consumer.subscribe(["data"])
    values: list[str] = []

    def read() -> list[str]:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            values.append(message.value().decode())
        return values

    with closing(consumer):
        return eventually(read, lambda found: len(found) >= count, what=f"{count} records")


def _shared(servers: str) -> tuple[int, ...]:
    members = [_consumer(servers, "shared") for _ in range(2)]
    for member in members:
        member.subscribe(["data"])

    def assigned() -> tuple[int, ...]:
        for member in members:
            member.poll(0.1)
        return tuple(len(member.assignment()) for member in members)

    with closing(members[0]), closing(members[1]):
        return eventually(assigned, lambda counts: counts == (1, 1), what="a partition for each")


def _committed(servers: str) -> int:
    """What another member finds committed."""
    from confluent_kafka import TopicPartition

    consumer = _consumer(servers, "billed")
    consumer.commit(offsets=[TopicPartition("data", 1, 3)], asynchronous=False)
    consumer.close()
    asked = [TopicPartition("data", 1)]
    return _consumer(servers, "billed").committed(asked, PATIENCE_S)[0].offset


def _end(calls: Calls, admin: Any) -> None:  # noqa: ANN401
    delete, topics = admin.delete_topics, calls.of("topics")
    topics("delete", None, lambda: one(delete(["orders"])))
    topics("delete: there is none", "UNKNOWN_TOPIC_OR_PART", lambda: code(delete, ["orders"]))
