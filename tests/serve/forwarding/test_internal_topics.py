"""Topics that brokers have created: those that Metadata misses, and their own."""

import threading
from pathlib import Path

import pytest
from cluster.clusters import BOTH, a_grant
from cluster.policing import Recorder, denying, policed
from patience import eventually
from serve.answers.groups.group_client import make_topic
from serve.forwarding.test_envelopes import enveloped, frame_of
from serve.raw_client import RawClient, raw_client
from serve.served import served
from serve.topic_requests import created, creating, new_topic, seen

from kgitops.cluster.embedded.options import Compat
from kgitops.library import open_project
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.policy import Principal
from kgitops.serve.forwarding.brokers.internal_topics import create_topics_frame, internal_topic
from kgitops.serve.forwarding.envelope import DefaultPrincipalSerde
from kgitops.serve.nodes import Endpoint
from kgitops.testing import cluster
from kgitops.wire import messages
from kgitops.wire.codec import read, write

ABSENT = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OFFSETS = "__consumer_offsets"


def test_metadata_has_the_controller_create_a_topic() -> None:
    """F590-32, F590-35: the client waits meanwhile; with the client's principal."""
    recorder = Recorder()
    with served(policed(recorder)) as brokers, brokers.client(2, "User:alice") as client:
        assert seen(client, "orders", creates=True) == 0
        assert brokers.redirected() == 1
        assert [call.principal for call in recorder.requests] == [Principal("User", "alice")]


def test_as_kafka_has_it_the_client_is_not_waited_with() -> None:
    """F590-35, F590-36, C-21: it is answered 3 at once, and asks again."""
    with served(compat=Compat.KRAFT) as brokers, brokers.client(1) as client:
        assert seen(client, "orders", creates=True) == ABSENT
        with brokers.client(3) as other:
            eventually(
                lambda: seen(other, "orders"),
                lambda code: not code,
                what="the topic is created",
            )
        assert seen(client, "orders", creates=True) == 0


@pytest.mark.parametrize("compat", BOTH)
def test_a_client_without_the_right_gets_no_topic(compat: Compat) -> None:
    """F590-36: the controller asks for the client's rights."""
    grants = (a_grant(Operation.DESCRIBE, ResourceType.TOPIC, "orders", "User:a"),)
    with (
        served(compat=compat, rights=grants) as brokers,
        brokers.client(1, "User:a") as client,
    ):
        assert seen(client, "orders", creates=True) in (
            ABSENT,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        )
        with brokers.client(1, "User:root") as root:
            assert created(root, "other") == {"other": 0}
        assert brokers.topics() == ["other"]


def test_topics_are_only_created_where_brokers_allow_that() -> None:
    """F590-32: ``auto.create.topics.enable``."""
    static = {"auto.create.topics.enable": "false"}
    with served(static_configs=static) as brokers, brokers.client(1) as client:
        assert seen(client, "orders", creates=True) == ABSENT
        assert brokers.server.forwarding_metrics == {}


def test_an_internal_topic_passes_by_the_policies() -> None:
    """F590-33, F590-34, C-17: they did while brokers wrote them themselves; no other topic does."""
    with served(policed(denying("no topics here"))) as brokers, brokers.client(1) as client:
        assert seen(client, OFFSETS, creates=True) == 0
        assert seen(client, "orders", creates=True) == ABSENT
        assert created(client, "orders") == {"orders": ErrorCode.POLICY_VIOLATION}
        assert brokers.topics() == [OFFSETS]


def test_in_kraft_an_internal_topic_is_judged() -> None:
    """F590-36: a policy that is too strict keeps it from being there."""
    with (
        served(policed(denying("no topics here"), compat=Compat.KRAFT)) as brokers,
        brokers.client(1) as client,
    ):
        for _ in range(3):
            assert seen(client, OFFSETS, creates=True) == ABSENT
        assert created(client, "orders") == {"orders": ErrorCode.POLICY_VIOLATION}
        assert brokers.topics() == []


def as_client(data: bytes, principal: str) -> object:
    """A broker's Envelope with the flag that lets its request pass by the policies."""
    return messages.ServedEnvelope(
        request_data=data,
        request_principal=DefaultPrincipalSerde().serialize(principal),
        client_host_address=bytes((127, 0, 0, 1)),
        bypasses_policies=True,
    )


@pytest.mark.parametrize(
    ("principal", "name", "created"),
    [
        ("User:kafka", OFFSETS, True),
        ("User:kafka", "orders", False),
        ("User:alice", OFFSETS, False),
    ],
)
def test_the_flag_is_a_brokers_and_for_its_own_topics(
    principal: str, name: str, *, created: bool
) -> None:
    """F590-34, C-17: for clients it does not count, nor for other topics."""
    with served(policed(denying("no topics here"))) as brokers, brokers.as_broker() as broker:
        frame = create_topics_frame("broker-1", new_topic(name, 1, 1), 1000)
        envelope = as_client(frame, principal)
        # Kafka's Envelope and this one have the same bytes, but for the tags.
        body = write(envelope, 0)
        assert read(messages.EnvelopeRequest, 0, bytes(body)).request_data
        broker.send_body("Envelope", 0, body)
        assert broker.receive("Envelope", 0).error_code == 0
        assert brokers.topics() == ([name] if created else [])


def test_the_flag_counts_only_for_requests_of_internal_topics_only() -> None:
    """F590-34: a request that names another topic too is judged by the policies."""
    with served(policed(denying("no topics here"))) as brokers, brokers.as_broker() as broker:
        request = frame_of("CreateTopics", 7, creating(OFFSETS, "orders"))
        broker.send_body("Envelope", 0, write(as_client(request, "User:kafka"), 0))
        assert broker.receive("Envelope", 0).error_code == 0
        assert brokers.topics() == []


def test_a_broker_needs_no_acl_for_its_own_topics() -> None:
    """F590-33: a client's right to a group suffices to have the topic of groups created."""
    group = a_grant(Operation.DESCRIBE, ResourceType.GROUP, "g", "User:alice")
    with (
        served(rights=(group,), internal_topics=True) as brokers,
        brokers.client(1, "User:alice") as client,
    ):
        request = messages.FindCoordinatorRequest(key="g", key_type=0)
        assert client.ask("FindCoordinator", 3, request).error_code == 0
        assert brokers.topics() == [OFFSETS]


def test_only_a_forwarding_broker_creates_internal_topics_without_acls() -> None:
    """F590-34: a client that asks a controller itself doesn't get the brokers' rights by name."""
    with served(rights=()) as brokers, brokers.client(3000, "User:kafka") as client:
        assert created(client, OFFSETS) == {OFFSETS: ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        assert brokers.topics() == []


def test_a_client_has_no_such_flag() -> None:
    """F590-34: CreateTopics has no field for it, and clients can't send Envelopes."""
    fields = messages.CreateTopicsRequest().__struct_fields__
    assert set(fields) == {"topics", "timeout_ms", "validate_only"}
    with served() as brokers, brokers.client(3000) as client:
        topic = internal_topic(brokers.server.cluster, OFFSETS)
        request = frame_of("CreateTopics", 7, messages.CreateTopicsRequest(topics=[topic]))
        answer = client.ask("Envelope", 0, enveloped(request))
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_many_that_want_a_topic_make_one_request() -> None:
    """F590-36: concurrent creations of the same topic are one."""
    with served() as brokers:
        brokers.done("move-controller")
        found: list[int] = []

        def ask() -> None:
            with brokers.client(1) as client:
                found.append(seen(client, "orders", creates=True))

        threads = [threading.Thread(target=ask) for _ in range(5)]
        for thread in threads:
            thread.start()

        def once_queued() -> bool:
            metrics = brokers.server.forwarding_metrics.get(1)
            return metrics is not None and bool(metrics.queued)

        eventually(once_queued, what="the request waits for a controller")
        brokers.done("move-controller", controller=3000)
        for thread in threads:
            thread.join()
        assert found == [0] * 5
        assert brokers.redirected() <= 5


def test_internal_topics_are_as_brokers_configs_say() -> None:
    """F590-32: partitions, replicas on no more brokers than there are, and compaction."""
    static = {"offsets.topic.num.partitions": "7"}
    with served(static_configs=static) as brokers, brokers.client(1) as client:
        assert seen(client, OFFSETS, creates=True) == 0
        topic = brokers.embedded.controller.image().topics.by_name[OFFSETS]
        assert (len(topic.assignment), len(topic.assignment[0])) == (7, 3)
        assert topic.configs["cleanup.policy"] == "compact"


def coordinator_of(client: RawClient, key: str, key_type: int = 0) -> int:
    """The error code of FindCoordinator."""
    request = messages.FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    code: int = client.ask("FindCoordinator", 6, request).coordinators[0].error_code
    return code


def found(client: RawClient, key_type: int = 0) -> None:
    """Ask for a coordinator as clients do: again, until there is one."""
    eventually(
        lambda: coordinator_of(client, "g", key_type),
        lambda code: not code,
        what="the coordinator is found",
    )


def test_as_kafka_has_it_coordinators_come_with_their_topics() -> None:
    """F590-35, C-21: the first client asks again, and then the topic is there, marked internal."""
    with served(compat=Compat.KRAFT, internal_topics=True) as brokers, brokers.client(1) as client:
        assert coordinator_of(client, "g") == ErrorCode.COORDINATOR_NOT_AVAILABLE
        found(client)
        assert brokers.topics() == [OFFSETS]
        found(client, 1)
        listed = client.ask("Metadata", 12, messages.MetadataRequest(topics=None)).topics
        assert {(topic.name, topic.is_internal, len(topic.partitions)) for topic in listed} == {
            (OFFSETS, True, 50),
            ("__transaction_state", True, 50),
        }


def test_no_topic_for_a_client_without_rights_or_a_group_that_is_not_served() -> None:
    """Kafka asks for the right first; share groups are not served."""
    with (
        served(compat=Compat.KRAFT, rights=(), internal_topics=True) as brokers,
        brokers.client(1, "User:alice") as client,
    ):
        refused = ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert coordinator_of(client, "g") == refused
        assert coordinator_of(client, "g:x:0", 2) == ErrorCode.INVALID_REQUEST
        assert brokers.topics() == []


def test_a_refused_internal_topic_keeps_nobody_from_its_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """On Kafka there would be no coordinator; here offsets are in the store, and one line tells."""
    with (
        served(
            policed(denying("no topics here"), compat=Compat.KRAFT), internal_topics=True
        ) as brokers,
        brokers.client(1) as client,
    ):
        found(client)
        found(client)
        assert brokers.topics() == []
    assert [record.getMessage() for record in caplog.records if OFFSETS in record.getMessage()] == [
        "the topic __consumer_offsets can't be created: POLICY_VIOLATION"
    ]


def endpoint_of(servers: str) -> Endpoint:
    """The address of the only broker."""
    host, _, port = servers.rpartition(":")
    return Endpoint(host, int(port))


@pytest.mark.parametrize(("excludes", "topics"), [(True, {"orders"}), (False, {"orders", OFFSETS})])
def test_a_pattern_leaves_internal_topics_out(*, excludes: bool, topics: set[str]) -> None:
    """kafka-python's ``exclude_internal_topics``, in a project's own cluster for tests."""
    from kafka import KafkaConsumer

    with cluster(brokers=1) as kafka:
        servers = kafka.bootstrap_servers
        with raw_client(endpoint_of(servers)) as client:
            make_topic(client, "orders")
        consumer = KafkaConsumer(
            bootstrap_servers=servers,
            group_id="g",
            exclude_internal_topics=excludes,
            metadata_max_age_ms=200,
        )

        def assigned() -> set[str]:
            consumer.poll(100)
            return {item.topic for item in consumer.assignment()}

        try:
            consumer.subscribe(pattern=".*")
            eventually(assigned, lambda found: found == topics, what="the topics are assigned")
        finally:
            consumer.close()


def test_a_plan_never_has_internal_topics(tmp_path: Path) -> None:
    """F590-37: kgitops shows, manages and deletes none, by the store and over the wire."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "kgitops.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Project\n"
        "metadata: {name: p, uid: 7b0c9a51-2f0e-4c36-9d1e-5a7c1f0b8e22}\nspec: {manifests: [m]}\n"
    )
    (project / "m").mkdir()
    (project / "m" / "orders.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Topic\nmetadata: {name: orders}\n"
        "spec: {partitions: 1, replicationFactor: 1}\n"
    )
    with cluster(url=f"embedded:{tmp_path}/store.db", brokers=1) as kafka:
        with raw_client(endpoint_of(kafka.bootstrap_servers)) as client:
            found(client)
            found(client, 1)
        for url in (kafka.url, f"embedded:{tmp_path}/store.db"):
            with open_project(project, cluster=url) as opened:
                changes = opened.plan().changes
            assert [change.address for change in changes] == ["topic/orders"]
