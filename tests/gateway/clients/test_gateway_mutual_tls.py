"""Clients that log in by certificates at the gateway, which brokers can't be shown through it.

The brokers get a password where they ask for one, and a certificate of their own authority else.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli.projects import UID, as_yaml
from cluster.kafka.certificates import Authority
from gateway.clients.entrance import Entrance, without_gateway
from gateway.clients.gateway_process import gateway
from gateway.clients.tenants import CLUSTER, PASSWORD, SALES, USERS, Tenant
from patience import eventually

from kgitops.sandbox.layout import login_configs
from kgitops.sandbox.sandbox import Sandbox

pytestmark = [
    pytest.mark.kafka("gateway-clients"),
    pytest.mark.xdist_group("gateway-clients"),
    pytest.mark.skipif(without_gateway(), reason="brokers trust another authority"),
]

HOST, PATIENCE_S = "127.0.0.1", 60
RULES = "RULE:^CN=([^,]+).*$/$1/,DEFAULT"
"""The sandbox's brokers have these."""
WRONG = "wrong-4711"


class Gateway:
    """Its address, its log, and the authority of its clients."""

    def __init__(self, servers: str, log: Path, authority: Authority) -> None:
        self.servers = servers
        self.log = log
        self.authority = authority

    def configs(self, name: str) -> dict[str, Any]:
        """Of a client of librdkafka, which knows nothing of the brokers' logins."""
        certificate = str(self.authority.signs(name))
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.authority.file),
            "ssl.certificate.location": certificate,
            "ssl.key.location": certificate,
        }

    def topics(self, name: str) -> set[str]:
        from confluent_kafka.admin import AdminClient

        return {*AdminClient(self.configs(name)).list_topics(timeout=PATIENCE_S).topics}

    def refusals(self) -> list[dict[str, str]]:
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.fixture(scope="module", params=["SASL_SSL", "SSL"])
def before(
    request: pytest.FixtureRequest,
    secured: Sandbox,
    tenants: Mapping[str, Tenant],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gateway]:
    """A gateway before one of the brokers' listeners; ``outsider`` is in no virtual cluster."""
    listener = request.param
    folder = tmp_path_factory.mktemp(listener.lower())
    certificates = secured.layout.certificates
    assert certificates
    by_name: dict[str, dict[str, str]] = {}
    for name, user in (("orders", "sales-app"), ("outsider", "admin"), ("wrong", "ana-reader")):
        if listener == "SSL":
            file = str(certificates.clients[user])
            login = {"ssl.certificate.location": file, "ssl.key.location": file}
        else:
            mechanism = "SCRAM-SHA-256" if name == "orders" else "PLAIN"
            password = {"orders": "${env:ORDERS_PASSWORD}", "wrong": WRONG}.get(name, USERS[user])
            login = login_configs(user, password, mechanism)
        by_name[f"User:{name}"] = login
    if listener == "SSL":
        file = str(Authority(folder, "strange").signs("ana-reader"))
        by_name["User:wrong"] = {"ssl.certificate.location": file, "ssl.key.location": file}
    credentials = folder / "credentials.yaml"
    credentials.write_text(yaml.safe_dump(by_name))
    configs = secured.layout.client_configs(listener)
    if "sasl.password" in configs:
        configs["sasl.password"] = f"${{env:{PASSWORD}}}"
    cluster = {"url": f"kafka://{secured.layout.servers(listener)}", "configs": configs}
    project = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "tenants", "uid": UID},
        "spec": {"manifests": ["manifests"], "clusters": {CLUSTER: cluster}},
    }
    (folder / "manifests").mkdir()
    (folder / "kgitops.yaml").write_text(as_yaml([project]))
    authority = Authority(folder, "clients-authority")
    words = ("--client-ca", str(authority.file), "--client-credentials", str(credentials))
    with gateway(
        folder,
        authority.signs("gateway", host=HOST),
        folder,
        *words,
        "--principal-mapping",
        RULES,
        ORDERS_PASSWORD=USERS["sales-app"],
    ) as servers:
        yield Gateway(servers, folder / "gateway.log", authority)


def test_a_member_finds_its_names(before: Gateway, tenants: Mapping[str, Tenant]) -> None:
    """A topic by its local name, written and read in a group; who is in none sees physical ones."""
    from confluent_kafka import Consumer, KafkaError, Producer

    links = tenants[SALES].links
    assert links.keys() <= before.topics("orders")
    assert not {*links.values()} & before.topics("orders")
    assert {*links.values()} <= before.topics("outsider")
    value = f"by certificate {uuid.uuid4()}"
    told: list[tuple[KafkaError | None, str]] = []
    producer = Producer({**before.configs("orders"), "transactional.id": "certificates"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("Orders", value, on_delivery=lambda e, m: told.append((e, m.topic())))
    producer.commit_transaction(PATIENCE_S)
    assert told == [(None, "Orders")]
    reading = {"group.id": str(uuid.uuid4()), "auto.offset.reset": "earliest"}
    consumer = Consumer({**before.configs("orders"), **reading})
    consumer.subscribe(["Orders"])
    read: list[tuple[str, bytes]] = []

    def found() -> list[tuple[str, bytes]]:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            read.append((message.topic(), message.value()))
        return read

    with closing(consumer):
        eventually(found, lambda rows: ("Orders", value.encode()) in rows, what="it is read")


def test_who_is_in_no_virtual_cluster_finds_every_api(before: Gateway, entrance: Entrance) -> None:
    """It is known by its certificate before it asks; with a password it is not yet (librdkafka)."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    every = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )

    def describe(configs: dict[str, str]) -> int:
        client = AdminClient(configs)
        return len(client.describe_acls(every, request_timeout=PATIENCE_S).result(PATIENCE_S))

    assert describe(before.configs("outsider"))
    by_password = {
        "bootstrap.servers": entrance.servers,
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": str(entrance.authority),
        **login_configs("admin", USERS["admin"]),
    }
    with pytest.raises(KafkaException, match="not supported by broker"):
        describe(by_password)


@pytest.mark.parametrize("name", ["stranger", "wrong"])
def test_others_are_not_let_in(before: Gateway, name: str) -> None:
    """One whom no credential is for, and one whose credential the brokers refuse."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = AdminClient(before.configs(name))

    def said() -> list[str]:
        return [line["sentence"] for line in before.refusals()]

    start = {
        "stranger": "there is no credential for User:stranger; add one",
        "wrong": ("its credential: the broker refuses it: ", "the broker can't be used: TLS"),
    }[name]
    eventually(
        said,
        lambda sentences: any(sentence.startswith(start) for sentence in sentences),
        what=f"{name} is refused",
    )
    with pytest.raises(KafkaException):
        client.list_topics(timeout=1)
    log = before.log.read_text()
    assert not [word for word in (WRONG, *USERS.values()) if word in log]
