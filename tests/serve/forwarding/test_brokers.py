"""What brokers do with requests that the controller decides."""

import json
import logging
import threading

import pytest
from cluster.clusters import a_grant
from cluster.policing import Recorder, denying, policed
from serve.forwarding.requests import with_an_item
from serve.raw_client import RawClient
from serve.served import served
from serve.topic_requests import created, creating, seen

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.policy import Principal
from kgitops.serve.dispatch import Dispatcher
from kgitops.serve.forwarding.apis import FIRST_FOR_CONTROLLER, FORWARDED, common_versions
from kgitops.serve.forwarding.audit import item_results
from kgitops.serve.forwarding.envelope import DefaultPrincipalSerde, EnvelopeError
from kgitops.serve.forwarding.options import Routing
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.frames import request_frame
from kgitops.wire.messages import Message


def test_any_broker_takes_what_the_controller_decides() -> None:
    """F590-01, F590-04, F590-05, F590-07, F590-09, A4-27, A4-30, A4-60: and all see it."""
    with served() as brokers:
        for broker in (1, 2, 3):
            with brokers.client(broker) as client:
                assert created(client, f"of-{broker}", version=broker) == {f"of-{broker}": 0}
        assert list(brokers.server.forwarding_metrics) == [1, 2, 3]
        for broker in (1, 2, 3):
            with brokers.client(broker) as client:
                assert [seen(client, f"of-{maker}") for maker in (1, 2, 3)] == [0, 0, 0]


def test_what_kafka_forwards_is_forwarded() -> None:
    """F590-06: DeleteRecords and everything that reads a broker's own view is not."""
    with served() as brokers, brokers.client(1) as client:
        client.ask("Metadata", 12, messages.MetadataRequest(topics=None))
        client.ask("DescribeCluster", 1)
        assert brokers.server.forwarding_metrics == {}
        client.ask("ListPartitionReassignments", 0)
        assert brokers.redirected() == 1
    known = {api.name for api in apis().values() if "controller" in api.listeners}
    assert known >= FORWARDED
    assert not FORWARDED & {"DeleteRecords", "DescribeConfigs", "DescribeAcls", "Metadata"}


def test_a_client_has_its_own_rights_and_no_others() -> None:
    """F590-18, F590-19, F590-40: through a broker, whose rights do not count."""
    grants = (a_grant(Operation.CREATE, ResourceType.TOPIC, "mine", "User:alice"),)
    for routing in (Routing.FORWARD, Routing.DIRECT):
        with (
            served(compat=Compat.KRAFT, rights=grants, routing=routing) as brokers,
            brokers.client(2, "User:alice") as alice,
        ):
            refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            assert created(alice, "mine", "other") == {"mine": 0, "other": refused}


@pytest.mark.parametrize("routing", [Routing.FORWARD, Routing.DIRECT])
def test_policies_judge_the_client_whichever_way_it_came(routing: Routing) -> None:
    """F590-26, F590-40, P201-50: the same words, and the client's principal."""
    denies = denying("not on my cluster")
    with (
        served(policed(denies), routing=routing) as brokers,
        brokers.client(1, "User:alice") as alice,
    ):
        (row,) = alice.ask("CreateTopics", 7, creating("orders")).topics
        assert (row.error_code, row.error_message) == (
            ErrorCode.POLICY_VIOLATION,
            "not on my cluster",
        )
        assert [call.principal for call in denies.requests] == [Principal("User", "alice")]


def altering(*resources: tuple[int, str], key: str = "log.retention.ms") -> Message:
    request = messages.IncrementalAlterConfigsRequest
    return request(
        resources=[
            request.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[request.AlterableConfig(name=key, value="60000")],
            )
            for kind, name in resources
        ]
    )


def test_configs_of_another_broker_are_refused_where_they_arrive() -> None:
    """F590-27, P201-78: nothing is forwarded, and no policy is asked."""
    recorder = Recorder()
    with served(policed(recorder)) as brokers, brokers.client(1) as client:
        recorder.calls.clear()
        answer = client.ask("IncrementalAlterConfigs", 1, altering((4, "2"), (4, "x"), (8, "3")))
        assert [(row.error_code, row.error_message) for row in answer.responses] == [
            (42, "Unexpected broker id, expected 1, but received 2"),
            (42, "Node id must be an integer, but it is: x"),
            (42, "Unexpected node id. Expected 1, but received 3"),
        ]
        assert brokers.server.forwarding_metrics == {}
        assert recorder.calls == []


@pytest.mark.parametrize("routing", [Routing.FORWARD, Routing.DIRECT])
def test_only_the_rest_goes_to_the_controller(routing: Routing) -> None:
    """F590-27: each resource has its own result, in its place; policies judge on the controller."""
    recorder = Recorder()
    with (
        served(policed(recorder, topics=["orders"]), routing=routing) as brokers,
        brokers.client(1) as client,
    ):
        recorder.calls.clear()
        answer = client.ask("IncrementalAlterConfigs", 1, altering((4, "2"), (4, "1"), (4, "")))
        assert [(row.resource_name, row.error_code) for row in answer.responses] == [
            ("2", 42),
            ("1", 0),
            ("", 0),
        ]
        assert "alter broker" in recorder.methods


def codes(client: RawClient, api: str, version: int) -> list[int]:
    """The error of each item of a request that has one."""
    return [code for _, code in item_results(client.ask(api, version, with_an_item(api, version)))]


@pytest.mark.parametrize("api", ["CreateAcls", "DeleteAcls", "AlterClientQuotas", "AlterConfigs"])
def test_newer_versions_are_for_the_controller_alone(api: str) -> None:
    """F590-08, F590-10, A4-16, C-16: with ``strict`` another broker answers 41 to them."""
    first = FIRST_FOR_CONTROLLER[api]
    with served(routing=Routing.STRICT) as brokers:
        with brokers.client(2) as client:
            codes(client, api, first)
            assert brokers.server.forwarding_metrics == {}
            assert ErrorCode.NOT_CONTROLLER not in codes(client, api, first - 1)
            assert brokers.redirected() == 1
            assert codes(client, api, first) == [ErrorCode.NOT_CONTROLLER]
            found = client.ask("Metadata", 12, messages.MetadataRequest(topics=[])).controller_id
        assert found == 1
        with brokers.client(found) as client:
            # The broker that stands for the controller; what it asks is no broker's to refuse.
            assert ErrorCode.NOT_CONTROLLER not in codes(client, api, first)


def test_the_proposals_versions() -> None:
    """F590-10, C-16: its table; two of them are others in Kafka, and one does not exist."""
    assert FIRST_FOR_CONTROLLER == {
        "AlterConfigs": 2,
        "IncrementalAlterConfigs": 2,
        "CreateAcls": 3,
        "DeleteAcls": 3,
        "AlterClientQuotas": 1,
        "CreateDelegationToken": 3,
        "RenewDelegationToken": 3,
        "ExpireDelegationToken": 3,
    }
    assert FIRST_FOR_CONTROLLER.keys() <= FORWARDED
    assert apis()[keys()["IncrementalAlterConfigs"]].versions == range(2)


def test_a_broker_announces_what_the_controller_knows_too() -> None:
    """F590-23: a version that a broker announced would else close its client's connection."""
    create_topics, metadata = keys()["CreateTopics"], keys()["Metadata"]
    found = common_versions(
        {create_topics: range(8), metadata: range(14), keys()["DeleteTopics"]: range(3)},
        {create_topics: range(2, 6), metadata: range(3)},
    )
    assert found == {create_topics: range(2, 6), metadata: range(14)}


def test_versions_of_the_controller_count_once_they_are_known() -> None:
    """F590-23: they are asked when the connection is opened."""
    with served() as brokers, brokers.client(1) as client:
        dispatcher: Dispatcher = brokers.server._dispatcher
        key = keys()["DeleteTopics"]
        older = {**dispatcher._announced[NodeKind.CONTROLLER], key: range(3)}
        dispatcher._announced[NodeKind.CONTROLLER] = older
        before = {row.api_key: row.max_version for row in client.ask("ApiVersions", 3).api_keys}
        created(client, "orders")
        after = {row.api_key: row.max_version for row in client.ask("ApiVersions", 3).api_keys}
        assert (before[key], after[key]) == (6, 2)
        assert after | {key: 6} == before


def test_many_clients_share_a_brokers_connection() -> None:
    """F590-14: each gets its own answer."""
    with served() as brokers:
        failed: list[object] = []

        def ask(number: int) -> None:
            with brokers.client(1) as client:
                for turn in range(5):
                    name = f"t{number}-{turn}"
                    if created(client, name) != {name: 0}:
                        failed.append(name)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(brokers.topics()) == 40
        at_controller = [
            connection
            for connection in brokers.server._listeners.open
            if connection.connection.node.kind is NodeKind.CONTROLLER
        ]
        assert len(at_controller) == 1


def test_a_request_that_is_none_costs_the_connection() -> None:
    """F590-24: as at a broker that decides itself."""
    with served() as brokers, brokers.client(1) as client:
        api = apis()[keys()["CreateTopics"]]
        frame = request_frame(api, 7, 1, "x", creating("orders"))[4:-1]
        client.socket.sendall(len(frame).to_bytes(4, "big") + frame)
        with pytest.raises(ConnectionResetError):
            client.receive_frame()


class RefusingSerde(DefaultPrincipalSerde):
    """A fake: with it the controller answers each Envelope with one error."""

    def __init__(self, code: ErrorCode) -> None:
        self.code = code

    def deserialize(self, data: bytes) -> str:
        raise EnvelopeError(self.code, f"a principal of {len(data)} bytes")


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ],
)
def test_a_client_never_sees_why_its_envelope_was_refused(code: ErrorCode) -> None:
    """F590-24: -1 for each topic, and its connection stays."""
    with served(principal_serde=RefusingSerde(code)) as brokers, brokers.client(1) as client:
        for name in ("one", "two"):
            assert created(client, name) == {name: ErrorCode.UNKNOWN_SERVER_ERROR}
        assert brokers.topics() == []


def test_a_controller_that_does_not_understand_a_request_costs_the_client_its_connection() -> None:
    """F590-24: 35 in an Envelope's answer is the one error without an answer to the client."""
    serde = RefusingSerde(ErrorCode.UNSUPPORTED_VERSION)
    with served(principal_serde=serde) as brokers:
        with brokers.client(1) as client, pytest.raises(ConnectionResetError):
            created(client, "orders")
        assert brokers.redirected() == 1
        # The broker's own connection to the controller stays, and so do those of other clients.
        with brokers.client(1) as other:
            assert seen(other, "orders") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_large_request_is_forwarded() -> None:
    """F590-16: it is read in another thread, and is none the less one request."""
    with served() as brokers, brokers.client(1) as client:
        names = [f"a-topic-with-a-long-name-{number}" for number in range(300)]
        assert set(created(client, *names).values()) == {0}
        assert len(brokers.topics()) == 300
        assert brokers.redirected() == 1


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name == "kgitops.serve.audit"
    ]


@pytest.mark.parametrize("compat", Compat)
def test_the_audit_names_the_client(caplog: pytest.LogCaptureFixture, compat: Compat) -> None:
    """F590-31, F590-40, F590-41, F590-42: at the controller, with what became of each item."""
    caplog.set_level(logging.INFO, "kgitops.serve.audit")
    with served(compat=compat) as brokers, brokers.client(2, "User:alice") as client:
        client.ask(
            "ApiVersions",
            3,
            messages.ApiVersionsRequest(
                client_software_name="apache-kafka-java", client_software_version="4.3.0"
            ),
        )
        created(client, "orders", "a b")
    (line,) = lines(caplog)
    assert isinstance(line.pop("at_ms"), int)
    assert line == {
        "principal": "User:alice",
        "host": "127.0.0.1",
        "listener": "PLAINTEXT",
        "via": 2,
        "api": "CreateTopics",
        "version": 7,
        "client_id": "raw",
        "software": "apache-kafka-java 4.3.0",
        "results": line["results"],
    }
    results = line["results"]
    assert isinstance(results, list)
    assert sorted(map(tuple, results)) == [("a b", 17), ("orders", 0)]


def test_a_client_of_the_controller_came_by_no_broker(caplog: pytest.LogCaptureFixture) -> None:
    """F590-31."""
    caplog.set_level(logging.INFO, "kgitops.serve.audit")
    with served() as brokers, brokers.client(3000) as client:
        assert created(client, "orders") == {"orders": 0}
    (line,) = lines(caplog)
    assert (line["via"], line["listener"]) == (None, "CONTROLLER")


def test_a_request_that_waits_holds_no_other_clients_up() -> None:
    """F590-35: nothing of the listeners or of the decisions stands still for a forwarded one.

    Had the other client waited, the request would have timed out before the controller is back.
    """
    with served() as brokers, brokers.client(1) as client, brokers.client(1) as other:
        brokers.done("move-controller")
        client.send("CreateTopics", 7, creating("orders"))
        assert seen(other, "absent") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        brokers.done("move-controller", controller=3000)
        assert client.receive("CreateTopics", 7).topics[0].error_code == 0
