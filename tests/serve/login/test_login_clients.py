"""Clients as people use them log in by each mechanism, over TLS."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from cluster.kafka.token_endpoint import AUDIENCE, CLIENT, Provider, running
from serve.login.logging_in import PASSWORD, SASL, served, with_tls

from kgitops.cluster.connect import connect
from kgitops.sandbox.certificates import Certificates, issue_certificates
from kgitops.serve.server import KafkaServer

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"), ["alice"])


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def sasl(
    certificates: Certificates, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaServer]:
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    provider.write_keys(keys)
    configs = with_tls(SASL, certificates) | oauth(keys)
    with served(configs) as server:
        yield server


def oauth(keys: Path) -> dict[str, str]:
    prefix = "listener.name.app.oauthbearer.sasl.oauthbearer"
    return {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.expected.audience": AUDIENCE,
        f"{prefix}.expected.issuer": "https://provider.example.com",
        "super.users": f"User:alice;User:{CLIENT}",
    }


def librdkafka(
    server: KafkaServer, certificates: Certificates, configs: Mapping[str, object]
) -> None:
    """Create a topic and find it, with confluent-kafka."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient(
        {
            "bootstrap.servers": ",".join(map(str, server.endpoints)),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(certificates.authority),
            "ssl.endpoint.identification.algorithm": "none",
            **configs,
        },
        logger=logging.getLogger("silent"),
    )
    name = f"by-librdkafka-{time.monotonic_ns()}"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    assert name in admin.list_topics(timeout=20).topics


@pytest.fixture(scope="module")
def mutual(certificates: Certificates) -> Iterator[KafkaServer]:
    """It asks for a certificate of the client's own."""
    configs = with_tls({"listeners": "APP://127.0.0.1:0"}, certificates, auth="required")
    with served(configs | {"super.users": "User:CN=alice"}) as server:
        yield server


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka(
    sasl: KafkaServer, certificates: Certificates, provider: Provider, mechanism: str
) -> None:
    configs = {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": PASSWORD}
    if mechanism == "OAUTHBEARER":
        configs = provider.configs() | {"security.protocol": "SASL_SSL"}
    librdkafka(sasl, certificates, configs)


def test_librdkafka_with_a_certificate(mutual: KafkaServer, certificates: Certificates) -> None:
    file = str(certificates.clients["alice"])
    configs = {"ssl.certificate.location": file, "ssl.key.location": file}
    librdkafka(mutual, certificates, {"security.protocol": "SSL", **configs})


def kafka_python(
    server: KafkaServer, certificates: Certificates, configs: Mapping[str, object]
) -> None:
    """Create a topic and find it, with kafka-python."""
    from kafka.admin import KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(
        bootstrap_servers=[str(endpoint) for endpoint in server.endpoints],
        ssl_cafile=str(certificates.authority),
        ssl_check_hostname=False,
        **configs,
    )
    try:
        name = f"by-kafka-python-{time.monotonic_ns()}"
        admin.create_topics([NewTopic(name, 1, 1)])
        assert name in admin.list_topics()
    finally:
        admin.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(
    sasl: KafkaServer, certificates: Certificates, provider: Provider, mechanism: str
) -> None:
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return provider.token("kafka:admin")

    login: dict[str, object] = {"sasl_plain_username": "alice", "sasl_plain_password": PASSWORD}
    if mechanism == "OAUTHBEARER":
        login = {"sasl_oauth_token_provider": Tokens()}
    configs = {"security_protocol": "SASL_SSL", "sasl_mechanism": mechanism}
    kafka_python(sasl, certificates, configs | login)


def test_kafka_python_with_a_certificate(mutual: KafkaServer, certificates: Certificates) -> None:
    file = str(certificates.clients["alice"])
    configs = {"security_protocol": "SSL", "ssl_certfile": file, "ssl_keyfile": file}
    kafka_python(mutual, certificates, configs)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_kgitops(
    sasl: KafkaServer, certificates: Certificates, tmp_path: Path, mechanism: str
) -> None:
    """By ``kafka://``, over the clients that it has itself."""
    configs = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificates.authority),
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }
    with closing(connect(sasl.url, configs=configs, base=tmp_path)) as cluster:
        assert len(cluster.read_state(frozenset()).brokers) == 1
