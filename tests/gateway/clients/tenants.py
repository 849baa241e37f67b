"""Two tenants of a secured cluster: what is declared for them, and what it is called on brokers."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from cli.projects import UID, Document, as_yaml, document
from msgspec import Struct
from real_kafka.golden_documents import scoped, virtual_cluster

import kgitops
from kgitops.cluster.connect import connect
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.sandbox.sandbox import Sandbox

SALES, ANALYTICS = "emea.sales", "analytics"
LISTENER, CLUSTER, PASSWORD = "SASL_SSL", "kafka", "TENANTS_PASSWORD"
STREAM = "emea.eu.sales.stream"
"""One topic of brokers that each tenant has under a name of its own."""
USERS: Mapping[str, str] = {
    "admin": "admin-secret",
    "sales-app": "sales-secret",
    "sales-streams": "streams-secret",
    "sales-connect": "connect-secret",
    "ana-reader": "ana-secret",
}
PROPERTIES = {
    "allow.everyone.if.no.acl.found": "false",
    # Offsets whose topics no member subscribes to are forgotten after a minute.
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "2000",
    "transaction.state.log.num.partitions": "3",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
RELEASES: Mapping[str, str] = {"2.8.2": "j2", "3.9.1": "j3", "4.3.0": "j4"}
"""By version of a client, the prefix of what its tests use."""
PER_RELEASE: Mapping[str, int] = {"orders": 3, "refunds": 3, "invoices": 3, "quiet": 1}
"""Topics that each release has of its own, and their partitions."""
OTHERS = ("librdkafka", "kafka-python", "franz-go", "sarama", "kafkajs")
"""Clients in other languages than Java: each has two topics, a link, and a topic of the others."""
IN_PARTITIONS, OUT_PARTITIONS = 4, 2
STREAMS_APP, CONNECT = "word-count", "file-connect"
_COMPACT = {"cleanup.policy": "compact"}


class Tenant(Struct, frozen=True, kw_only=True):
    """A virtual cluster and its links: physical names by local ones."""

    name: str
    links: Mapping[str, str]

    def physical_id(self, local: str) -> str:
        """The group or transactional id on brokers."""
        return physical_id(self.name, local)


def declare(kafka: Sandbox, folder: Path) -> Path:
    """Apply a project with both tenants as the administrator; its folder."""
    (folder / "manifests").mkdir(parents=True)
    (folder / "manifests" / "all.yaml").write_text(as_yaml(tuple(_documents())))
    configs = kafka.layout.client_configs(LISTENER) | {"sasl.password": f"${{env:{PASSWORD}}}"}
    cluster = {"url": f"kafka://{kafka.layout.servers(LISTENER)}", "configs": configs}
    content = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "tenants", "uid": UID},
        "spec": {"manifests": ["manifests"], "clusters": {CLUSTER: cluster}},
    }
    (folder / "kgitops.yaml").write_text(as_yaml([content]))
    apply(folder)
    return folder


def apply(folder: Path, *more: Document) -> None:
    """Apply the project, which declares these documents as well from now on."""
    if more:
        (folder / "manifests" / f"{more[0]['metadata']['name']}.yaml").write_text(as_yaml(more))
    with kgitops.open(folder, environ={PASSWORD: USERS["admin"]}) as project:
        result = project.apply(project.plan())
        assert result.verdict.exit == 0, result.verdict


def read_tenants(kafka: Sandbox) -> Mapping[str, Tenant]:
    """By name, as the registry has them now."""
    cluster = connect(f"kafka://{kafka.servers}", configs=dict(kafka.configs), base=Path())
    try:
        virtual_clusters = cluster.read_state().virtual_clusters
    finally:
        cluster.close()
    return {
        name: Tenant(name=name, links={local: link.topic for local, link in found.links.items()})
        for name, found in virtual_clusters.items()
        if name in {SALES, ANALYTICS}
    }


def _documents() -> Iterator[Document]:
    yield document("Topic", STREAM, partitions=3, replicationFactor=2)
    users = ({"principal": user} for user in ("sales-app", "sales-streams", "sales-connect"))
    yield virtual_cluster(SALES, *users)
    yield virtual_cluster(ANALYTICS, {"principal": "ana-reader"})
    yield scoped("TopicLink", SALES, "stream", target={"physicalTopic": STREAM})
    yield scoped("TopicLink", SALES, "stream-again", target={"physicalTopic": STREAM})
    yield scoped("TopicLink", ANALYTICS, "sales-stream", target={"physicalTopic": STREAM})
    for release in RELEASES.values():
        for topic, partitions in PER_RELEASE.items():
            yield _topic(SALES, f"{release}.{topic}", partitions, {"retention.ms": 604800000})
    yield _topic(SALES, "by-tools", 3)
    for tenant, user in ((SALES, "sales-app"), (ANALYTICS, "ana-reader")):
        yield _topic(tenant, "Orders", 3)
        for kind in ("topic", "group", "transactionalId"):
            yield _acl(tenant, user, operations=["All"], resource={"type": kind, "name": "*"})
    yield from _of_others()
    yield from _streams()
    yield from _connect()


def _topic(
    tenant: str, name: str, partitions: int, configs: Mapping[str, object] | None = None
) -> Document:
    return scoped(
        "Topic",
        tenant,
        name,
        partitions=partitions,
        replicationFactor=2,
        configs=dict(configs or {}),
        deletionPolicy="Delete",
    )


def _acl(tenant: str, user: str, **spec: object) -> Document:
    name = "-".join((tenant, user, *(str(value) for value in spec.values())))
    legal = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    written: dict[str, object] = {"principal": f"User:{user}", "virtualCluster": tenant, **spec}
    if "operations" in spec:
        written["permission"] = "Allow"
    return document("Acl", legal[:90].strip("-"), **written)  # type: ignore[arg-type]


def _of_others() -> Iterator[Document]:
    for client in OTHERS:
        target = f"shared.{client}-results"
        yield document("Topic", target, partitions=OUT_PARTITIONS, replicationFactor=2)
        yield scoped("TopicLink", SALES, f"{client}.out", target={"physicalTopic": target})
        for tenant in (SALES, ANALYTICS):
            yield _topic(tenant, f"{client}.in", IN_PARTITIONS)
        yield _topic(SALES, f"{client}.quiet", 1)


def _streams() -> Iterator[Document]:
    """An application that counts words, with the two topics that it would else make itself."""
    for name in ("lines", "counts", f"{STREAMS_APP}-by-word-repartition"):
        yield _topic(SALES, name, 2)
    yield _topic(SALES, f"{STREAMS_APP}-store-changelog", 2, _COMPACT)
    user = "sales-streams"
    yield _acl(SALES, user, role="streams", applicationId=STREAMS_APP, transactionalId=STREAMS_APP)
    yield _acl(SALES, user, role="consumer", topics=["lines"], group=STREAMS_APP)
    yield _acl(SALES, user, role="producer", topics=["counts"])


def _connect() -> Iterator[Document]:
    """A cluster of workers, with a connector in each direction."""
    for name, partitions in (("configs", 1), ("offsets", 3), ("status", 3)):
        yield _topic(SALES, f"connect-{name}", partitions, _COMPACT)
    yield _topic(SALES, "file-lines", 1)
    user = "sales-connect"
    own = [f"connect-{name}" for name in ("configs", "offsets", "status")]
    worker = f"connect-cluster-{CONNECT}"
    yield _acl(
        SALES, user, role="connect-worker", topics=own, group=CONNECT, transactionalId=worker
    )
    # Exactly once: each task of a source connector has a transactional id.
    of_tasks = {"transactionalId": f"{CONNECT}-file-source-", "patternType": "prefixed"}
    yield _acl(SALES, user, role="producer", topics=["file-lines"], **of_tasks)
    yield _acl(SALES, user, role="consumer", topics=["file-lines"], group="connect-file-sink")
