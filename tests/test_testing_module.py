"""kgitops.testing, as the tests of other projects use it: in a folder of their own, by pytest."""

import socket
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.connect import connect
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.results import ErrorCode
from kgitops.serve.nodes import Endpoint
from kgitops.testing import ClusterForTests, cluster
from kgitops.wire import messages
from kgitops.wire.apis import apis

PROJECT = """
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments}
spec:
  manifests: [topics.yaml]
  policies: [{class: "kgitops.policies:PartitionRange", configs: {max: 12}}]
  clusters:
    local: {url: "embedded:local.db", brokers: 3, variables: {partitions: "4"}}
"""
TOPIC = """
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec:
  partitions: ${var:partitions:-3}
  replicationFactor: 1
"""
CONFTEST = """
from kgitops.testing import cluster_fixture
kafka = cluster_fixture("payments", apply=True, brokers=1)
"""
TESTS = """
from confluent_kafka.admin import AdminClient, NewTopic

def partitions(kafka, topic):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return len(admin.list_topics(timeout=30).topics[topic].partitions)

def test_a_topic_is_there(kafka):
    assert partitions(kafka, "orders") == 3

def test_it_is_the_same_cluster(kafka):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic("more", 2, 1)])["more"].result(30)
    assert partitions(kafka, "more") == 2
    assert kafka.url == f"kafka://{kafka.bootstrap_servers}"
"""


@pytest.fixture
def payments(tmp_path: Path) -> Path:
    folder = tmp_path / "payments"
    folder.mkdir()
    (folder / "kgitops.yaml").write_text(PROJECT)
    (folder / "topics.yaml").write_text(TOPIC)
    return folder


def test_two_lines_give_the_tests_of_others_a_kafka(payments: Path) -> None:
    folder = payments.parent
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def connected(kafka: ClusterForTests) -> AbstractContextManager[RawClient]:
    host, _, port = kafka.bootstrap_servers.split(",")[0].rpartition(":")
    return raw_client(Endpoint(host, int(port)))


def create(kafka: ClusterForTests, name: str, partitions: int) -> messages.Message:
    request = messages.CreateTopicsRequest
    wanted = request.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    with connected(kafka) as client:
        return client.ask("CreateTopics", 7, request(topics=[wanted], timeout_ms=9000)).topics[0]


def oldest_version(kafka: ClusterForTests, api: str) -> int:
    """The oldest version of a request that the cluster announces."""
    request = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    with connected(kafka) as client:
        announced = client.ask("ApiVersions", 3, request).api_keys
    return next(row.min_version for row in announced if apis()[row.api_key].name == api)


def metadata(kafka: ClusterForTests) -> messages.Message:
    with connected(kafka) as client:
        return client.ask("Metadata", 12, messages.MetadataRequest(topics=None))


def test_without_a_project_nothing_judges_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payments: Path
) -> None:
    """Also in the folder of a project."""
    monkeypatch.chdir(payments)
    with cluster(brokers=2) as kafka:
        assert create(kafka, "wide", 500).error_code == 0
        assert len(metadata(kafka).brokers) == 2
    host, _, port = kafka.bootstrap_servers.split(",")[0].rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    assert not (payments / "local.db").exists()


def test_policies_judge(payments: Path) -> None:
    with cluster(payments) as kafka:
        refused = create(kafka, "wide", 500)
        assert refused.error_code == ErrorCode.POLICY_VIOLATION
        assert refused.error_message == "wide has 500 partitions; at most 12 are allowed"
        assert metadata(kafka).topics == []


def test_policies_of_the_brokers_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their modules are found in the folder that the tests run in."""
    (tmp_path / "rules.py").write_text(
        "from kgitops.policy import PolicyViolation, TopicManagementPolicy\n"
        "class NoTopics(TopicManagementPolicy):\n"
        "    def validate_create_topic(self, request, cluster_state):\n"
        "        raise PolicyViolation('not today')\n"
        "    def validate_alter_topic(self, request, cluster_state): pass\n"
        "    def validate_delete_topic(self, request, cluster_state): pass\n"
        "    def validate_delete_records(self, request, cluster_state): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    with cluster(configs={"topic.management.policy.class.name": "rules:NoTopics"}) as kafka:
        assert create(kafka, "orders", 1).error_message == "not today"


def test_a_project_is_applied_with_the_variables_of_one_of_its_clusters(payments: Path) -> None:
    with cluster(payments, apply=True, variables_of="local") as kafka:
        (orders,) = (topic for topic in metadata(kafka).topics if topic.name == "orders")
        assert len(orders.partitions) == 4


@pytest.mark.parametrize(
    ("options", "oldest"),
    [({}, 2), ({"url": "embedded:?authorizer=none"}, 2), ({"url": "embedded:?compat=seed"}, 0)],
)
def test_it_answers_as_todays_kafka_unless_its_url_says_otherwise(
    options: dict[str, str], oldest: int
) -> None:
    """KIP-896: Kafka 4 has no CreateTopics below version 2, which KIP-4 has from 0 on."""
    with cluster(brokers=1, **options) as kafka:  # type: ignore[arg-type] (its URL)
        assert oldest_version(kafka, "CreateTopics") == oldest


def test_configs_are_those_of_brokers() -> None:
    with cluster(configs={"num.partitions": "7"}) as kafka:
        assert create(kafka, "orders", -1).num_partitions == 7


def test_a_store_is_kept(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'kept.db'}"
    with cluster(url=url) as kafka:
        create(kafka, "orders", 1)
    opened = connect(url, base=tmp_path)
    assert set(opened.read_state().topics) == {"orders"}
    opened.close()


def test_a_fenced_broker_is_dead_to_clients() -> None:
    with cluster() as kafka:
        kafka.control.fence(3)
        assert [broker.node_id for broker in metadata(kafka).brokers] == [1, 2]
        kafka.control.unfence(3)
        assert [broker.node_id for broker in metadata(kafka).brokers] == [1, 2, 3]


def test_a_broker_that_is_held_sees_nothing_new() -> None:
    with cluster(brokers=1) as kafka:
        kafka.control.hold(1)
        assert create(kafka, "orders", 1).error_code == 0
        assert metadata(kafka).topics == []
        kafka.control.release()
        assert [topic.name for topic in metadata(kafka).topics] == ["orders"]


def test_a_broker_that_is_late_sees_what_is_new_in_the_end() -> None:
    with cluster(brokers=1) as kafka:
        kafka.control.lag(60)
        assert create(kafka, "orders", 1).error_code == 0
        assert metadata(kafka).topics == []
        kafka.control.lag(0)
        assert [topic.name for topic in metadata(kafka).topics] == ["orders"]


def test_a_stopped_node_comes_back_at_its_address() -> None:
    with cluster(brokers=1) as kafka:
        with connected(kafka) as client:
            client.ask("ApiVersions", 3)
            kafka.control.drop_connections(1)
            with pytest.raises(ConnectionError):
                client.ask("ApiVersions", 3)
        kafka.control.stop(1)
        with pytest.raises(ConnectionRefusedError):
            metadata(kafka)
        kafka.control.start(1)
        assert [broker.node_id for broker in metadata(kafka).brokers] == [1]


def test_the_controller_moves() -> None:
    with cluster(brokers=1, controllers=3) as kafka:
        kafka.control.move_controller(3002)
        assert create(kafka, "orders", 1).error_code == 0
        with pytest.raises(UsageError, match="3007"):
            kafka.control.move_controller(3007)
        with pytest.raises(UsageError, match="there is no broker 9"):
            kafka.control.fence(9)


def test_two_clusters_run_side_by_side() -> None:
    with cluster() as one, cluster() as other:
        create(one, "orders", 1)
        assert metadata(other).topics == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "kafka://127.0.0.1:9092"}, "only an embedded one can be served"),
        ({"url": "embedded:?virtual.clusters=lowered"}, "lowered"),
        ({"url": "memory"}, "'memory'"),
        ({"project": "nowhere"}, "nowhere"),
        ({"brokers": 0}, "at least one broker"),
    ],
)
def test_what_cant_be_served_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says), cluster(**options):  # type: ignore[arg-type]
        pass


def test_a_project_that_is_wrong_is_told(payments: Path) -> None:
    (payments / "topics.yaml").write_text(TOPIC.replace("partitions", "partition"))
    with pytest.raises(FindingsError), cluster(payments, apply=True):
        pass
