"""Absent, readable or neither: what is read of a registry on real brokers."""

import time
from collections.abc import Iterator

import pytest
from builders import a_topic
from cluster.kafka.registry_logs import GOOD, Driver, Logs, logs_on, make_topic, set_configs
from kafka.protocol.admin import AlterPartitionReassignmentsRequest, DeleteRecordsRequest
from kafka_wiping import wipe
from patience import eventually

from kgitops.cluster.kafka.registry.topic import find_topic
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.registry import meta_record, owner_record, project_record
from kgitops.model.errors import LockedError, SafetyError
from kgitops.model.json.declared import last_applied
from kgitops.model.registry import Owner
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka


@pytest.fixture
def logs(kafka: Sandbox) -> Iterator[Logs]:
    wipe(kafka)
    with logs_on(kafka) as opened:
        yield opened


def keys(entries: object) -> list[str]:
    assert entries is not None
    return [entry.key for entry in entries]


def test_it_is_created_by_the_first_append_as_documented(kafka: Sandbox, logs: Logs) -> None:
    log = logs.open()
    assert log.read() is None
    assert log.read_state() is None
    last = log.append([project_record("uid", "payments")])
    assert [(entry.offset, entry.key) for entry in logs.open().read() or ()] == [
        (0, "meta"),
        (1, "project/uid"),
    ]
    assert last == 1
    shown = kafka.tool(
        "org.apache.kafka.tools.TopicCommand", "--describe", "--topic", REGISTRY_TOPIC
    )
    assert "PartitionCount: 1\tReplicationFactor: 3" in shown
    for config in (
        "cleanup.policy=compact",
        "message.timestamp.type=LogAppendTime",
        "min.insync.replicas=2",
        "unclean.leader.election.enable=false",
        "max.message.bytes=1048588",
    ):
        assert config in shown


@pytest.mark.parametrize(
    ("partitions", "configs", "said"),
    [
        (1, {}, "cleanup.policy=delete"),
        (1, {**GOOD, "cleanup.policy": "compact,delete"}, "cleanup.policy=compact,delete"),
        (1, {"cleanup.policy": "compact"}, "message.timestamp.type=CreateTime"),
        (2, GOOD, "2 partitions"),
    ],
)
def test_a_topic_that_kgitops_would_not_make_is_no_registry(
    logs: Logs, partitions: int, configs: dict[str, str], said: str
) -> None:
    make_topic(logs.wire(), partitions=partitions, **configs)
    with pytest.raises(SafetyError, match=said):
        logs.open().read()


def test_a_topic_that_was_made_and_never_written_is_a_registry_to_be(logs: Logs) -> None:
    """Its maker died in between: nothing can have been lost, and the next apply goes on."""
    make_topic(logs.wire(), **GOOD)
    log = logs.open()
    assert log.read() is None
    log.append([("lock/a", {"schema_version": 1})])
    assert keys(logs.open().read()) == ["meta", "lock/a"]


def test_an_empty_log_whose_leader_changed_may_have_lost_records(logs: Logs) -> None:
    wire = logs.wire()
    make_topic(wire, **GOOD)
    assert logs.open().read() is None
    _move(wire)
    with pytest.raises(SafetyError, match="no meta record"):
        logs.open().read()


def test_records_without_a_mark_are_no_registry(logs: Logs) -> None:
    make_topic(logs.wire(), **GOOD)
    _produce(logs, b"own/topic/a", b'{"schema_version":1}')
    with pytest.raises(SafetyError, match="no meta record"):
        logs.open().read()


@pytest.mark.parametrize(
    "value",
    [b"hello", b"[1]", b"\xff", b'{"a":', b'{"a":NaN}', b'{"a":1,"a":1}', b'{"a":"\\ud800"}'],
)
def test_a_record_that_someone_else_wrote_stops_everyone(logs: Logs, value: bytes) -> None:
    log = logs.open()
    log.append([meta_record()])
    _produce(logs, b"own/topic/a", value)
    with pytest.raises(SafetyError, match=r"record at offset 1, key .own/topic/a., is no"):
        log.read()
    with pytest.raises(SafetyError, match="not a JSON object as kgitops writes it"):
        logs.open().read_state()


def test_a_record_without_a_key_stops_everyone(logs: Logs) -> None:
    """A compacted topic takes none; this one was not always compacted."""
    make_topic(logs.wire(), **{**GOOD, "cleanup.policy": "delete"})
    _produce(logs, None, b"{}")
    set_configs(logs.wire(), cleanup_policy="compact")
    with pytest.raises(SafetyError, match=r"record at offset 0, key .., has no key"):
        logs.open().read()


def test_records_that_were_deleted_are_missed(logs: Logs) -> None:
    log = logs.open()
    log.append([meta_record(), ("lock/a", {"schema_version": 1})])
    wire = logs.wire()
    set_configs(wire, cleanup_policy="compact,delete")
    _delete_records(wire, before=1)
    set_configs(wire, cleanup_policy="compact")
    with pytest.raises(SafetyError, match="were deleted"):
        logs.open().read()


def test_a_registry_that_vanishes_is_not_taken_for_another(kafka: Sandbox, logs: Logs) -> None:
    log = logs.open()
    log.append([meta_record(), ("lock/a", {"schema_version": 1})])
    assert log.read(1)
    wipe(kafka)
    assert logs.open().read() is None
    assert log.read(2) is None
    log.append([meta_record()])
    other = logs.open()
    other.read_state()
    wipe(kafka)
    logs.open().append([project_record("uid", "new"), ("lock/b", {"schema_version": 1})])
    with pytest.raises(SafetyError, match="deleted and made again"):
        other.read(1)


def test_ten_thousand_owners_cost_five_requests(logs: Logs) -> None:
    log = logs.open()
    owners = {f"topic/t-{number}": _an_owner(number) for number in range(10_000)}
    log.append([meta_record()])
    log.fence()
    log.append([owner_record(address, owner) for address, owner in owners.items()])
    reader = logs.open()
    sent = reader._wire.sent
    before = sent.copy()
    state = reader.read_state()
    assert state is not None
    assert state.owners == owners
    assert sum((sent - before).values()) <= 5
    before = sent.copy()
    assert reader.read_state() == state
    assert sent - before == {"Fetch": 1}
    log.append([owner_record("topic/t-7", None)])
    news = reader.read_state()
    assert news is not None
    assert owners.keys() - news.owners.keys() == {"topic/t-7"}


def test_a_state_is_built_from_what_was_read_before_and_what_came_since(logs: Logs) -> None:
    log, reader = logs.open(), logs.open()
    owners = {f"topic/t-{number}": _an_owner(number) for number in range(3)}
    log.append([meta_record(), *(owner_record(name, owner) for name, owner in owners.items())])
    entries = reader.read()
    assert entries is not None
    log.append([owner_record("topic/t-1", None)])
    asked: list[int] = []
    scan = reader._reader.scan
    reader._reader.scan = lambda since, until=0: asked.append(since) or scan(since, until)
    state = reader.read_state()
    assert asked == [entries[-1].offset + 1], "what was read is not read again"
    assert state == logs.open().read_state()
    assert state is not None
    assert set(state.owners) == {"topic/t-0", "topic/t-2"}


def test_an_append_under_the_fence_is_all_or_nothing(kafka: Sandbox, logs: Logs) -> None:
    """A process dies in the middle of one: nobody ever sees a part of it."""
    log = logs.open()
    dying = Driver(kafka, "User:dying", "60000", "30000")
    assert dying.heard() == "ready"
    assert dying.ask("acquire 0") == "won"
    assert dying.ask("write 1") == "done"
    assert dying.ask("torn") == "done"
    dying.close()
    with pytest.raises(SafetyError, match="unfinished write"):
        logs.open(timeout_s=0.5).read()
    log.fence()
    log.append([("lock/next", {"schema_version": 1})])
    seen = keys(log.read())
    assert seen.count("run/User:dying/1") == 1
    assert not [key for key in seen if key.startswith("torn/")]
    assert seen[-1] == "lock/next"
    assert keys(logs.open().read()) == seen


def test_only_the_last_to_fence_may_write(logs: Logs) -> None:
    first, second = logs.open(), logs.open()
    first.append([meta_record()])
    first.fence()
    first.append([("run/1", {"schema_version": 1}), ("run/2", {"schema_version": 1})])
    second.fence()
    for _ in range(2):
        with pytest.raises(LockedError, match="taken the registry over"):
            first.append([("run/3", {"schema_version": 1})])
    second.append([("run/4", {"schema_version": 1})])
    first.unfence()
    first.append([("lock/first", {"schema_version": 1})])
    assert keys(second.read()) == ["meta", "run/1", "run/2", "run/4", "lock/first"]
    first.fence()
    with pytest.raises(LockedError):
        second.append([("run/5", {"schema_version": 1})])


@pytest.mark.parametrize("wrong_s", [-600.0, 600.0])
def test_the_clock_is_the_logs_however_wrong_this_machines_is(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, wrong_s: float
) -> None:
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + wrong_s)
    log = logs.open()
    log.append([("lock/a", {"schema_version": 1})])
    log.fence()
    log.append([("lock/b", {"schema_version": 1})])
    moment = log.now_ms()
    assert abs(moment - real() * 1000) < 60_000
    eventually(lambda: log.now_ms() > moment + 5, what="the log's clock to go on")
    entries = log.read()
    assert entries
    assert entries[-1].timestamp_ms <= moment


def _an_owner(number: int) -> Owner:
    configs = {f"config.{index}": f"value-{number}" for index in range(15)}
    topic = a_topic(f"t-{number}", configs=configs)
    return Owner(project="uid", topic_id=f"id-{number}", last_applied=last_applied(topic))


def _produce(logs: Logs, key: bytes | None, value: bytes) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": logs.sandbox.servers})
    producer.produce(REGISTRY_TOPIC, key=key, value=value)
    assert producer.flush(30) == 0


def _move(wire: Wire) -> None:
    """Let another broker lead."""
    old = find_topic(wire)
    assert old
    new = next(broker for broker in wire.broker_ids() if broker != old.leader)
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    move = topic(
        name=REGISTRY_TOPIC,
        partitions=[topic.ReassignablePartition(partition_index=0, replicas=[new])],
    )
    request = AlterPartitionReassignmentsRequest(
        topics=[move], timeout_ms=30_000, allow_replication_factor_change=True
    )
    assert wire.send(request).error_code == 0

    def moved() -> bool:
        found = find_topic(wire)
        return found is not None and found.leader == new

    eventually(moved, what="another leader")


def _delete_records(wire: Wire, before: int) -> None:
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    partition = topic.DeleteRecordsPartition(partition_index=0, offset=before)

    request = DeleteRecordsRequest(
        topics=[topic(name=REGISTRY_TOPIC, partitions=[partition])], timeout_ms=30_000
    )
    answers = [wire.send(request, to=broker) for broker in wire.broker_ids()]
    codes = [answer.topics[0].partitions[0].error_code for answer in answers]
    assert 0 in codes, "the leader did not delete"
