"""Whether brokers match the host of an ACL as a range (KIP-1276), as kgitops says they do."""

from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, document, topic
from kafka_clusters import NEWER, RELEASES, StartKafka, libs_of
from patience import eventually

from kgitops.cluster.kafka.adapter import boot
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

RANGES = ("127.0.0.0/8", "127.0.0.9/08", "127.0.0.1/32", "0.0.0.0/0")
OTHERS = ("10.0.0.0/8", "::/0", "2001:db8::/32")
EXACT = "127.0.0.1"


def name_of(host: str) -> str:
    return "from-" + "".join(sign if sign.isalnum() else "." for sign in host)


def right(host: str) -> Document:
    """A document that lets alice write to the host's own topic."""
    name = name_of(host)
    return document(
        "Acl",
        name,
        principal="User:alice",
        permission="Allow",
        operations=["Write"],
        host=host,
        resource={"type": "topic", "name": name},
    )


def is_let_in(sandbox: Sandbox, topic_name: str) -> bool:
    """Whether alice, whose address is 127.0.0.1, may write to the topic."""
    from confluent_kafka import KafkaError, Producer

    errors: list[KafkaError | None] = []
    login = {"sasl.username": "alice", "sasl.password": "alice-secret"}
    producer = Producer(
        {"bootstrap.servers": sandbox.servers, **sandbox.configs, **login, "log_level": 0}
    )
    producer.produce(topic_name, b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    (error,) = errors
    assert error is None or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED, error
    return error is None


@pytest.mark.parametrize("release", RELEASES)
def test_kgitops_says_what_the_brokers_do(
    own_kafka: StartKafka,
    kgitops: Kgitops,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    release: str,
) -> None:
    sandbox = own_kafka(sasl=True, libs=libs_of(release))
    project = Project(tmp_path / "ranges")
    hosts = (*RANGES, *OTHERS, EXACT)
    project.write(
        *(topic(name_of(host), partitions=1, replicationFactor=1) for host in hosts),
        *(right(host) for host in hosts),
    )
    monkeypatch.setenv("PASSWORD", sandbox.configs["sasl.password"])
    configs = {**sandbox.configs, "sasl.password": "${env:PASSWORD}"}
    url = f"kafka://{sandbox.servers}"
    project.write_file(clusters={"kafka": {"url": url, "configs": configs}})
    done = kgitops("apply", project.folder, "--auto-approve")
    assert done.code == 0, done.said
    eventually(
        lambda: is_let_in(sandbox, name_of(EXACT)), bool, what="the brokers know the last ACL"
    )
    with closing(boot(sandbox.servers, sandbox.configs, Path())) as cluster:
        ranges = cluster.matches_host_ranges()
    assert ranges is (release == NEWER)
    assert {host: is_let_in(sandbox, name_of(host)) for host in hosts} == {
        **dict.fromkeys(RANGES, ranges),
        **dict.fromkeys(OTHERS, False),
        EXACT: True,
    }
    warnings = done.said.count("is a range, which matches clients since Kafka 4.4")
    assert warnings == (0 if ranges else len(RANGES) + len(OTHERS))
