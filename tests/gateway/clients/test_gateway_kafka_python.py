"""kafka-python in a virtual cluster, by local names."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Self

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.matrix import check
from gateway.clients.member import Member, member
from gateway.clients.tenants import IN_PARTITIONS, OUT_PARTITIONS, Tenant
from patience import eventually
from serve.clients.reports import Calls

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

CLIENT = "kafka-python"
PATIENCE_S = 60
ALL = IN_PARTITIONS + OUT_PARTITIONS


def test_kafka_python(entrance: Entrance, tenants: Mapping[str, Tenant]) -> None:
    client = KafkaPython(member(entrance, tenants, CLIENT))
    for part in (
        client.topics,
        client.records,
        client.transactions,
        client.members,
        client.groups,
        *([client.refusals] if entrance.is_gateway else []),
    ):
        part()
    client.close()
    check(CLIENT, client.calls.made, entrance)


def read(consumer: Any, count: int) -> list[str]:  # noqa: ANN401 (of the library)
    """The next values, at least so many."""
    values: list[str] = []

    def polled() -> list[str]:
        for records in consumer.poll(timeout_ms=200).values():
            values.extend(record.value.decode() for record in records)
        return values

    return eventually(polled, lambda found: len(found) >= count, what=f"{count} values")


def subscribe(consumer: Any, *, topics: Sequence[str] = (), pattern: str | None = None) -> None:  # noqa: ANN401
    """Subscribe, and learn of the topics' partitions before the group is joined.

    A member of kafka-python that learns of them later joins a second time, and never finds out
    that it has joined if a short poll ends at that moment.
    """
    consumer.subscribe(topics, pattern)
    for topic in topics:
        assert consumer.partitions_for_topic(topic)


class Polled:
    """A member that polls in a thread of its own, as a program would; it counts its partitions."""

    def __init__(self, consumer: Any, topics: Mapping[str, Any]) -> None:  # noqa: ANN401
        self.count = 0
        self._consumer = consumer
        self._ended = threading.Event()
        subscribe(consumer, **topics)
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def awaits_all(self) -> int:
        """Wait until all partitions are its own; how many."""
        return eventually(lambda: self.count, lambda count: count == ALL, what="it has all")

    def _poll(self) -> None:
        while not self._ended.is_set():
            self._consumer.poll(timeout_ms=500)
            self.count = len(self._consumer.assignment())


class KafkaPython:
    """All that kafka-python can do for a member, a part after the other."""

    def __init__(self, member: Member) -> None:
        from kafka.admin import KafkaAdminClient

        self._member = member
        self._configs = member.kafka_python()
        self._admin = KafkaAdminClient(**self._configs)
        self.calls = Calls()
        self._call = self.calls.call

    def close(self) -> None:
        """End the administrative client."""
        self._admin.close()

    def topics(self) -> None:
        """Listed and described."""
        from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType

        out = self._member.out
        self._call(
            "list topics",
            "all of them",
            set(),
            lambda: set(self._member.topics) ^ set(self._admin.list_topics()),
        )

        def described() -> tuple[object, ...]:
            (found,) = self._admin.describe_topics([out])
            return found["name"], len(found["partitions"])

        self._call("describe topics", "metadata", (out, OUT_PARTITIONS), described)

        resource = ConfigResource(ConfigResourceType.TOPIC, out)

        def configured() -> object:
            found = self._admin.describe_configs([resource], config_filter=ConfigFilterType.ALL)
            return found["topic"][out]["min.insync.replicas"]["value"]

        self._call("describe configs", "of a topic", "1", configured)

    def _produce(self, topic: str, *values: str, **more: object) -> int:
        """Write values to partition 0; the offset of the last."""
        from kafka import KafkaProducer

        with closing(KafkaProducer(**self._configs, **more)) as producer:
            sent = [producer.send(topic, value.encode(), partition=0) for value in values]
            return int([future.get(PATIENCE_S).offset for future in sent][-1])

    def records(self) -> None:
        """Produced in each way, and read."""
        from kafka import TopicPartition

        into = self._member.into
        first = TopicPartition(into, 0)
        self._call(
            "produce",
            "acks=all",
            1,
            lambda: self._produce(into, "a", "b", enable_idempotence=False),
        )
        self._call("produce, idempotent", "one", 2, lambda: self._produce(into, "c"))
        self._call(
            "produce, acks=0",
            "one",
            0,
            lambda: self._produce(into, "d", acks=0, enable_idempotence=False),
        )
        self._call(
            "produce, acks=0",
            "all are there",
            ["a", "b", "c", "d"],
            lambda: self._read("acks", 4, into),
        )

        def offsets() -> object:
            return self._admin.list_partition_offsets({first: 1})[first].offset

        self._call("offsets of a topic", "of a time", 0, offsets)

    def _consumer(self, group: str, **more: object) -> Any:  # noqa: ANN401
        from kafka import KafkaConsumer

        return KafkaConsumer(
            **self._configs,
            group_id=f"{self._member.prefix}{group}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=500,
            session_timeout_ms=10_000,
            metadata_max_age_ms=2000,
            **more,
        )

    def _read(self, group: str, count: int, topic: str, **more: object) -> list[str]:
        """So many values, sorted; commits what was read."""
        with closing(self._consumer(group, **more)) as consumer:
            subscribe(consumer, topics=[topic])
            values = read(consumer, count)
            consumer.commit()
        return sorted(values)

    def transactions(self) -> None:
        """Aborted, committed, and with the offsets of what was read."""
        from kafka import KafkaProducer, TopicPartition

        into, out = self._member.into, self._member.out
        name = f"{self._member.prefix}tx"
        with closing(KafkaProducer(**self._configs, transactional_id=name)) as producer:
            self._call("transaction", "begin", None, producer.init_transactions)

            def write(value: bytes, end: Callable[[], None]) -> None:
                producer.begin_transaction()
                producer.send(out, value, partition=0).get(PATIENCE_S)
                end()

            self._call(
                "transaction", "abort", None, lambda: write(b"no", producer.abort_transaction)
            )
            self._call(
                "transaction", "commit", None, lambda: write(b"yes", producer.commit_transaction)
            )
            self._call(
                "consume, transform, produce",
                "records",
                ["a", "b", "c", "d"],
                lambda: self._transform(producer),
            )
        self._call(
            "consume, transform, produce",
            "offsets",
            4,
            lambda: self._offset("transform", TopicPartition(into, 0)),
        )
        self._call(
            "read committed",
            "records",
            ["A", "B", "C", "D", "yes"],
            lambda: self._read("committed", 5, out, isolation_level="read_committed"),
        )

        def listed() -> set[str]:
            found = self._admin.list_transactions().values()
            names = {row.transactional_id for rows in found for row in rows}
            return {each for each in names if each == name or not known(each)}

        def known(each: str) -> bool:
            return not self._member.is_gateway or ":" not in each

        self._call("list transactions", "ours", {name}, listed)
        self._call(
            "describe transactions",
            "ours",
            True,
            lambda: self._admin.describe_transactions([name])[name].state.endswith("Commit"),
        )

    def _transform(self, producer: Any) -> object:  # noqa: ANN401
        from kafka import OffsetAndMetadata

        with closing(self._consumer("transform")) as consumer:
            subscribe(consumer, topics=[self._member.into])
            values = read(consumer, 4)
            producer.begin_transaction()
            for value in values:
                producer.send(self._member.out, value.upper().encode(), partition=1)
            offsets = {
                part: OffsetAndMetadata(consumer.position(part), "", -1)
                for part in consumer.assignment()
            }
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            producer.commit_transaction()
        return values

    def _offset(self, group: str, partition: Any) -> object:  # noqa: ANN401
        name = f"{self._member.prefix}{group}"
        return self._admin.list_group_offsets(name)[name][partition].offset

    def members(self) -> None:
        """Groups of two members, by names and by regular expression, and a static member."""
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        names = {"topics": [self._member.into, self._member.out]}
        regex = {"pattern": self._member.pattern}
        sticky, cooperative = (
            {"partition_assignment_strategy": [assignor]}
            for assignor in (StickyPartitionAssignor, CooperativeStickyAssignor)
        )
        for scenario, topics, more in (
            ("range group", names, {}),
            ("sticky group", names, sticky),
            ("cooperative group", names, cooperative),
            ("classic group by regex", regex, {}),
        ):
            group = scenario.replace(" ", "-")
            self._call(
                scenario,
                "one has all, then shares, then has all again",
                (ALL, True, 2, set(names["topics"]), ALL),
                lambda g=group, t=topics, m=more: self._shared(g, t, m),
            )

        def owned() -> int:
            with Polled(self._consumer("static", group_instance_id="one"), names) as member:
                return member.awaits_all()

        for turn in ("comes", "comes back"):
            self._call("static member", f"classic: {turn}", ALL, owned)

    def _shared(self, group: str, topics: Mapping[str, Any], more: Mapping[str, Any]) -> object:
        """How many partitions the first member has alone; with a second; after that has left.

        And what a description of the group says about both.
        """
        name = f"{self._member.prefix}{group}"
        with Polled(self._consumer(group, **more), topics) as first:
            alone = first.awaits_all()
            with Polled(self._consumer(group, **more), topics) as second:
                counts = eventually(
                    lambda: (first.count, second.count),
                    lambda found: found[1] > 0 and sum(found) == ALL,
                    what="both have partitions",
                )
                members = self._admin.describe_groups([name])[name]["members"]
            after = first.awaits_all()
            told = str(members)
            names = {name for name in (self._member.into, self._member.out) if name in told}
            return alone, min(counts) > 0, len(members), names, after

    def groups(self) -> None:
        """Listed and described, their offsets, and deleted."""
        from kafka import OffsetAndMetadata, TopicPartition

        group, first = f"{self._member.prefix}told", TopicPartition(self._member.into, 0)
        self._read("told", 4, self._member.into)

        def listed_groups() -> set[str]:
            return {found["group_id"] for found in self._admin.list_groups()}

        def described() -> tuple[object, ...]:
            ((name, found),) = self._admin.describe_groups([group]).items()
            return name, found["group_state"]

        change = {first: OffsetAndMetadata(2, "", -1)}
        self._call("list groups", "has ours", True, lambda: group in listed_groups())
        self._call("describe group", "without members", (group, "Empty"), described)
        self._call("offsets of a group", "list", 4, lambda: self._offset("told", first))
        self._call(
            "offsets of a group",
            "alter",
            "NoError",
            lambda: self._admin.alter_group_offsets(group, change)[first].__name__,
        )
        self._call(
            "offsets of a group", "list what was altered", 2, lambda: self._offset("told", first)
        )
        self._call(
            "delete offsets",
            "of a partition",
            "NoError",
            lambda: self._admin.delete_group_offsets(group, [first])[first].__name__,
        )
        self._call("delete group", "ours", True, lambda: bool(self._admin.delete_groups([group])))
        self._call("delete group", "it is gone", False, lambda: group in listed_groups())

    def refusals(self) -> None:
        """Of what is not there, and of what only Git may change."""
        from kafka.admin import NewTopic

        into = self._member.into
        for name in ("no.such", self._member.physical):
            self._call(
                "unknown topic",
                f"metadata of {name}",
                3,
                lambda n=name: self._admin.describe_topics([n])[0]["error_code"],
            )
        for name, call in (
            ("create", lambda: self._admin.create_topics([NewTopic("mine", 1, 1)])),
            ("delete", lambda: self._admin.delete_topics([into])),
            ("create partitions", lambda: self._admin.create_partitions({into: 9})),
        ):
            self._call("changes are refused", name, "PolicyViolationError", call)
