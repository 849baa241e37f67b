"""Hardships that a registry must survive: missing rights, compaction, and dying brokers."""

import threading
from collections.abc import Iterator

import pytest
from builders import a_topic
from cluster.kafka.registry_logs import Driver, JustTheRegistry, Logs, logs_on, set_configs
from kafka.protocol.admin import CreateAclsRequest
from kafka_clusters import StartKafka
from kafka_wiping import wipe
from patience import eventually

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock import Lock, acquire
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.registry import meta_record, owner_record
from kgitops.model.clock import SystemClock
from kgitops.model.errors import KgitopsError, LockedError, UnreachableError
from kgitops.model.json.declared import last_applied
from kgitops.model.registry import Owner
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.layout import USERS, login_configs
from kgitops.sandbox.sandbox import Sandbox

TOPIC, TRANSACTIONAL_ID = 2, 5
READ, WRITE, CREATE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 5, 8, 10


EAGER = {
    "log.cleaner.backoff.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
"""What Kafka does in the background it does soon."""


@pytest.fixture(scope="module")
def broker(own_kafka: StartKafka) -> Sandbox:
    """One broker with logins."""
    return own_kafka(brokers=1, sasl=True, properties=EAGER)


@pytest.fixture
def logs(broker: Sandbox) -> Iterator[Logs]:
    wipe(broker)
    with logs_on(broker) as opened:
        yield opened


def allow(logs: Logs, user: str, *operations: int, on: int = TOPIC) -> None:
    """Give a user rights on what the registry is made of."""
    name = REGISTRY_TOPIC if on == TOPIC else "kgitops"
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=on,
            resource_name=name,
            resource_pattern_type=3,
            principal=f"User:{user}",
            host="*",
            operation=operation,
            permission_type=3,
        )
        for operation in operations
    ]
    answer = logs.wire().send(CreateAclsRequest(creations=creations))
    assert [result.error_code for result in answer.results] == [0] * len(operations)


def as_user(logs: Logs, name: str) -> KafkaRegistryLog:
    configs = {**logs.sandbox.configs, **login_configs(name, USERS[name])}
    return logs.open(configs)


def refusal(call: object) -> str:
    """The error text; empty without an error."""
    assert callable(call)
    try:
        call()
    except UnreachableError as error:
        return str(error)
    return ""


def test_each_missing_right_is_named_and_no_group_is_needed(logs: Logs) -> None:
    """Right after right: reading, contending, writing alone."""
    admin = logs.open()
    admin.append([meta_record()])
    alice = as_user(logs, "alice")
    shown = "as docs/reference/rights.md shows"
    assert refusal(alice.read) == (
        "the cluster does not let User:alice read the registry (TOPIC_AUTHORIZATION_FAILED); grant "
        f"it Read on __kgitops and DescribeConfigs on __kgitops, {shown}"
    )
    allow(logs, "alice", DESCRIBE)
    eventually(
        lambda: refusal(alice.read),
        lambda said: f"grant it DescribeConfigs on __kgitops, {shown}" in said,
        what="Describe",
    )
    allow(logs, "alice", DESCRIBE_CONFIGS)
    eventually(
        lambda: refusal(alice.read),
        lambda said: f"grant it Read on __kgitops, {shown}" in said,
        what="DescribeConfigs",
    )
    allow(logs, "alice", READ)
    eventually(lambda: refusal(alice.read), lambda said: not said, what="Read")
    assert [entry.key for entry in alice.read() or ()] == ["meta"]

    def contend() -> object:
        return alice.append([("lock/alice", {"schema_version": 1})])

    assert refusal(contend) == (
        "the cluster does not let User:alice write the registry; grant it Write on __kgitops, "
        f"{shown}"
    )
    unopened = (
        "the registry __kgitops can't be opened for writing: the cluster does not let User:alice "
        "use the transactional id kgitops; grant it Write on the transactional id kgitops, "
        f"{shown}"
    )
    assert refusal(alice.fence) == unopened
    allow(logs, "alice", WRITE)
    eventually(lambda: refusal(contend), lambda said: not said, what="Write")
    assert refusal(alice.fence) == unopened
    allow(logs, "alice", WRITE, on=TRANSACTIONAL_ID)
    eventually(
        lambda: refusal(alice.fence), lambda said: not said, what="Write on the transactional id"
    )
    alice.append([("run/1", {"schema_version": 1})])
    assert [entry.key for entry in admin.read() or ()][-1] == "run/1"


def test_who_may_write_the_registry_but_not_make_it_is_told(logs: Logs) -> None:
    allow(logs, "bob", DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE)
    bob = as_user(logs, "bob")
    eventually(lambda: refusal(bob.read), lambda said: not said, what="the rights")
    assert refusal(lambda: bob.append([meta_record()])) == (
        "the cluster does not let User:bob create the topic __kgitops; grant it Create on the "
        "cluster, as docs/reference/rights.md shows"
    )
    assert logs.open().read() is None


def surroundings(log: KafkaRegistryLog) -> ApplyContext:
    return ApplyContext(
        cluster=JustTheRegistry(log),  # type: ignore[arg-type]
        settings=ApplySettings(lease_ms=60_000, timeout_ms=5_000),
        clock=SystemClock(),
        on_event=lambda _: None,
        interrupted=lambda: None,
    )


def test_compaction_in_the_middle_of_a_lock_changes_nothing(logs: Logs) -> None:
    """The claim's first record goes, and with it the only place that its order was read from."""
    log = logs.open()
    log.append([meta_record()])
    set_configs(logs.wire(), segment_ms="50", min_cleanable_dirty_ratio="0.01")
    lock = acquire(surroundings(log), holder="User:holder")
    assert lock
    patient = Lock(logs.open(), holder="User:patient", settings=surroundings(log).settings)
    patient.claim("2026-11-21T09:12:07Z")
    first = next(entry for entry in log.read() or () if entry.key.startswith("lock/"))
    owner = Owner(project="uid", topic_id="t", last_applied=last_applied(a_topic("t")))
    numbers = iter(range(1_000_000))

    def compacted() -> bool:
        """Write on, since only segments that are no longer written to are compacted."""
        number = next(numbers)
        lock.append(
            [
                ("run/1/1", {"schema_version": 1, "number": number}),
                owner_record("topic/kept", owner),
                owner_record(f"topic/gone-{number}", owner),
                (f"own/topic/gone-{number - 1}", None),
            ]
        )
        entries = logs_of_another.read()
        assert entries
        return entries[1].offset > first.offset

    logs_of_another = logs.open()
    log.read_state()
    eventually(compacted, what="the claim's first record to be compacted away")
    last = next(numbers) - 1
    fresh = logs.open()
    assert fresh.read_state() == log.read_state()
    values = latest_values(fresh.read() or ())
    assert values["run/1/1"]["number"] == last
    state = fresh.read_state()
    assert state
    assert state.owners.keys() == {"topic/kept", f"topic/gone-{last}"}
    patient._catch_up()
    with pytest.raises(LockedError, match="locked by User:holder"):
        patient.safe_from_ms()
    patient.release()
    with pytest.raises(LockedError, match="locked by User:holder"):
        acquire(surroundings(fresh), holder="User:other")
    lock.append([])
    lock.release()
    other = acquire(surroundings(fresh), holder="User:other")
    assert other
    other.release()


def test_what_was_acknowledged_survives_a_broker_that_is_killed(
    broker: Sandbox, logs: Logs
) -> None:
    """Read to its end or refused, but never taken for absent; and the next holder goes on."""
    log = logs.open()
    log.append([meta_record()])
    log.fence()
    acknowledged: list[str] = []
    errors: list[KgitopsError] = []
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(1_000_000):
                if done.is_set():
                    return
                key = f"run/1/{number}"
                pieces = [(f"run/1/plan/{n}", {"schema_version": 1, "text": key}) for n in range(5)]
                log.append([(key, {"schema_version": 1}), *pieces])
                acknowledged.append(key)
        except KgitopsError as error:
            errors.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    eventually(lambda: len(acknowledged), lambda count: count > 20, what="some appends")
    broker.kill(1)
    broker.start_broker(1)
    done.set()
    writer.join(90)
    assert not writer.is_alive()
    assert {type(error) for error in errors} <= {UnreachableError}
    again = logs.open()
    entries = again.read()
    assert entries is not None
    assert {entry.key for entry in entries}.issuperset(acknowledged)
    again.fence()
    again.append([("lock/next", {"schema_version": 1})])
    seen = [entry.key for entry in again.read() or ()]
    assert seen[-1] == "lock/next"
    whole = [key for key in seen if key.startswith("run/1/") and "plan" not in key]
    assert seen.count("run/1/plan/4") == len(whole)


def test_a_reader_outwaits_what_a_dead_writer_left(broker: Sandbox, logs: Logs) -> None:
    """Kafka itself ends it, so that planning needs nobody's help."""
    dying = Driver(broker, "User:dying", "60000", "30000")
    assert dying.heard() == "ready"
    assert dying.ask("acquire 0") == "won"
    assert dying.ask("torn") == "done"
    dying.close()
    seen = [entry.key for entry in logs.open().read() or ()]
    assert "meta" in seen
    assert not [key for key in seen if key.startswith("torn/")]


def test_a_contender_names_the_holder_in_its_own_process(broker: Sandbox, logs: Logs) -> None:
    holder = Driver(broker, "User:holder", "60000", "5000")
    try:
        assert holder.heard() == "ready"
        assert holder.ask("acquire 0") == "won"
        with pytest.raises(LockedError, match="locked by User:holder since 20"):
            acquire(surroundings(logs.open()), holder="User:other")
        assert holder.ask("write 3") == "done"
        assert holder.ask("release") == "done"
    finally:
        holder.close()
    assert not [key for key in latest_values(logs.open().read() or ()) if key.startswith("lock/")]
