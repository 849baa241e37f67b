"""Metrics of forwarding."""

from patience import eventually
from serve.served import served
from serve.topic_requests import created, creating

from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.metrics import ForwardingMetrics, metrics_text

PENDING = "num-client-forwarding-to-controller-count"
MISSPELT = "num-client-fowarding-to-controller-count"
UNAUTHORIZED = "request-forwarding-to-controller-authorization-fail-count"


def test_a_client_counts_while_its_request_is_forwarded() -> None:
    """F590-38: under the proposal's name, misspelt as it is, and under the right one."""
    with served() as brokers, brokers.client(1) as client, brokers.client(1) as other:
        brokers.done("move-controller")
        client.send("CreateTopics", 7, creating("one"))
        other.send("CreateTopics", 7, creating("two"))
        eventually(
            lambda: brokers.metrics()[PENDING] if 1 in brokers.server.forwarding_metrics else 0,
            lambda pending: pending >= 2,
            what="both requests are forwarded",
        )
        assert brokers.metrics()[MISSPELT] == 2
        brokers.done("move-controller", controller=3000)
        client.receive("CreateTopics", 7)
        other.receive("CreateTopics", 7)
        eventually(
            lambda: brokers.metrics()[PENDING],
            lambda pending: not pending,
            what="both requests are counted as answered",
        )
        assert brokers.metrics()["num-client-forwarding-to-controller-rate"] > 0


def test_each_envelope_counts() -> None:
    """F590-39: whatever is in it."""
    with served() as brokers, brokers.client(1) as client:
        created(client, "one")
        client.ask("ListPartitionReassignments", 0)
        assert brokers.metrics()["num-messages-redirected-count"] == 2
        assert brokers.metrics()["num-messages-redirected-rate"] > 0


def test_a_broker_without_the_right_is_noticed() -> None:
    """F590-22, F590-39b: its clients get -1, as the mistake is not theirs."""
    with served(broker_rights=False) as brokers, brokers.client(1) as client:
        assert created(client, "one") == {"one": ErrorCode.UNKNOWN_SERVER_ERROR}
        assert brokers.metrics()[UNAUTHORIZED] == 1
        assert brokers.topics() == []


def test_kafkas_own_names_are_there_too() -> None:
    """F590-39c, C-20: those of KIP-938, from times that were measured."""
    now = [0.0]
    metrics = ForwardingMetrics(lambda: now[0])
    for milliseconds in range(1, 101):
        since = now[0]
        with metrics.pending("a client"):
            assert metrics.values()["QueueLength"] == 1
            now[0] += milliseconds / 1000
            with metrics.remote(since):
                assert metrics.values()["QueueLength"] == 0
                now[0] += milliseconds / 100
    values = metrics.values()
    assert values["QueueLength"] == 0
    assert round(values["QueueTimeMs.p99"]) == 100
    assert round(values["QueueTimeMs.p999"]) == 100
    assert round(values["RemoteTimeMs.p99"]) == 1000
    assert round(values["RemoteTimeMs.p999"]) == 1000


def test_rates_are_those_of_the_last_half_minute() -> None:
    """F590-38, F590-39."""
    now = [0.0]
    metrics = ForwardingMetrics(lambda: now[0])
    now[0] = 100
    for _ in range(60):
        with metrics.remote(100):
            pass
    assert metrics.values()["num-messages-redirected-rate"] == 2
    now[0] = 200
    assert metrics.values()["num-messages-redirected-rate"] == 0
    assert metrics.values()["num-messages-redirected-count"] == 60


def test_the_text_has_a_line_for_each_broker() -> None:
    """F590-38, F590-39: in the form that Prometheus reads."""
    one = ForwardingMetrics(lambda: 0.0)
    with one.remote(0):
        pass
    text = metrics_text({1: one, 2: ForwardingMetrics(lambda: 0.0)})
    assert 'kafka_server_num_messages_redirected_count{broker="1"} 1\n' in text
    assert 'kafka_server_num_messages_redirected_count{broker="2"} 0\n' in text
    assert 'kafka_server_QueueTimeMs_p999{broker="1"} 0\n' in text
    assert text.count("# TYPE ") == len(one.values())
    assert metrics_text({}) == ""
