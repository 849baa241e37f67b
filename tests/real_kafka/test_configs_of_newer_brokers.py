"""Real brokers that know configs which this version of kgitops has no definition of."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, document, topic
from kafka_clusters import NEWER, StartKafka, libs_of
from patience import eventually
from used import groups_of

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model.resources import config_resources, topic_configs
from kgitops.model.resources.config_resources import ConfigResourceType, KnownConfig, known_configs

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

UNCLEAN, STANDBY = "unclean.leader.election.enable", "streams.num.standby.replicas"
_CACHED = (
    topic_configs.topic_configs,
    topic_configs.nearest_config,
    topic_configs.normal_value,
    topic_configs._readers,
    topic_configs._legal_value,
    config_resources.resource_configs,
    config_resources.topic_configs_by_default,
)

_GROUP = ConfigResourceType.GROUP


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This version of kgitops knows neither the config of topics nor the one of groups."""

    def forget() -> None:
        for cached in _CACHED:
            cached.cache_clear()

    data = topic_configs._data()
    rows = [row for row in data["configs"] if row["name"] != UNCLEAN]
    groups = {key: it for key, it in known_configs(_GROUP).items() if key != STANDBY}

    def fewer(kind: ConfigResourceType) -> Mapping[str, KnownConfig]:
        return groups if kind is _GROUP else known_configs(kind)

    monkeypatch.setattr(topic_configs, "_data", lambda: {**data, "configs": rows})
    monkeypatch.setattr(config_resources, "known_configs", fewer)
    forget()
    yield
    monkeypatch.undo()
    forget()


def test_they_are_declared_changed_exported_and_removed(
    hidden: None, project: "KafkaProject", kafka_cluster: KafkaCluster, kgitops: Kgitops
) -> None:
    here = project.folder
    cluster = ("-c", "kafka")
    orders = {"partitions": 1, "replicationFactor": 1}
    group = document("ConsumerGroup", "app", configs={STANDBY: 1})

    def applied() -> None:
        done = kgitops("apply", here, "--auto-approve", *cluster)
        assert done.code == 0, done.said

    def unclean(text: str | None) -> None:
        eventually(
            lambda: kafka_cluster.read_state().topics["orders"].configs.get(UNCLEAN),
            lambda value: value == text,
            what="the brokers have the config",
        )

    project.write(topic(**orders))
    applied()
    project.write(topic(**orders, configs={UNCLEAN: "True"}), group)
    saved = here / "saved.plan"
    plan = kgitops("plan", here, "-o", saved, *cluster)
    assert plan.code == 0, plan.said
    done = kgitops("apply", saved, "--auto-approve")
    assert done.code == 0, done.said
    unclean("true")
    exported = kgitops("export", here, "-o", here / "out", *cluster)
    assert exported.code == 0, exported.said
    assert f"{UNCLEAN}: true" in (here / "out" / "topics.yaml").read_text()
    assert f"{STANDBY}: 1" in (here / "out" / "groups.yaml").read_text()

    project.write(topic(**orders, configs={UNCLEAN: "often", "past.config": 1}), group)
    refused = kgitops("plan", here, *cluster)
    assert refused.code == 1
    assert f"{UNCLEAN} must be true or false, as the brokers report its type" in refused.said
    assert "Kafka has no topic config 'past.config'; remove it" in refused.said

    project.write(topic(**orders), group)
    applied()
    unclean(None)


def test_a_dead_letter_queue_of_a_group(
    own_kafka: StartKafka, kgitops: Kgitops, tmp_path: Path
) -> None:
    """Kafka 4.4 has group configs of which kgitops has no definition (KIP-1191)."""
    sandbox = own_kafka(libs=libs_of(NEWER))
    project = Project(tmp_path / "newer")
    queue = {"errors.deadletterqueue.topic.name": "dlq.orders"}
    copies = {"errors.deadletterqueue.copy.record.enable": True}
    url = f"kafka://{sandbox.servers}"

    def run(*words: object, **configs: object) -> str:
        project.write(document("ConsumerGroup", "app", configs=configs))
        project.write_file(clusters={"kafka": {"url": url}})
        done = kgitops(*words)
        assert done.code == 0, done.said
        return done.out

    run("apply", project.folder, "--auto-approve", **queue, **copies)
    assert "No changes." in run("plan", project.folder, **queue, **copies)
    run("export", project.folder, "-o", project.folder / "out", **queue, **copies)
    text = (project.folder / "out" / "groups.yaml").read_text()
    assert "errors.deadletterqueue.topic.name: dlq.orders" in text
    assert "errors.deadletterqueue.copy.record.enable: true" in text
    run("apply", project.folder, "--auto-approve", **queue)
    with closing(boot(sandbox.servers, sandbox.configs, Path())) as cluster:
        eventually(
            lambda: groups_of(cluster, frozenset({"app"}))["app"].configs,
            lambda configs: configs == queue,
            what="the brokers have removed the other config",
        )
