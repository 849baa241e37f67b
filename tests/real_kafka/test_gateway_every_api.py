"""One tenant tries the other's names in every field of every API and version that is announced.

The brokers let everybody do anything, so what holds is the gateway's own.
"""

import secrets
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, document
from cluster.kafka.committing import commit
from kafka_clusters import StartKafka
from real_kafka.foreign_requests import MEMBER, Filled, RawClient, told, used
from real_kafka.gateway_members import gateway
from real_kafka.golden_documents import scoped, virtual_cluster

from kgitops.cluster.connect import connect
from kgitops.gateway.naming.registry_tables import read_name_tables
from kgitops.gateway.rewriting.apis import passed_on, used_in_virtual_clusters
from kgitops.sandbox.sandbox import Sandbox
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("test_gateway_every_api")]

SECRET, GLOBAL = "Secret", "everybody.orders"
EQUAL = "Mine"
"""A topic of each tenant, with the same local name."""
SHARED, NAMES = "shared.stream", ("First", "Second")
"""A topic of brokers, and two names of it in the tenant that asks."""
RECORD = b"what only b may read"
SHARING = "b:sharing"
APP = "b:app"
"""A share group and a streams group of ``b``."""
LOGINS = {"SaslHandshake", "SaslAuthenticate", "ApiVersions"}
"""APIs that have no names, and that a listener without SASL does not take."""
COLLECTED = ("GetTelemetrySubscriptions", "PushTelemetry")
"""APIs that only brokers with a plugin for clients' metrics announce."""


class Cluster:
    """Two tenants of one Kafka: ``b`` has a topic, groups, and a transactional id."""

    def __init__(self, kafka: Sandbox, servers: str) -> None:
        self.kafka, self.servers = kafka, servers
        self.configs = {"bootstrap.servers": kafka.servers}
        with closing(connect(f"kafka://{kafka.servers}", base=Path())) as connected:
            links = read_name_tables(connected).by_virtual_cluster["b"].links
        self.physical, self.equal = (links[name.encode()].decode() for name in (SECRET, EQUAL))
        self.topic_id = self._id()

    def state(self) -> object:
        """All that another tenant could change: ends of logs, offsets, members, transactions."""
        from confluent_kafka import Consumer, TopicPartition
        from confluent_kafka.admin import AdminClient

        admin = AdminClient(self.configs)
        consumer = Consumer({**self.configs, "group.id": "state"})
        ends = {
            topic: consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
            for topic in (self.physical, self.equal, GLOBAL)
        }
        consumer.close()
        groups = {
            group.group_id: group.state for group in admin.list_consumer_groups().result().valid
        }
        return (
            set(self._topics()),
            ends,
            {group: state for group, state in groups.items() if not group.startswith("a:")},
            *self._raw_states(),
        )

    def _raw_states(self) -> Iterator[object]:
        """Of the transaction and of newer groups, for which librdkafka has no functions."""
        offsets = messages.DescribeShareGroupOffsetsRequest
        of_group = offsets.DescribeShareGroupOffsetsRequestGroup(group_id=SHARING, topics=None)
        raw = RawClient(self.kafka.servers)
        for name, version, message in (
            (
                "DescribeTransactions",
                0,
                messages.DescribeTransactionsRequest(transactional_ids=["b:tx"]),
            ),
            ("ShareGroupDescribe", 1, messages.ShareGroupDescribeRequest(group_ids=[SHARING])),
            ("StreamsGroupDescribe", 0, messages.StreamsGroupDescribeRequest(group_ids=[APP])),
            ("DescribeShareGroupOffsets", 1, offsets(groups=[of_group])),
        ):
            found = raw.value(apis()[keys()[name]], version, message)
            assert found is not None
            yield told(found, lambda value: value)
        raw.close()

    def _topics(self) -> set[str]:
        from confluent_kafka.admin import AdminClient

        return set(AdminClient(self.configs).list_topics(timeout=20).topics)

    def _id(self) -> bytes:
        raw = RawClient(self.kafka.servers)
        kind = messages.MetadataRequest
        api = apis()[keys()["Metadata"]]
        asked = kind(topics=[kind.MetadataRequestTopic(name=self.physical)])
        found = raw.value(api, 12, asked)
        raw.close()
        assert found is not None
        return bytes(found.topics[0].topic_id)


@pytest.fixture
def cluster(own_kafka: StartKafka, here: Path, kgitops: Kgitops) -> Iterator[Cluster]:
    """``a`` comes by a listener that is bound to it."""
    kafka = own_kafka(brokers=1)
    cluster = {"url": f"kafka://{kafka.servers}"}
    Project(Path(), "tenants").write_file(clusters={"kafka": cluster})
    Path("manifests").mkdir()
    one = {"partitions": 1, "replicationFactor": 1}
    documents = (
        document("Topic", GLOBAL, **one),
        *(virtual_cluster(name) for name in ("a", "b")),
        document("Topic", SHARED, **one),
        *(scoped("TopicLink", "a", name, target={"physicalTopic": SHARED}) for name in NAMES),
        *(scoped("Topic", tenant, EQUAL, **one) for tenant in ("a", "b")),
        scoped("Topic", "b", SECRET, **one),
    )
    Path("manifests/all.yaml").write_text(as_yaml(documents))
    applied = kgitops("apply", "--auto-approve")
    assert applied.code == 0, applied.said
    with gateway(here, "--virtual-cluster", "a") as process:
        found = Cluster(kafka, process.servers)
        fill(found)
        yield found


def fill(cluster: Cluster) -> None:
    """A record, offsets of a group, and a transaction that is not yet ended."""
    from confluent_kafka import Producer

    producer = Producer({**cluster.configs, "transactional.id": "b:tx"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(cluster.physical, RECORD)
    producer.commit_transaction(20)
    commit(cluster.configs, "b:etl", {(cluster.physical, 0): 1})
    fill_share_group(cluster)
    fill_streams_group(cluster)


def fill_streams_group(cluster: Cluster) -> None:
    """An application that reads the topic; its member has left."""
    kind = messages.StreamsGroupHeartbeatRequest
    part = kind.Subtopology(subtopology_id="0", source_topics=[cluster.physical])
    first = kind(
        rebalance_timeout_ms=10_000,
        topology=kind.Topology(subtopologies=[part]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
    )
    raw = RawClient(cluster.kafka.servers)
    for epoch, beat in ((0, first), (-1, kind())):
        beat.group_id, beat.member_id, beat.member_epoch = APP, MEMBER, epoch
        found = raw.value(apis()[keys()["StreamsGroupHeartbeat"]], 0, beat)
        assert found is not None
        assert found.error_code == 0, found
    raw.close()


def fill_share_group(cluster: Cluster) -> None:
    """One with an offset, whose member has left."""
    raw = RawClient(cluster.kafka.servers)
    kind = messages.ShareGroupHeartbeatRequest
    for epoch in (0, -1):
        beat = kind(
            group_id=SHARING,
            member_id=MEMBER,
            member_epoch=epoch,
            subscribed_topic_names=[cluster.physical] if epoch == 0 else None,
        )
        found = raw.value(apis()[keys()["ShareGroupHeartbeat"]], 1, beat)
        assert found is not None
        assert found.error_code == 0, found
    offsets = messages.AlterShareGroupOffsetsRequest
    partition = offsets.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=1)
    topic = offsets.AlterShareGroupOffsetsRequestTopic(
        topic_name=cluster.physical, partitions=[partition]
    )
    altered = raw.value(
        apis()[keys()["AlterShareGroupOffsets"]], 0, offsets(group_id=SHARING, topics=[topic])
    )
    raw.close()
    assert altered is not None
    assert altered.error_code == 0, altered
    assert altered.responses[0].partitions[0].error_code == 0, altered


def test_nothing_of_another_tenant_is_reached_or_learnt(cluster: Cluster) -> None:
    """A name of others is answered as one that nobody has, in every API and version.

    What has the same name there is another's, and of several names of a topic the answer has that
    of the question.
    """
    before = cluster.state()
    client = RawClient(cluster.servers)
    by_broker, announced = announced_by(cluster.kafka.servers), announced_by(cluster.servers)
    assert by_broker.keys() | {keys()[name] for name in COLLECTED} == passed_on()
    assert announced.keys() == used_in_virtual_clusters()
    for key, versions in announced.items():
        assert {*versions} <= {*by_broker[key]}
    tried = [each for each in used(announced, apis()) if each[0].name not in LOGINS]
    names = (
        SECRET,
        cluster.physical,
        GLOBAL,
        "etl",
        "b:etl",
        "tx",
        "b:tx",
        f"b:{SECRET}",
        SHARING,
        APP,
    )
    for name in (EQUAL, *NAMES):
        for api, version in tried:
            filled = Filled(name, cluster.topic_id, batch(b"written by a"))
            answer = told(client.value(api, version, filled.request(api, version, 2)), str)
            where = f"{api.name} {version} about {name}: {answer}"
            assert not leaks(repr(answer), cluster), where
            # Groups and transactional ids get these names as well, and stay.
            listing = api.name in {"ListGroups", "ListTransactions"}
            others = {SHARED} if listing else {SHARED, *NAMES} - {name}
            assert not others & {*words(answer)}, where
    # The same one for a name each time: both are groups of the client's own by and by.
    unknown = {name: "u" + secrets.token_hex(len(name))[: len(name) - 1] for name in names}
    nobodys = secrets.token_bytes(16)
    # Longest first: they are the client's own words, also in names of groups that it has made.
    known = tuple(sorted({*names, *unknown.values()}, key=len, reverse=True))
    count = 0
    for api, version in tried:
        for name in names:
            of_groups = "Configs" in api.name or api.name == "StreamsGroupHeartbeat"
            for resource_type in (2, 32) if of_groups else (2,):
                answers = []
                for what, topic_id in ((name, cluster.topic_id), (unknown[name], nobodys)):
                    filled = Filled(what, topic_id, batch(b"written by a"))
                    answer = client.value(api, version, filled.request(api, version, resource_type))
                    change = partial(anonymous, names=known, topic_id=topic_id)
                    answers.append(told(answer, change))
                    count += answer is not None
                where = f"{api.name} {version} about {name}"
                assert answers[0] == answers[1], where
                assert not leaks(repr(answers[0]), cluster), f"{where}: {answers[0]}"
    client.close()
    assert cluster.state() == before
    assert count > 2000
    assert {api.name for api, _ in tried} >= {"Fetch", "Produce", "ConsumerGroupHeartbeat"}
    assert {api.name for api, _ in tried} >= {"ShareFetch", "StreamsGroupHeartbeat"}


def announced_by(servers: str) -> dict[int, range]:
    """The APIs and versions that a broker announces."""
    raw = RawClient(servers)
    asked = messages.ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    found = raw.value(apis()[keys()["ApiVersions"]], 3, asked)
    raw.close()
    assert found is not None
    return {row.api_key: range(row.min_version, row.max_version + 1) for row in found.api_keys}


def anonymous(value: object, names: tuple[str, ...], topic_id: bytes) -> object:
    """A value of a response, in which neither name nor id tells which of two was asked about."""
    if isinstance(value, str):
        for name in names:
            value = value.replace(name, "…")
        return value
    return b"\\0" if value == topic_id else value


def words(answer: object) -> Iterator[str]:
    """The values of an answer as text."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, list):
        for each in answer:
            yield from words(each)
    else:
        yield str(answer)


def leaks(text: str, cluster: Cluster) -> bool:
    """Tells if a text has something of the other tenant."""
    uuids = [name.partition(".")[0] for name in (cluster.physical, cluster.equal)]
    return (
        any(uuid in text for uuid in uuids)
        or repr(RECORD)[2:-1] in text
        or repr(cluster.topic_id) in text
    )


def batch(value: bytes) -> bytes:
    """A batch of one record."""
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1000,
    )
    builder.append(0, timestamp=1, key=None, value=value, headers=[])
    return bytes(builder.build())
