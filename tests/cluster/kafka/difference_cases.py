"""Every request of the port in every way that it can go wrong while all brokers are alive.

A case names its objects after itself, so that all of them can be asked of one cluster in turn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cluster.kafka.difference_world import (
    CONFIGS,
    NO_ID,
    PARTITIONS,
    REPLICAS,
    TWO,
    Case,
    World,
    cut,
    delete,
    move,
)
from cluster_contract.contract import alteration, binding, creation

from kgitops.model.acls import CLUSTER_NAME, AclBinding, Operation, PatternType, ResourceType
from kgitops.model.names import REGISTRY_TOPIC
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterStep,
    CreateAclRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.throttles import FOLLOWER_RATE, LEADER_RATE
from kgitops.model.topics import Assignment, TopicState

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


def _colliding(world: World, name: str) -> Sequence[Request]:
    world.topic(f"{name}.a_b")
    return [creation(f"{name}.a.b")]


def _existing(world: World, name: str) -> Sequence[Request]:
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

    def prepare(world: World, topic_name: str) -> Sequence[Request]:
        topic = world.topic(topic_name, configs=before)
        return [alteration(topic, CONFIGS, configs=configs) for configs in batch]

    return Case("AlterTopic configs", name, prepare)


def _gone(step: AlterStep) -> Callable[[World, str], Sequence[Request]]:
    """A topic that was deleted and made anew."""

    def prepare(world: World, name: str) -> Sequence[Request]:
        topic = replace(world.topic(name), topic_id=NO_ID)
        wanted = {CONFIGS: TWO, PARTITIONS: (*TWO, (1, 2)), REPLICAS: ((2, 3), (3, 1))}[step]
        configs = {"retention.ms": "1"} if step is CONFIGS else {}
        return [alteration(topic, step, assignment=wanted, configs=configs)]

    return prepare


def _absent(step: AlterStep) -> Callable[[World, str], Sequence[Request]]:
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


def _deleted_before(world: World, name: str) -> Sequence[Request]:
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
        lambda w, n: [delete(w.topic(n)), DeleteTopicRequest(topic="absent", topic_id=NO_ID)],
    ),
)


def _records(name: str, offsets: Mapping[int, int], **configs: str) -> Case:
    dotted = {key.replace("_", "."): value for key, value in configs.items()}

    def prepare(world: World, topic_name: str) -> Sequence[Request]:
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
            DeleteRecordsRequest(topic="absent", topic_id=NO_ID, deleted_message_offsets={0: 0}),
        ],
    ),
)

_BINDINGS: Mapping[str, AclBinding] = {
    "as asked": binding(),
    "every topic": replace(binding(), resource_name="*"),
    "a prefix": replace(binding(), pattern_type=PatternType.PREFIXED),
    "the prefix that is a star": replace(
        binding(), pattern_type=PatternType.PREFIXED, resource_name="*"
    ),
    "no resource name": replace(binding(), resource_name=""),
    "a topic name that can not be": replace(binding(), resource_name="a b"),
    "the cluster": replace(
        binding(operation=Operation.ALTER),
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
    ),
    "a cluster of another name": replace(
        binding(operation=Operation.ALTER), resource_type=ResourceType.CLUSTER, resource_name="x"
    ),
    "the cluster as a prefix": replace(
        binding(operation=Operation.ALTER),
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
        pattern_type=PatternType.PREFIXED,
    ),
    "a transactional id": replace(
        binding(operation=Operation.WRITE), resource_type=ResourceType.TRANSACTIONAL_ID
    ),
    "a delegation token": replace(
        binding(operation=Operation.DESCRIBE), resource_type=ResourceType.DELEGATION_TOKEN
    ),
    "a user": replace(
        binding("User:billing", Operation.CREATE_TOKENS), resource_type=ResourceType.USER
    ),
    "a user that is none": replace(
        binding("billing", Operation.CREATE_TOKENS), resource_type=ResourceType.USER
    ),
    "two-phase commit": replace(
        binding(operation=Operation.TWO_PHASE_COMMIT), resource_type=ResourceType.TRANSACTIONAL_ID
    ),
    "an operation that groups do not know": replace(
        binding(operation=Operation.WRITE), resource_type=ResourceType.GROUP
    ),
    "a principal without a type": replace(binding(), principal="billing"),
    "no principal": replace(binding(), principal=""),
    "a principal without a name": replace(binding(), principal="User:"),
    "a principal without a type's name": replace(binding(), principal=":billing"),
    "everyone": replace(binding(), principal="User:*"),
    "no host": replace(binding(), host=""),
    "a host that is no address": replace(binding(), host="example.com"),
}

CREATE_ACL = (
    *(
        Case("CreateAcl", name, lambda _, __, acl=acl: [CreateAclRequest(binding=acl)])  # type: ignore[misc]
        for name, acl in _BINDINGS.items()
    ),
    Case("CreateAcl", "again", lambda _, __: [CreateAclRequest(binding=binding("again"))] * 2),
    Case(
        "CreateAcl",
        "one wrong among three",
        lambda _, n: [
            CreateAclRequest(binding=acl)
            for acl in (binding(n), replace(binding(n), principal="x"), binding(f"{n}-2"))
        ],
    ),
)

DELETE_ACL = (
    *(
        Case("DeleteAcl", name, lambda _, __, acl=acl: [DeleteAclRequest(binding=acl)])  # type: ignore[misc]
        for name, acl in _BINDINGS.items()
    ),
    Case("DeleteAcl", "again", lambda _, __: [DeleteAclRequest(binding=binding("again"))] * 2),
)


def _quota(name: str, entity: ClientQuotaEntity, **quotas: float | None) -> Case:
    return Case(
        "AlterClientQuota",
        name,
        lambda _, __: [AlterClientQuotaRequest(entity=entity, quotas=quotas)],
    )


_USER: ClientQuotaEntity = (("user", "billing"),)
_IP: ClientQuotaEntity = (("ip", "10.0.0.1"),)

ALTER_CLIENT_QUOTA = (
    _quota("as asked", _USER, producer_byte_rate=1024.0, request_percentage=12.5),
    _quota("the default user", (("user", None),), controller_mutation_rate=1000.5),
    _quota("a user's client", (("user", "a"), ("client-id", None)), consumer_byte_rate=1.0),
    _quota("an address", _IP, connection_creation_rate=5.0),
    _quota("every address", (("ip", None),), connection_creation_rate=5.0),
    _quota("an address of IPv6", (("ip", "::1"),), connection_creation_rate=5.0),
    _quota("an address by name", (("ip", "localhost"),), connection_creation_rate=5.0),
    _quota("no address", (("ip", "999.1.1.1"),), connection_creation_rate=5.0),
    _quota("no entity", (), producer_byte_rate=1.0),
    _quota("an unknown type of entity", (("group", "a"),), producer_byte_rate=1.0),
    _quota("an empty user", (("user", ""),), producer_byte_rate=1.0),
    _quota("an empty client", (("client-id", ""),), producer_byte_rate=1.0),
    _quota("an empty address", (("ip", ""),), connection_creation_rate=1.0),
    _quota("a user at an address", (("user", "a"), *_IP), connection_creation_rate=1.0),
    _quota("no keys", _USER),
    _quota("an unknown key", _USER, no_such_rate=1.0),
    _quota("removes an unknown key", _USER, no_such_rate=None),
    _quota("a key of addresses", _USER, connection_creation_rate=1.0),
    _quota("a key of users", _IP, consumer_byte_rate=1.0),
    _quota("zero", _USER, consumer_byte_rate=0.0),
    _quota("negative", _USER, consumer_byte_rate=-1.0),
    _quota("a fraction of a byte", _USER, consumer_byte_rate=1.5),
    _quota("a fraction of a percent", _USER, request_percentage=0.001),
    _quota("a fraction of a mutation", _USER, controller_mutation_rate=0.1),
    _quota("a fraction of a connection", _IP, connection_creation_rate=1.5),
    _quota("not a number", _USER, request_percentage=float("nan")),
    _quota("infinite", _USER, request_percentage=float("inf")),
    _quota("more than a long", _USER, consumer_byte_rate=1e19),
    _quota("more connections than an int", _IP, connection_creation_rate=1e10),
    _quota("removes a key that is not set", (("user", "none"),), consumer_byte_rate=None),
    _quota("as good as no fraction", _USER, consumer_byte_rate=0.0000001),
    _quota("a fraction and too large", _IP, connection_creation_rate=3e9 + 0.5),
    _quota("exactly 2 to the 63", _USER, consumer_byte_rate=2.0**63),
    _quota("one wrong of two keys", _USER, producer_byte_rate=1.0, consumer_byte_rate=0.0),
    Case(
        "AlterClientQuota",
        "one wrong, then one right of the same entity",
        lambda _, __: [
            AlterClientQuotaRequest(entity=_USER, quotas={"consumer_byte_rate": value})
            for value in (0.0, 7.0)
        ],
    ),
)


def _broker(name: str, broker: int, key: str, value: str | None) -> Case:
    return Case(
        "AlterBroker",
        name,
        lambda _, __: [AlterBrokerRequest(broker=broker, configs={key: value})],
    )


ALTER_BROKER = (
    _broker("as asked", 1, LEADER_RATE, "1000"),
    _broker("removes a rate", 1, LEADER_RATE, None),
    _broker("removes a rate that is not set", 2, FOLLOWER_RATE, None),
    _broker("a rate that is no number", 1, LEADER_RATE, "slow"),
    _broker("a negative rate", 1, LEADER_RATE, "-1"),
    _broker("zero", 1, LEADER_RATE, "0"),
    _broker("a fraction of a rate", 1, FOLLOWER_RATE, "1.5"),
    _broker("a rate past 64 bits", 1, FOLLOWER_RATE, "9223372036854775808"),
    _broker("an empty rate", 1, FOLLOWER_RATE, ""),
    _broker("an unknown key", 1, "no.such.config", "1"),
    _broker("removes an unknown key", 1, "no.such.config", None),
    _broker("a key that needs a restart", 1, "log.dirs", "data"),
    Case(
        "AlterBroker",
        "one of two rates is wrong",
        lambda _, __: [
            AlterBrokerRequest(broker=1, configs={LEADER_RATE: "1", FOLLOWER_RATE: "slow"})
        ],
    ),
    Case(
        "AlterBroker",
        "one of two brokers is unknown",
        lambda _, __: [
            AlterBrokerRequest(broker=broker, configs={LEADER_RATE: "1"}) for broker in (99, 1)
        ],
    ),
    _broker("an unknown broker", 99, LEADER_RATE, "1000"),
    _broker("a broker of no number", -1, LEADER_RATE, "1000"),
)

LIVING: Sequence[Case] = (
    *CREATE_TOPIC,
    *ALTER_CONFIGS,
    *ALTER_PARTITIONS,
    *ALTER_REPLICAS,
    *DELETE_TOPIC,
    *DELETE_RECORDS,
    *CREATE_ACL,
    *DELETE_ACL,
    *ALTER_CLIENT_QUOTA,
    *ALTER_BROKER,
)
