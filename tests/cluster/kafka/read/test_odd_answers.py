"""Answers that no broker of Kafka gives, for each API that kgitops reads with.

Each field of each answer is null, empty, or a number that means nothing; and each answer is cut off
in the middle. kgitops then reads what it can, or ends with one sentence. It never fails itself, and
never asks again for what would be as odd the next time.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from cluster.kafka.lying_broker import LyingBroker, lying_before
from cluster_contract.contract import creation
from msgspec import Struct
from used import configs_of, groups_of, users_of

from kgitops.apply.secrets import salt
from kgitops.cluster.kafka import coordinators
from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.cluster.kafka.read import configs, consumer_groups, groups, usage, virtual_clusters
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.transport.pending import READING
from kgitops.cluster.kafka.virtual_clusters import VirtualClusterBrokers
from kgitops.cluster.kafka.write import topics
from kgitops.cluster.port import Cluster
from kgitops.cluster.registry import meta_record
from kgitops.model import requests as req
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.testing import ClusterForTests
from kgitops.testing import cluster as served_cluster
from kgitops.wire import messages
from kgitops.wire.apis import keys
from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition, version_range
from kgitops.wire.messages import INTEGERS, NIL_UUID, Message, message_class

READ, INTERNAL, REFUSED = "read", "internal error", "that no broker of Kafka gives"
WRITES = {"CreateTopics", "Produce"}
EMPTY = {
    ("DescribeConfigs", "Synonyms"),  # as kgitops asks
    ("DescribeQuorum", "Observers"),
    ("Fetch", "AbortedTransactions"),
    ("Produce", "RecordErrors"),
}
"""The lists of an API that are empty here."""
UNUSED = {
    *("DescribeProducers", "DescribeTopicPartitions", "DescribeTransactions"),
    *("ListTransactions", "OffsetForLeaderEpoch"),
}
TOPIC, GROUP, METRICS, USER = "orders", "etl", "lag", "billing"
CONFIGS = {"socket.timeout.ms": "3000", "socket.connection.setup.timeout.ms": "4500"}
REGISTRY_S = 1.0
"""How long the registry waits for a leader here, instead of 40 s."""
Change = Callable[[Message], object]


def read_everything(cluster: Cluster) -> None:
    cluster.read_state()


def read_usage(cluster: Cluster) -> str:
    """What is not known of the usage is no error: a plan shows it."""
    return "; ".join(gap.problem for gap in cluster.read_usage(frozenset({TOPIC})).not_checked)


def read_groups(cluster: Cluster) -> None:
    groups_of(cluster, frozenset({GROUP}))


def read_users(cluster: Cluster) -> None:
    users_of(cluster, frozenset({USER}))
    users_of(cluster)


def list_metrics(cluster: Cluster) -> None:
    configs_of(cluster, ConfigResourceType.CLIENT_METRICS)
    configs_of(cluster, ConfigResourceType.CLIENT_METRICS, frozenset({METRICS}))


def contend(cluster: Cluster) -> None:
    """Write to the registry as one contender among others."""
    cluster.registry.append([("lock/1", {"schema_version": 1})])


def check_creation(cluster: Cluster) -> str:
    (result,) = cluster.execute(
        [creation("new", ((1,),))], validate_only=True, principal="User:any"
    )
    return "" if result.ok else str(result)


READERS: Mapping[str, Callable[[Cluster], str | None]] = {
    "ApiVersions": read_everything,
    "ConsumerGroupDescribe": read_usage,
    "CreateTopics": check_creation,
    "DescribeAcls": read_everything,
    "DescribeClientQuotas": read_everything,
    "DescribeCluster": read_everything,
    "DescribeConfigs": read_everything,
    "DescribeGroups": read_usage,
    "DescribeLogDirs": read_usage,
    "DescribeQuorum": read_everything,
    "DescribeUserScramCredentials": read_users,
    "DescribeVirtualClusters": read_everything,
    "Fetch": read_everything,
    "FindCoordinator": read_groups,
    "ListConfigResources": list_metrics,
    "ListGroups": read_groups,
    "ListOffsets": read_everything,
    "ListPartitionReassignments": read_everything,
    "ListVirtualClusters": read_everything,
    "Metadata": read_everything,
    "OffsetFetch": read_groups,
    "Produce": contend,
    "ShareGroupDescribe": read_usage,
    "StreamsGroupDescribe": read_usage,
}
"""What asks each API."""


def fill(message: Message) -> None:
    """Put one row into each list that has none, so that there is a field to be odd."""
    kind = definition(type(message).__name__)
    _fill(message, kind, kind.fields)


def _fill(value: Message, kind: MessageDefinition, fields: Sequence[FieldDefinition]) -> None:
    for each in fields:
        inner = kind.struct_fields(each)
        if inner is None:
            continue
        made = getattr(message_class(kind.name), each.element or each.type)
        if not getattr(value, each.attribute):
            setattr(value, each.attribute, [made()] if each.element else made())
        parts = getattr(value, each.attribute)
        for part in parts if each.element else [parts]:
            _fill(part, kind, inner)


def with_groups_of_each_kind(message: Message) -> None:
    """Let there be groups with members, which the broker behind does not have."""
    row = messages.ListGroupsResponse.ListedGroup
    message.groups = [
        *message.groups,
        row("classic", "consumer", "Stable", "classic"),
        row("consumer", "consumer", "Stable", "consumer"),
        row("share", "share", "Stable", "share"),
        row("streams", "streams", "Stable", "streams"),
    ]


def described(message: Message) -> None:
    fill(message)
    for group in message.groups:
        group.error_code = 0


def moves(message: Message) -> None:
    """Let a partition be on the move."""
    row = messages.ListPartitionReassignmentsResponse.OngoingTopicReassignment
    part = messages.ListPartitionReassignmentsResponse.OngoingPartitionReassignment
    message.topics = [row(TOPIC, [part(0, [1], [1], [])])]


def with_newer_groups(message: Message) -> None:
    """Announce what describes the newest kinds of groups."""
    row = messages.ApiVersionsResponse.ApiVersion
    message.api_keys = [*message.api_keys, *(row(keys()[api], 0, 1) for api in sorted(MADE))]


RICH: Mapping[str, Change] = {
    "ListGroups": with_groups_of_each_kind,
    "DescribeGroups": described,
    "ConsumerGroupDescribe": described,
    "ShareGroupDescribe": described,
    "StreamsGroupDescribe": described,
    "ListPartitionReassignments": moves,
    "ApiVersions": with_newer_groups,
}
"""What a served cluster answers without rows has some."""
MADE = frozenset({"ShareGroupDescribe", "StreamsGroupDescribe"})
"""What a served cluster does not answer."""


class Odd(Struct):
    """One field of an answer, and what it is instead of its value."""

    path: tuple[FieldDefinition, ...]
    value: object
    is_there: bool = False
    """True once an answer with the field was changed."""

    def __str__(self) -> str:
        return f"{'.'.join(each.attribute for each in self.path)} = {self.value!r}"

    def is_refused(self, api: str) -> bool:
        """True where Kafka's schema has no null, or the value is no number."""
        last = self.path[-1]
        is_null = self.value is None and not version_range(last.nullable)
        return api != "ApiVersions" and (is_null or self.value in (math.inf, -math.inf))

    def change(self, message: Message) -> None:
        owners = [message]
        for each in self.path[:-1]:
            values = [getattr(owner, each.attribute) for owner in owners]
            owners = [
                part
                for value in values
                for part in (value if isinstance(value, list) else [value])
                if part is not None
            ]
        for owner in owners:
            setattr(owner, self.path[-1].attribute, self.value)
            self.is_there = True


def odd_answers(api: str, version: int) -> Iterator[Odd]:
    """Each oddness of each field that the answer has in this version."""
    kind = definition(f"{api}Response")

    def within(
        fields: Sequence[FieldDefinition], above: tuple[FieldDefinition, ...]
    ) -> Iterator[Odd]:
        for each in fields:
            if version not in version_range(each.versions) or each.tag is not None:
                continue
            path = (*above, each)
            for value in _oddities(each):
                yield Odd(path, value)
            yield from within(kind.struct_fields(each) or (), path)

    yield from within(kind.fields, ())


def _oddities(each: FieldDefinition) -> Sequence[object]:
    if each.element is not None:
        return (None, [])
    if each.type in INTEGERS:
        return (0,) if each.type.startswith("u") else (-1,)
    match each.type:
        case "string":
            return (None, "") if each.name in ("Name", "Host") else (None,)
        case "bytes" | "records":
            return (None, b"", b"garbage", bytes(200))
        case "float64":
            return (math.nan, math.inf, -math.inf, -1.0)
        case "uuid":
            return (NIL_UUID,)
        case _:
            return ()


@pytest.fixture(scope="module")
def served() -> Iterator[ClusterForTests]:
    with served_cluster(brokers=1) as started:
        with closing(boot(started.bootstrap_servers, {})) as cluster:
            _populate(cluster)
        yield started


def _populate(cluster: KafkaCluster) -> None:
    def done(*requests: req.Request) -> None:
        for request in requests:
            (result,) = cluster.execute([request], validate_only=False, principal="User:any")
            assert result.ok, (request, result)

    done(creation(TOPIC, ((1,), (1,)), {"retention.ms": "1000"}))
    topic_id = cluster.read_state().topics[TOPIC].topic_id
    assert topic_id
    binding = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=TOPIC,
        pattern_type=PatternType.LITERAL,
        principal=f"User:{USER}",
        host="*",
        operation=Operation.READ,
        permission_type=PermissionType.ALLOW,
    )
    metrics, group = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
    done(
        req.CreateAclRequest(binding=binding),
        req.AlterClientQuotaRequest(
            entity=(("user", USER),), quotas={"producer_byte_rate": 1024.0}
        ),
        req.AlterConfigResourceRequest(
            resource_type=metrics, resource_name=METRICS, configs={"interval.ms": "5000"}
        ),
        req.AlterConfigResourceRequest(
            resource_type=group,
            resource_name=GROUP,
            configs={"consumer.session.timeout.ms": "50000"},
        ),
        req.AlterConsumerGroupOffsetsRequest(
            group=GROUP,
            topics=(TopicOffsets(topic=TOPIC, topic_id=topic_id, offsets={0: 0, 1: 0}),),
        ),
        req.SaltedCredentialsRequest(
            user=USER,
            mechanism=next(iter(ScramMechanism)),
            iterations=4096,
            salted=salt(Secret(b"correct horse"), next(iter(ScramMechanism)), 4096),
        ),
    )
    cluster.registry.append([meta_record(), ("run/1", {"schema_version": 1})])
    native = VirtualClusterBrokers(cluster)
    for request in (
        req.CreateVirtualClusterRequest(virtual_cluster="emea"),
        req.AlterVirtualClusterRequest(
            virtual_cluster="emea",
            entity_type=EntityType.TOPIC,
            entity_name="local",
            topic=TOPIC,
        ),
    ):
        (result,) = native.execute([request], validate_only=False, principal="User:any")
        assert result.ok, result


def outcome(
    served: ClusterForTests, api: str, change: Change = lambda _: None, *, cut: bool = False
) -> tuple[str, LyingBroker]:
    """Read while the answers of one API are changed; return what is said, and the fake."""

    def changed(message: Message) -> None:
        RICH.get(api, lambda _: None)(message)
        change(message)

    with lying_before(
        served.bootstrap_servers,
        changes={**RICH, api: changed},
        made=MADE,
        cut={api} if cut else set(),
    ) as fake:
        try:
            with closing(boot(fake.server, CONFIGS)) as cluster:
                cluster._registry = KafkaRegistryLog(cluster.wire, {}, REGISTRY_S)
                said = READERS[api](VirtualClusterBrokers(cluster))
        except (UnreachableError, SafetyError) as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 (it is what the test looks for)
            said = f"{INTERNAL} {type(error).__name__}: {error}"
        return said or READ, fake


@pytest.mark.parametrize("api", READERS)
def test_no_answer_is_an_internal_error(served: ClusterForTests, api: str):
    """A null that Kafka's schema has not is refused, with broker, API and field."""
    said, honest = outcome(served, api)
    assert (said, api in honest.versions) == (READ, True)
    failures = []
    oddities = list(odd_answers(api, honest.versions[api]))
    with ThreadPoolExecutor(1 if api in WRITES else 4) as pool:
        outcomes = list(pool.map(lambda odd: outcome(served, api, odd.change), oddities))
    for odd, (said, fake) in zip(oddities, outcomes, strict=True):
        if not odd.is_there:
            assert (api, odd.path[-2].name) in EMPTY, f"no answer has {odd}"
            continue
        is_refused = REFUSED in said
        if INTERNAL in said or "\n" in said or (odd.is_refused(api) and not is_refused):
            failures.append(f"{odd}: {said}")
        if is_refused and (fake.server not in said or f" {api} " not in said):
            failures.append(f"{odd} names no broker or API: {said}")
        if is_refused and fake.seen.count(api) > honest.seen.count(api):
            failures.append(f"{odd} is asked for {fake.seen.count(api)} times")
    assert failures == []


@pytest.fixture(scope="module")
def cut_off(served: ClusterForTests) -> Mapping[str, tuple[str, LyingBroker]]:
    """What is said where the answers of each API are cut off; all at once, as each one waits."""
    with pytest.MonkeyPatch.context() as monkeypatch, ThreadPoolExecutor(8) as pool:
        for module in (configs, groups, usage):
            monkeypatch.setattr(module, "_BROKER_TIMEOUT_MS", 1000)
        for module in (coordinators, consumer_groups, virtual_clusters):
            monkeypatch.setattr(module, "LOOK_MS", 1000)
        monkeypatch.setattr(topics, "SEND_MS", 1000)
        outcomes = pool.map(lambda api: outcome(served, api, cut=True), READERS)
        return dict(zip(READERS, outcomes, strict=True))


@pytest.mark.parametrize("api", READERS)
def test_an_answer_that_ends_in_the_middle(
    cut_off: Mapping[str, tuple[str, LyingBroker]], api: str
):
    """The connection is cut each time: what reads is asked again until its time is over."""
    said, fake = cut_off[api]
    assert said != READ
    assert INTERNAL not in said
    is_first = api in ("ApiVersions", "Metadata")
    assert (fake.seen.count(api) > 1) == (api != "Produce" and not is_first)


def test_all_that_reads_is_in_the_table():
    """An API that is asked anew gets a row here."""
    assert set(READERS) - WRITES == READING - UNUSED
