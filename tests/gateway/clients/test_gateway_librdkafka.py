"""librdkafka (confluent-kafka) in a virtual cluster, by local names."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from typing import Any

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.matrix import check
from gateway.clients.member import Member, member
from gateway.clients.tenants import IN_PARTITIONS, OUT_PARTITIONS, Tenant
from patience import eventually
from serve.clients.reports import Calls

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

CLIENT = "librdkafka"
PATIENCE_S = 60
ALL = IN_PARTITIONS + OUT_PARTITIONS
RANGE, COOPERATIVE = (
    {"partition_assignment_strategy": name} for name in ("range,roundrobin", "cooperative-sticky")
)
KIP_848 = {"group_protocol": "consumer"}


def test_librdkafka(entrance: Entrance, tenants: Mapping[str, Tenant]) -> None:
    client = Librdkafka(member(entrance, tenants, CLIENT))
    for part in (
        client.topics,
        client.records,
        client.transactions,
        client.members,
        client.static_members,
        client.groups,
        *([client.refusals] if entrance.is_gateway else []),
        client.migration,
    ):
        part()
    check(CLIENT, client.calls.made, entrance)


def one(futures: Mapping[Any, Any]) -> Any:  # noqa: ANN401 (of the library)
    """The result of the only future."""
    (future,) = futures.values()
    return future.result(PATIENCE_S)


def code(body: Callable[[], object]) -> object:
    """The name of the error that a call ends with, and what it says."""
    from confluent_kafka import KafkaException

    try:
        return body()
    except KafkaException as error:
        return error.args[0].name()


def shares(count: int) -> Callable[[list[int]], bool]:
    """All have some of so many partitions."""
    return lambda found: sum(found) == count and min(found) > 0


def settle(
    members: Iterable[Any], done: Callable[[list[int]], bool], values: list[str] | None = None
) -> list[int]:
    """Poll in turn until the numbers of their partitions are right; what they read is added."""

    def polled() -> list[int]:
        for each in members:
            _poll(each, [] if values is None else values)
        return [len(each.assignment()) for each in members]

    return eventually(polled, done, what="the partitions are shared")


def read(consumer: Any, count: int, values: list[str]) -> list[str]:  # noqa: ANN401
    """Poll until there are at least so many values, which are added."""

    def polled() -> list[str]:
        _poll(consumer, values)
        return values

    return eventually(polled, lambda found: len(found) >= count, what=f"{count} values")


class Librdkafka:
    """All that librdkafka can do for a member, a part after the other."""

    def __init__(self, member: Member) -> None:
        from confluent_kafka.admin import AdminClient

        self._member = member
        self._configs = member.librdkafka()
        self._admin = AdminClient(self._configs)
        self.calls = Calls()
        self._call = self.calls.call

    def topics(self) -> None:
        """Listed and described."""
        from confluent_kafka import TopicCollection
        from confluent_kafka.admin import ConfigResource

        into, out = self._member.into, self._member.out
        self._call(
            "list topics",
            "all of them",
            set(),
            lambda: set(self._member.topics) ^ set(self._admin.list_topics(timeout=20).topics),
        )
        self._call(
            "describe topics",
            "metadata",
            OUT_PARTITIONS,
            lambda: len(self._admin.list_topics(out, timeout=20).topics[out].partitions),
        )

        def described() -> tuple[object, ...]:
            found = one(self._admin.describe_topics(TopicCollection([into])))
            return found.name, len(found.partitions), all(p.leader.port for p in found.partitions)

        self._call("describe topics", "describe", (into, IN_PARTITIONS, True), described)
        resource = ConfigResource(ConfigResource.Type.TOPIC, out)

        def configured() -> tuple[object, ...]:
            ((asked, future),) = self._admin.describe_configs([resource]).items()
            return asked.name, future.result(PATIENCE_S)["min.insync.replicas"].value

        self._call("describe configs", "of a topic", (out, "1"), configured)

    def _produce(self, topic: str, *values: str, **more: object) -> object:
        """Write values to partition 0; the offset of the last, or the error."""
        from confluent_kafka import Producer

        offsets: list[object] = []

        def told(error: Any, message: Any) -> None:  # noqa: ANN401
            offsets.append(error.name() if error else message.offset())

        given = {key.replace("_", "."): value for key, value in more.items()}
        # Without the last a topic that is not there is asked for again for thirty seconds.
        short = {"message.timeout.ms": PATIENCE_S * 1000, "topic.metadata.propagation.max.ms": 0}
        producer = Producer({**self._configs, **short, **given})
        for value in values:
            producer.produce(topic, value, partition=0, on_delivery=told)
        assert producer.flush(PATIENCE_S) == 0
        return offsets[-1]

    def records(self) -> None:
        """Produced in each way, and read."""
        from confluent_kafka import TopicPartition

        into = self._member.into
        self._call("produce", "acks=all", 1, lambda: self._produce(into, "a", "b"))
        self._call(
            "produce, idempotent",
            "one",
            2,
            lambda: self._produce(into, "c", enable_idempotence=True),
        )
        self._call("produce, acks=0", "one", None, lambda: self._produce(into, "d", acks="0"))
        self._call(
            "produce, acks=0",
            "all are there",
            ["a", "b", "c", "d"],
            lambda: self._read("acks", [into], 4),
        )

        def watermarks() -> object:
            with closing(self._consumer("watermarks")) as consumer:
                return consumer.get_watermark_offsets(TopicPartition(into, 0), PATIENCE_S)

        self._call("offsets of a topic", "watermarks", (0, 4), watermarks)

    def _consumer(self, group: str, **more: object) -> Any:  # noqa: ANN401
        from confluent_kafka import Consumer

        return Consumer(
            {
                **self._configs,
                "group.id": f"{self._member.prefix}{group}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 2000,
                **{key.replace("_", "."): value for key, value in more.items()},
            }
        )

    def _read(self, group: str, topics: list[str], count: int, **more: object) -> list[str]:
        """So many values in these topics, sorted; commits what was read."""
        with closing(self._consumer(group, **more)) as consumer:
            consumer.subscribe(topics)
            values = read(consumer, count, [])
            consumer.commit(asynchronous=False)
        return sorted(values)

    def transactions(self) -> None:
        """Aborted, committed, and with the offsets of what was read."""
        from confluent_kafka import Producer

        out = self._member.out
        producer = Producer({**self._configs, "transactional.id": f"{self._member.prefix}tx"})
        self._call("transaction", "begin", None, lambda: producer.init_transactions(PATIENCE_S))

        def write(value: str, end: Callable[[float], None]) -> None:
            producer.begin_transaction()
            producer.produce(out, value, partition=0)
            assert producer.flush(PATIENCE_S) == 0
            end(PATIENCE_S)

        self._call("transaction", "abort", None, lambda: write("no", producer.abort_transaction))
        self._call("transaction", "commit", None, lambda: write("yes", producer.commit_transaction))
        self._call(
            "consume, transform, produce",
            "records",
            ["a", "b", "c", "d"],
            lambda: self._transform(producer),
        )
        self._call(
            "consume, transform, produce", "offsets", 4, lambda: self._committed("transform")
        )
        self._call(
            "read committed",
            "records",
            ["A", "B", "C", "D", "yes"],
            lambda: self._read("committed", [out], 5, isolation_level="read_committed"),
        )

    def _transform(self, producer: Any) -> object:  # noqa: ANN401
        with closing(self._consumer("transform")) as consumer:
            consumer.subscribe([self._member.into])
            values = read(consumer, 4, [])
            producer.begin_transaction()
            for value in values:
                producer.produce(self._member.out, value.upper(), partition=1)
            offsets = consumer.position(consumer.assignment())
            group = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(offsets, group, PATIENCE_S)
            producer.commit_transaction(PATIENCE_S)
        return values

    def _committed(self, group: str) -> object:
        from confluent_kafka import TopicPartition

        with closing(self._consumer(group)) as consumer:
            (found,) = consumer.committed([TopicPartition(self._member.into, 0)], PATIENCE_S)
            return found.offset

    def members(self) -> None:
        """Groups of two members by both protocols, by names and by regular expression."""
        names, regex = [self._member.into, self._member.out], [self._member.pattern]
        for scenario, topics, more in (
            ("range group", names, RANGE),
            ("cooperative group", names, COOPERATIVE),
            ("classic group by regex", regex, RANGE),
            ("KIP-848 group", names, KIP_848),
            ("KIP-848 group by regex", regex, KIP_848),
        ):
            group = scenario.replace(" ", "-").lower()
            self._call(
                scenario,
                "one has all, then shares, then has all again",
                (ALL, True, 2, set(names), ALL),
                lambda g=group, t=topics, m=more: self._shared(g, t, m),
            )
            self._call(
                scenario,
                "reads",
                ["a", "b", "c", "d"],
                lambda g=group, t=topics, m=more: self._read(f"{g}-r", t, 9, **m)[-5:-1],
            )

    def _shared(self, group: str, topics: list[str], more: Mapping[str, Any]) -> object:
        """How many partitions the first member has alone; with a second; after that has left.

        And what a description of the group says about both.
        """
        with ExitStack() as stack:
            first = stack.enter_context(closing(self._consumer(group, **more)))
            first.subscribe(topics)
            alone = settle([first], lambda found: found == [ALL])
            with closing(self._consumer(group, **more)) as second:
                second.subscribe(topics)
                both = settle([first, second], shares(ALL))
                found = one(self._admin.describe_consumer_groups([f"{self._member.prefix}{group}"]))
                names = {p.topic for m in found.members for p in m.assignment.topic_partitions}
            after = settle([first], lambda found: found == [ALL])
            return alone[0], min(both) > 0, len(found.members), names, after[0]

    def static_members(self) -> None:
        """One that comes back under its name has its partitions again."""

        def owned(protocol: str) -> list[int]:
            more = {"group_protocol": protocol, "group_instance_id": "one"}
            with closing(self._consumer(f"static-{protocol}", **more)) as member:
                member.subscribe([self._member.into])

                def assigned() -> list[int]:
                    member.poll(0.1)
                    return sorted(part.partition for part in member.assignment())

                return eventually(assigned, what="the member has partitions")

        for protocol in ("classic", "consumer"):
            for turn in ("comes", "comes back"):
                self._call(
                    "static member",
                    f"{protocol}: {turn}",
                    list(range(IN_PARTITIONS)),
                    lambda p=protocol: owned(p),
                )

    def groups(self) -> None:
        """Listed and described, their offsets, and deleted."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        group, into = f"{self._member.prefix}told", self._member.into
        self._read("told", [into], 4)

        def listed() -> set[str]:
            return {found.group_id for found in self._admin.list_consumer_groups().result().valid}

        def offset() -> object:
            asked = ConsumerGroupTopicPartitions(group)
            found = one(self._admin.list_consumer_group_offsets([asked]))
            return {(p.topic, p.partition): p.offset for p in found.topic_partitions}[into, 0]

        change = ConsumerGroupTopicPartitions(group, [TopicPartition(into, 0, 2)])

        def altered() -> tuple[object, ...]:
            found = one(self._admin.alter_consumer_group_offsets([change]))
            return found.group_id, found.topic_partitions[0].topic

        def described() -> tuple[object, ...]:
            found = one(self._admin.describe_consumer_groups([group]))
            return found.group_id, found.state.name

        self._call("list groups", "has ours", True, lambda: group in listed())
        self._call("describe group", "without members", (group, "EMPTY"), described)
        self._call("offsets of a group", "list", 4, offset)
        self._call("offsets of a group", "alter", (group, into), altered)
        self._call("offsets of a group", "list what was altered", 2, offset)
        self._call(
            "delete group", "ours", None, lambda: one(self._admin.delete_consumer_groups([group]))
        )
        self._call("delete group", "it is gone", False, lambda: group in listed())

    def migration(self) -> None:
        """A group goes from the classic protocol to KIP-848, a member after the other."""
        into = self._member.into

        def migrate() -> object:
            before: list[str] = []
            after: list[str] = []
            with ExitStack() as stack:
                with closing(self._consumer("migrating", **RANGE)) as old:
                    old.subscribe([into])
                    read(old, 4, before)
                    old.commit(asynchronous=False)
                    new = stack.enter_context(closing(self._consumer("migrating", **KIP_848)))
                    new.subscribe([into])
                    both = settle([old, new], shares(IN_PARTITIONS), after)
                    group = f"{self._member.prefix}migrating"
                    found = one(self._admin.describe_consumer_groups([group]))
                alone = settle([new], lambda found: found == [IN_PARTITIONS], after)
                self._produce(into, "late")
                read(new, 1, after)
                kind = found.type.name, len(found.members)
                return sorted(before), min(both) > 0, kind, alone, after

        self._call(
            "classic group that goes to KIP-848",
            "shared by both, then all the new one's, which reads on",
            (["a", "b", "c", "d"], True, ("CONSUMER", 2), [IN_PARTITIONS], ["late"]),
            migrate,
        )

    def refusals(self) -> None:
        """Of what is not there, and of what only Git may change."""
        from confluent_kafka.admin import (
            AlterConfigOpType,
            ConfigEntry,
            ConfigResource,
            NewPartitions,
            NewTopic,
        )

        into, admin = self._member.into, self._admin
        entry = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ConfigResource.Type.TOPIC, into, incremental_configs=[entry])
        for name, call in (
            ("create", lambda: one(admin.create_topics([NewTopic("mine", 1, 1)]))),
            ("delete", lambda: one(admin.delete_topics([into]))),
            ("create partitions", lambda: one(admin.create_partitions([NewPartitions(into, 9)]))),
            ("alter configs", lambda: one(admin.incremental_alter_configs([change]))),
        ):
            self._call("changes are refused", name, "POLICY_VIOLATION", lambda c=call: code(c))
        for name in ("no.such", self._member.physical):
            self._call(
                "unknown topic",
                f"metadata of {name}",
                "UNKNOWN_TOPIC_OR_PART",
                lambda n=name: self._admin.list_topics(n, timeout=20).topics[n].error.name(),
            )
            self._call(
                "unknown topic",
                f"produce to {name}",
                "UNKNOWN_TOPIC_OR_PART",
                lambda n=name: self._produce(n, "lost"),
            )


def _poll(consumer: Any, values: list[str]) -> None:  # noqa: ANN401
    message = consumer.poll(0.2)
    if message is not None:
        assert not message.error(), message.error()
        values.append(message.value().decode())
