"""Every request about topics in every way that it can go wrong; some while broker 3 is dead.

A case names its objects after itself, so that all of them can be asked of one cluster in turn.
"""

from collections.abc import Callable, Mapping, Sequence

from cluster.kafka.difference_world import (
    CONFIGS,
    NO_ID,
    PARTITIONS,
    REPLICAS,
    TWO,
    Ask,
    Cancellation,
    Case,
    World,
    cut,
    delete,
    move,
)
from cluster_contract.contract import alteration, creation
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.requests import AlterBrokerRequest
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.resources.topics import LEADER_RATE, Assignment, TopicState

_TOO_MANY: Assignment = ((1,),) * 10_001
_OFFSETS = "__consumer_offsets"


def _create(
    name: str,
    assignment: Assignment = TWO,
    *,
    called: str | None = None,
    generated: bool = False,
    **configs: str,
) -> Case:
    """``retention_ms="1"`` gives a config; the topic is named after the case, or ``called``."""
    dotted = {key.replace("_", "."): value for key, value in configs.items()}
    return Case(
        "CreateTopic",
        name,
        lambda _, n: [
            creation(n if called is None else called, assignment, dotted, generated=generated)
        ],
    )


def _colliding(world: World, name: str) -> Sequence[req.Request]:
    world.topic(f"{name}.a_b")
    return [creation(f"{name}.a.b")]


def _existing(world: World, name: str) -> Sequence[req.Request]:
    return [creation(world.topic(name).name, ((9,),), {"no.such": "1"})]


CREATE_TOPIC = (
    _create("as asked", retention_ms="1000"),
    _create("kgitops placed the replicas", generated=True),
    Case("CreateTopic", "it exists, and all else is wrong", _existing),
    Case("CreateTopic", "the name collides", _colliding),
    _create("no name", called=""),
    _create("a dot", called="."),
    _create("two dots", called=".."),
    _create("an illegal character", called="a b"),
    _create("250 characters", called="x" * 250),
    _create("249 characters", called="x" * 249),
    _create("the metadata topic", called="__cluster_metadata"),
    _create("the registry", called=REGISTRY_TOPIC),
    _create("another internal topic", called="__transaction_state"),
    _create("an empty replica list", ((1, 2), ())),
    _create("a broker twice", ((1, 1),)),
    _create("a broker twice after an unknown one", ((99, 1, 1),)),
    _create("an unknown broker", ((1, 99),)),
    _create("a negative broker", ((-1,),)),
    _create("replica lists of unequal length", ((1, 2), (3,))),
    _create("more replicas than brokers, placed", ((1, 2, 3, 4),), generated=True),
    _create("10,001 partitions", _TOO_MANY),
    _create("an unknown config", no_such_config="1"),
    _create("a config that Kafka 4 removed", message_format_version="3.0"),
    _create("a config that is no number", retention_ms="soon"),
    _create("a config below its minimum", retention_ms="-2"),
    _create("a config past 32 bits", segment_bytes="3000000000"),
    _create("a config that is no boolean", preallocate="maybe"),
    _create("a config that is no choice", compression_type="rar"),
    _create("a list config with a wrong part", cleanup_policy="compact,shred"),
    _create("a list config with a wrong part only", cleanup_policy="shred"),
    _create("a list config with two wrong parts", cleanup_policy="shred,burn"),
    _create("a list config with a part twice", cleanup_policy="delete,delete"),
    _create("a list config with spaces", cleanup_policy=" delete , compact "),
    _create("a list config that ends in a comma", cleanup_policy="delete,"),
    _create("a list config of a comma", cleanup_policy=","),
    _create("a list config in capitals", cleanup_policy="DELETE"),
    _create("an empty list config", cleanup_policy=""),
    _create("an empty number", retention_ms=""),
    _create("a throttle that is no list of replicas", leader_replication_throttled_replicas="x"),
    _create("a number out of its range or its exception", compression_gzip_level="99"),
    _create("a number above its maximum", compression_lz4_level="99"),
    _create("a fraction above its maximum", min_cleanable_dirty_ratio="1.5"),
    _create("configs at odds", min_compaction_lag_ms="9", max_compaction_lag_ms="8"),
    _create("tiered storage where there is none", remote_storage_enable="true"),
    _create("a wrong config and wrong replicas", ((9,),), retention_ms="soon"),
    Case(
        "CreateTopic",
        "one wrong among three",
        lambda _, n: [creation(f"{n}-1"), creation(f"{n}-2", ((9,),)), creation(f"{n}-3")],
    ),
    Case("CreateTopic", "twice in a batch", lambda _, n: [creation(n), creation(n)]),
    Case(
        "CreateTopic",
        "10,001 partitions and another topic",
        lambda _, n: [creation(f"{n}-small"), creation(f"{n}-large", _TOO_MANY)],
    ),
    Case(
        "CreateTopic",
        "more than 10,000 records together",
        lambda _, n: [creation(f"{n}-{i}", ((1,),) * 5) for i in range(1_500)],
        only_judged=True,
    ),
)  # fmt: skip


def _alter(
    name: str,
    *batch: Mapping[str, str | None],
    before: Mapping[str, str] | None = None,
) -> Case:
    """Each of ``batch`` is one request that alters configs."""

    def prepare(world: World, topic_name: str) -> Sequence[req.Request]:
        topic = world.topic(topic_name, configs=before)
        return [alteration(topic, CONFIGS, configs=configs) for configs in batch]

    return Case("AlterTopic configs", name, prepare)


def _gone(step: req.AlterStep) -> Callable[[World, str], Sequence[req.Request]]:
    """A topic that was deleted and made anew."""

    def prepare(world: World, name: str) -> Sequence[req.Request]:
        topic = replace(world.topic(name), topic_id=NO_ID)
        wanted = {CONFIGS: TWO, PARTITIONS: (*TWO, (1, 2)), REPLICAS: ((2, 3), (3, 1))}[step]
        configs = {"retention.ms": "1"} if step is CONFIGS else {}
        return [alteration(topic, step, assignment=wanted, configs=configs)]

    return prepare


def _absent(step: req.AlterStep) -> Callable[[World, str], Sequence[req.Request]]:
    """A topic of which there is not even the name."""
    state = TopicState(name="absent", topic_id=NO_ID, assignment=TWO)
    return lambda _, __: [alteration(state, step, assignment=((2, 3), (3, 1), (1, 2)), configs={})]


ALTER_CONFIGS = (
    _alter("as asked", {"retention.ms": "1"}),
    _alter("no keys", {}),
    _alter("a key that is as it was", {"retention.ms": "1"}, before={"retention.ms": "1"}),
    _alter("removes a key", {"retention.ms": None}, before={"retention.ms": "1"}),
    _alter("removes a key that is not set", {"retention.ms": None}),
    _alter("removes an unknown key", {"no.such.config": None}),
    _alter(
        "removes a key that is set and one that is not",
        {"retention.ms": None, "segment.bytes": None},
        before={"retention.ms": "1"},
    ),
    _alter("removes a key and sets another", {"retention.ms": None, "segment.bytes": "1048576"}),
    _alter(
        "removes a key and sets one wrongly",
        {"retention.ms": None, "segment.bytes": "1"},
        before={"retention.ms": "1"},
    ),
    _alter("an unknown config", {"no.such.config": "1"}),
    _alter("one of two is unknown", {"segment.bytes": "1048576", "no.such.config": "1"}),
    _alter("a config that is no number", {"retention.ms": "soon"}),
    _alter("a config below its minimum", {"retention.ms": "-2"}),
    _alter("a config that is no choice", {"compression.type": "rar"}),
    _alter("a list config with a wrong part", {"cleanup.policy": "compact,shred"}),
    _alter("a list config with a part twice", {"cleanup.policy": "compact,compact"}),
    _alter("a throttle of unknown brokers", {"leader.replication.throttled.replicas": "0:99"}),
    _alter("a throttle of all and one", {"leader.replication.throttled.replicas": "*,0:1"}),
    Case(
        "AlterTopic configs",
        "an internal topic",
        lambda w, _: [
            alteration(w.internal_topic(_OFFSETS), CONFIGS, configs={"retention.ms": "1"})
        ],
    ),
    _alter("more in-sync replicas than replicas", {"min.insync.replicas": "9"}),
    _alter(
        "a key that excludes one that is there",
        {"max.compaction.lag.ms": "1"},
        before={"min.compaction.lag.ms": "9"},
    ),
    _alter("a throttle that is no list", {"leader.replication.throttled.replicas": "x"}),
    _alter("a throttle", {"leader.replication.throttled.replicas": "0:1,1:2"}),
    _alter("one wrong, then one right", {"retention.ms": "soon"}, {"retention.ms": "1"}),
    Case("AlterTopic configs", "the topic was made anew", _gone(CONFIGS)),
    Case("AlterTopic configs", "there is no such topic", _absent(CONFIGS)),
)


def _grow(name: str, wanted: Assignment) -> Case:
    return Case(
        "AlterTopic partitions",
        name,
        lambda w, n: [alteration(w.topic(n), PARTITIONS, assignment=wanted)],
    )


ALTER_PARTITIONS = (
    _grow("as asked", (*TWO, (3, 1))),
    _grow("as many as there are", TWO),
    _grow("fewer than there are", TWO[:1]),
    _grow("none", ()),
    _grow("fewer replicas than the others", (*TWO, (1,))),
    _grow("more replicas than the others", (*TWO, (1, 2, 3))),
    _grow("an empty replica list", (*TWO, ())),
    _grow("a broker twice", (*TWO, (1, 1))),
    _grow("an unknown broker", (*TWO, (1, 99))),
    _grow("10,001 more", (*TWO, *(((1, 2),) * 10_001))),
    _grow("two that are wrong, the first by an unknown broker", (*TWO, (99, 1, 1))),
    Case(
        "AlterTopic partitions",
        "an internal topic",
        lambda w, _: [
            alteration(w.internal_topic(_OFFSETS), PARTITIONS, assignment=(*TWO, (3, 1)))
        ],
    ),
    Case("AlterTopic partitions", "the topic was made anew", _gone(PARTITIONS)),
    Case("AlterTopic partitions", "there is no such topic", _absent(PARTITIONS)),
)


def _move(name: str, wanted: Assignment) -> Case:
    return Case(
        "AlterTopic replicas",
        name,
        lambda w, n: [move(w.topic(n), wanted)],
    )


ALTER_REPLICAS = (
    _move("as asked", ((2, 3), (3, 1))),
    _move("as they are", TWO),
    _move("another leader", ((2, 1), (2, 3))),
    _move("more replicas", ((1, 2, 3), (2, 3, 1))),
    _move("fewer replicas", ((1,), (2,))),
    _move("an empty replica list", ((), (2, 3))),
    _move("a broker twice", ((1, 1), (2, 3))),
    _move("an unknown broker", ((1, 99), (2, 3))),
    _move("a partition that is not there", (*TWO, (3, 1))),
    _move("one partition of two is wrong", ((2, 3), (9,))),
    _move("no partitions", ()),
    Case(
        "AlterTopic replicas",
        "an internal topic",
        lambda w, _: [move(w.internal_topic(_OFFSETS), ((2, 3), (3, 1)))],
    ),
    Case("AlterTopic replicas", "the topic was made anew", _gone(REPLICAS)),
    Case("AlterTopic replicas", "there is no such topic", _absent(REPLICAS)),
)


def _deleted_before(world: World, name: str) -> Sequence[req.Request]:
    deletion = delete(world.topic(name))
    world.done(deletion)
    return [deletion]


DELETE_TOPIC = (
    Case("DeleteTopic", "as asked", lambda w, n: [delete(w.topic(n))]),
    Case("DeleteTopic", "it was deleted before", _deleted_before),
    Case(
        "DeleteTopic",
        "it was made anew",
        lambda w, n: [delete(replace(w.topic(n), topic_id=NO_ID))],
    ),
    Case("DeleteTopic", "an internal topic", lambda w, _: [delete(w.internal_topic(_OFFSETS))]),
    Case("DeleteTopic", "twice in a batch", lambda w, n: [delete(w.topic(n))] * 2),
    Case(
        "DeleteTopic",
        "one of two is gone",
        lambda w, n: [delete(w.topic(n)), req.DeleteTopicRequest(topic="absent", topic_id=NO_ID)],
    ),
)


def _records(name: str, offsets: Mapping[int, int], **configs: str) -> Case:
    dotted = {key.replace("_", "."): value for key, value in configs.items()}

    def prepare(world: World, topic_name: str) -> Sequence[req.Request]:
        topic = world.topic(topic_name, configs=dotted)
        return [cut(topic, offsets)]

    return Case("DeleteRecords", name, prepare)


DELETE_RECORDS = (
    _records("nothing is there and nothing goes", {0: 0, 1: 0}),
    _records("to the end", {0: -1}),
    _records("past the end", {0: 1}),
    _records("a negative offset", {0: -2}),
    _records("no partitions", {}),
    _records("a partition that is not there", {7: 0}),
    _records("one of two is past the end", {0: 0, 1: 5}),
    _records("a compacted topic", {0: 0}, cleanup_policy="compact"),
    _records("a topic that is compacted and deleted from", {0: 0}, cleanup_policy="compact,delete"),
    _records("a topic without a policy", {0: 0}, cleanup_policy=""),
    Case(
        "DeleteRecords",
        "an internal topic",
        lambda w, _: [cut(w.internal_topic(_OFFSETS), {0: 0})],
    ),
    Case(
        "DeleteRecords",
        "a partition that an internal topic has not",
        lambda w, _: [cut(w.internal_topic(_OFFSETS), {7: 0})],
    ),
    Case(
        "DeleteRecords",
        "the topic was made anew",
        lambda w, n: [cut(replace(w.topic(n), topic_id=NO_ID), {0: 0})],
    ),
    Case(
        "DeleteRecords",
        "one of two topics is gone",
        lambda w, n: [
            cut(w.topic(n), {0: 0}),
            req.DeleteRecordsRequest(
                topic="absent", topic_id=NO_ID, deleted_message_offsets={0: 0}
            ),
        ],
    ),
)

TOPICS: Sequence[Case] = (
    *CREATE_TOPIC,
    *ALTER_CONFIGS,
    *ALTER_PARTITIONS,
    *ALTER_REPLICAS,
    *DELETE_TOPIC,
    *DELETE_RECORDS,
)


# Requests while broker 3 is dead, so that replicas that move to it do not arrive: these are the
# reassignments that run while something else is asked.

DEAD_BROKER = 3
_AWAY: Assignment = ((1, 2), (2, 1))  # none of them on the broker that dies
_TO_DEAD: Assignment = ((3, 2), (2, 1))
_ON_DEAD: Assignment = ((3,), (3,))

_Prepare = Callable[[World, str], Sequence[Ask]]


def _dead(rpc: str, name: str, prepare: _Prepare) -> Case:
    return Case(rpc, name, prepare, dead=True)


def _moving(rpc: str, name: str, then: Callable[[TopicState], Ask]) -> Case:
    """Replicas of partition 0 are on their way to the dead broker when ``then`` is asked."""

    def prepare(world: World, topic_name: str) -> Sequence[Ask]:
        topic = world.topic(topic_name, _AWAY)
        return [move(topic, _TO_DEAD), then(topic)]

    return Case(rpc, name, prepare, dead=True, apart=True)


def _on(assignment: Assignment, ask: Callable[[TopicState], Ask]) -> _Prepare:
    return lambda world, name: [ask(world.topic(name, assignment))]


def _cancelling(*partitions: int) -> Callable[[TopicState], Ask]:
    return lambda topic: Cancellation(moves={topic.name: partitions})


DEAD: Sequence[Case] = (
    _dead(
        "CreateTopic", "one of its brokers is dead", lambda _, n: [creation(n, ((3, 1), (2, 3)))]
    ),
    _dead("CreateTopic", "all its brokers are dead", lambda _, n: [creation(n, ((1,), (3,)))]),
    _dead(
        "CreateTopic",
        "kgitops placed a replica on a broker that died since",
        lambda _, n: [creation(n, ((3, 1), (1, 2)), generated=True)],
    ),
    _dead(
        "CreateTopic",
        "kgitops placed a partition on a broker that died since",
        lambda _, n: [creation(n, ((1,), (3,)), generated=True)],
    ),
    _dead("CreateTopic", "dead and unknown", lambda _, n: [creation(n, ((3, 99),))]),
    _dead(
        "CreateTopic",
        "dead, in lists of unequal length",
        lambda _, n: [creation(n, ((1, 2), (3,)))],
    ),
    _dead(
        "AlterTopic configs",
        "no broker of the topic is alive",
        _on(_ON_DEAD, lambda t: alteration(t, CONFIGS, configs={"retention.ms": "1"})),
    ),
    _dead(
        "AlterTopic partitions",
        "one of the brokers is dead",
        _on(TWO, lambda t: alteration(t, PARTITIONS, assignment=(*TWO, (1, 3)))),
    ),
    _dead(
        "AlterTopic partitions",
        "all the brokers are dead",
        _on(_ON_DEAD, lambda t: alteration(t, PARTITIONS, assignment=(*_ON_DEAD, (1,), (3,)))),
    ),
    _moving(
        "AlterTopic partitions",
        "while replicas move",
        lambda t: alteration(t, PARTITIONS, assignment=(*_AWAY, (1, 2))),
    ),
    _moving(
        "AlterTopic partitions",
        "while replicas move, with as many as there are meanwhile",
        lambda t: alteration(t, PARTITIONS, assignment=(*_AWAY, (1, 2, 3))),
    ),
    _moving(
        "AlterTopic configs",
        "while replicas move",
        lambda t: alteration(t, CONFIGS, configs={"retention.ms": "1"}),
    ),
    _dead("AlterTopic replicas", "to a dead broker", _on(_AWAY, lambda t: move(t, _TO_DEAD))),
    _dead("AlterTopic replicas", "all to dead brokers", _on(_AWAY, lambda t: move(t, _ON_DEAD))),
    _dead("AlterTopic replicas", "from a dead broker", _on(TWO, lambda t: move(t, _AWAY))),
    _dead(
        "AlterTopic replicas", "from a dead broker only", _on(_ON_DEAD, lambda t: move(t, _AWAY))
    ),
    _moving("AlterTopic replicas", "the same again while they move", lambda t: move(t, _TO_DEAD)),
    _moving("AlterTopic replicas", "back while they move", lambda t: move(t, _AWAY)),
    _moving(
        "AlterTopic replicas",
        "elsewhere while they move",
        lambda t: move(t, ((2, 1), (2, 1))),
    ),
    _moving(
        "AlterTopic replicas",
        "to an unknown broker while they move",
        lambda t: move(t, ((1, 99), (2, 1))),
    ),
    _moving("DeleteTopic", "while its replicas move", delete),
    _dead("DeleteTopic", "no broker of it is alive", _on(_ON_DEAD, delete)),
    _dead("DeleteRecords", "no leader is alive", _on(_ON_DEAD, lambda t: cut(t, {0: 0}))),
    _dead(
        "DeleteRecords",
        "the leader died, another took over",
        _on(((3, 1), (2, 1)), lambda t: cut(t, {0: 0, 1: 0})),
    ),
    _dead(
        "AlterBroker",
        "the broker is dead",
        lambda _, __: [AlterBrokerRequest(broker=3, configs={LEADER_RATE: "1000"})],
    ),
    _dead("Cancel moves", "none runs", _on(_AWAY, _cancelling(0))),
    _moving("Cancel moves", "as asked", _cancelling(0)),
    _moving("Cancel moves", "one runs, the other does not", _cancelling(0, 1)),
    _moving("Cancel moves", "a partition that is not there", _cancelling(7)),
    _moving("Cancel moves", "no partitions", _cancelling()),
    _dead(
        "Cancel moves",
        "there is no such topic",
        lambda _, __: [Cancellation(moves={"absent": (0,)})],
    ),
)
