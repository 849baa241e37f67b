"""A broker that requires logins and certificates, and has a policy of the user's own."""

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from java_classes import compile_java
from kafka_clusters import StartKafka

from kgitops.model.errors import KgitopsError, UsageError
from kgitops.sandbox import layout
from kgitops.sandbox.layout import free_ports
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

ACLS = "org.apache.kafka.tools.AclCommand"
LOGINS = [
    (listener, mechanism)
    for listener in ("SASL_PLAINTEXT", "SASL_SSL")
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
]
POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class LongNames implements CreateTopicPolicy {
    public void configure(Map<String, ?> configs) {}
    public void validate(RequestMetadata request) {
        if (request.topic().length() < 5) throw new PolicyViolationException("too short a name");
    }
    public void close() {}
}
"""


@pytest.fixture(scope="module")
def broker(own_kafka: StartKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A broker whose first port is taken by another process after it was chosen."""
    classes = compile_java({"LongNames": POLICY}, tmp_path_factory.mktemp("policy"))
    with socket.socket() as quicker, pytest.MonkeyPatch.context() as patch:
        quicker.bind(("127.0.0.1", 0))
        quicker.listen()
        patch.setattr(layout, "free_ports", _one_taken(quicker.getsockname()[1]))
        yield own_kafka(
            sasl=True,
            tls=True,
            users={"admin": "one", "carol": "two"},
            class_path=[classes],
            properties={"create.topic.policy.class.name": "LongNames"},
        )


def _one_taken(port: int) -> Callable[[int, Sequence[int]], list[int]]:
    """Chooses a port that is taken, the first time."""
    taken = [port]

    def choose(count: int, wanted: Sequence[int]) -> list[int]:
        chosen = free_ports(count, wanted)
        return [taken.pop(), *chosen[1:]] if taken else chosen

    return choose


def connected(broker: Sandbox, configs: dict[str, str]) -> "AdminClient":
    """A client whose login was accepted.

    Raises:
        ConnectionRefusedError: it was not, and why.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    refusals: list[str] = []
    servers = broker.layout.servers(configs["security.protocol"])
    client = AdminClient(
        {
            "bootstrap.servers": servers,
            "error_cb": lambda error: refusals.append(str(error)),
            "log_level": 0,
            **configs,
        }
    )
    while not refusals:
        try:
            client.list_topics(timeout=0.2)
        except KafkaException:
            client.poll(0)
        else:
            return client
    raise ConnectionRefusedError(refusals[0])


def create_topic(client: "AdminClient", name: str) -> None:
    from confluent_kafka.admin import NewTopic

    topics = [NewTopic(name, num_partitions=1, replication_factor=1)]
    client.create_topics(topics)[name].result(timeout=30)


@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
def test_a_user_logs_in(broker: Sandbox, listener: str, mechanism: str) -> None:
    connected(broker, broker.layout.client_configs(listener, "carol", mechanism))


@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
def test_a_wrong_password_is_refused(broker: Sandbox, listener: str, mechanism: str) -> None:
    configs = broker.layout.client_configs(listener, "carol", mechanism)
    with pytest.raises(ConnectionRefusedError, match=r"[Aa]uthentication"):
        connected(broker, {**configs, "sasl.password": "three"})


def test_a_certificate_is_enough_where_one_is_wanted(broker: Sandbox) -> None:
    connected(broker, broker.layout.client_configs("SSL", "carol"))


def test_without_a_certificate_there_is_no_connection(broker: Sandbox) -> None:
    configs = broker.layout.client_configs("SSL", "carol")
    bare = {key: value for key, value in configs.items() if key != "ssl.certificate.location"}
    del bare["ssl.key.location"]
    with pytest.raises(ConnectionRefusedError, match=r"bad certificate|certificate required"):
        connected(broker, bare)


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SSL", "SASL_SSL"])
def test_only_the_administrator_may_create_topics(broker: Sandbox, listener: str) -> None:
    """A user's principal is its name, with a login as with a certificate."""
    name = f"topic-of-{listener.lower()}"
    carol = connected(broker, broker.layout.client_configs(listener, "carol"))
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        create_topic(carol, name)
    admin = connected(broker, broker.layout.client_configs(listener, "admin"))
    create_topic(admin, name)


def test_a_policy_on_the_class_path_is_asked(broker: Sandbox) -> None:
    admin = connected(broker, dict(broker.configs))
    with pytest.raises(Exception, match="too short a name"):
        create_topic(admin, "abc")


def test_kafkas_own_tools_log_in_as_the_administrator(broker: Sandbox) -> None:
    words = ["--allow-principal", "User:carol", "--operation", "Read", "--topic", "orders"]
    assert "carol" in broker.tool(ACLS, "--add", *words)


def test_a_tool_that_fails_says_why(broker: Sandbox) -> None:
    with pytest.raises(KgitopsError, match="AclCommand failed: You must specify one of"):
        broker.tool(ACLS, "--add", "--topic", "orders", "--operation", "Sing")


@pytest.mark.parametrize("users", [{"admin": 'a"b'}, {"admin": "a", "x,y": "b"}, {"carol": "two"}])
def test_users_that_kafka_would_misread_are_refused(
    users: dict[str, str], own_kafka: StartKafka
) -> None:
    with pytest.raises(UsageError, match="sandbox"):
        own_kafka(sasl=True, users=users)
