"""Configs that kgitops has no definition of and the brokers have, from the plan to the export."""

from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, document, topic
from used import groups_of

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterConfigResourceRequest, AlterStep, AlterTopicRequest
from kgitops.model.resources import config_resources
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    KnownConfig,
    known_configs,
    resource_configs,
)
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.topics import RequestedTopicState

FUTURE = "future.config"
STANDBY = "streams.num.standby.replicas"
_BROKERS_KNOW = {FUTURE: ConfigType.BOOLEAN, "future.secret": ConfigType.PASSWORD}

_GROUP = ConfigResourceType.GROUP


@pytest.fixture
def newer(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A cluster whose brokers know a topic config, and a group config, that kgitops does not."""

    def types(
        _: Cluster, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        if kind is not None:
            return original(_, kind, name, keys)  # type: ignore[arg-type]
        return {key: _BROKERS_KNOW[key] for key in keys & _BROKERS_KNOW.keys()}

    original = EmbeddedCluster.read_config_types
    monkeypatch.setattr(EmbeddedCluster, "read_config_types", types)
    return project


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This version of kgitops has no definition of a group config that the brokers have."""
    groups = {key: it for key, it in known_configs(_GROUP).items() if key != STANDBY}

    def fewer(kind: ConfigResourceType) -> Mapping[str, KnownConfig]:
        return groups if kind is _GROUP else known_configs(kind)

    monkeypatch.setattr(config_resources, "known_configs", fewer)
    resource_configs.cache_clear()
    yield
    monkeypatch.undo()
    resource_configs.cache_clear()


def write(project: Project, *documents: Document) -> None:
    project.write(*documents)
    url = "embedded:.kgitops/local.db?vendorConfigs=true"
    project.write_file(cluster={"url": url})


def orders(**configs: object) -> Document:
    return topic(configs=configs) if configs else topic()


def state(project: Project) -> Mapping[str, str]:
    with closing(project.connect()) as cluster:
        return cluster.read_state().topics["orders"].configs


def set_behind(project: Project, value: str) -> None:
    """Set the config as another client does."""
    url = "embedded:.kgitops/local.db?vendorConfigs=true"
    with closing(connect(url, brokers=3, base=project.folder)) as cluster:
        topic = cluster.read_state().topics["orders"]
        configs = {FUTURE: value}
        request = AlterTopicRequest(
            topic="orders",
            topic_id=topic.topic_id or "",
            step=AlterStep.CONFIGS,
            requested_state=RequestedTopicState(
                name="orders",
                topic_id=topic.topic_id,
                assignment=topic.assignment,
                configs=configs,
                requested_configs=configs,
            ),
        )
        (result,) = cluster.execute([request], validate_only=False, principal="User:other")
        assert result.ok, result


def test_a_topic_config_of_newer_brokers(newer: Project, kgitops: Kgitops) -> None:
    here = newer.folder
    write(newer, orders())
    assert kgitops("apply", here, "--auto-approve").code == 0

    write(newer, orders(**{FUTURE: True}))
    plan = kgitops("plan", here, "-o", newer.plan_file)
    assert plan.code == 0, plan.said
    assert "warning" not in plan.said
    assert "the default of the brokers" in plan.said
    done = kgitops("apply", newer.plan_file, "--auto-approve")
    assert done.code == 0, done.said
    assert state(newer) == {FUTURE: "true"}
    assert kgitops("plan", here, "--detailed-exitcode").code == 0

    set_behind(newer, "false")
    drift = kgitops("drift", here)
    assert "future.config  true -> false" in drift.out
    assert kgitops("apply", here, "--auto-approve").code == 0
    assert state(newer) == {FUTURE: "true"}
    set_behind(newer, "TRUE")
    again = kgitops("apply", here, "--auto-approve")
    assert again.code == 0, again.said
    assert state(newer) == {FUTURE: "TRUE"}


def test_its_removal(newer: Project, kgitops: Kgitops) -> None:
    write(newer, orders(), topic("other"))
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    write(newer, orders(**{FUTURE: True}), topic("other"))
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    write(newer, orders(), topic("other"))
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    assert state(newer) == {}


def test_its_export(newer: Project, kgitops: Kgitops) -> None:
    write(newer, orders())
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    write(newer, orders(**{FUTURE: True}))
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    done = kgitops("export", newer.folder, "-o", newer.folder / "out")
    assert done.code == 0, done.said
    assert "future.config: true" in (newer.folder / "out" / "topics.yaml").read_text()


def test_what_the_brokers_do_not_know_is_refused_as_ever(newer: Project, kgitops: Kgitops) -> None:
    write(newer, orders())
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    write(newer, orders(**{"past.config": 1, "retentionn.ms": 1, "future.secret": "s"}))
    plan = kgitops("plan", newer.folder)
    assert plan.code == 1
    for words in (
        "Kafka has no topic config 'past.config'; remove it, or let it through with",
        "Kafka has no topic config 'retentionn.ms'; did you mean retention.ms?",
        "future.secret is a secret, as the brokers report, and a manifest can't hold one",
    ):
        assert words in plan.said


def test_without_a_cluster(newer: Project, kgitops: Kgitops) -> None:
    write(newer, orders())
    assert kgitops("apply", newer.folder, "--auto-approve").code == 0
    saved = newer.folder / "state.json"
    assert kgitops("snapshot", newer.folder, "-o", saved).code == 0
    write(newer, orders(**{FUTURE: True}))
    warning = "kgitops knows no topic config 'future.config'; a plan on a cluster asks its brokers"
    valid = kgitops("validate", newer.folder)
    assert (valid.code, warning in valid.said) == (0, True)
    plan = kgitops("plan", newer.folder, "--snapshot", saved)
    assert (plan.code, warning in plan.said) == (0, True), plan.said
    write(newer, orders(**{"retentionn.ms": 1}))
    assert kgitops("validate", newer.folder).code == 1


def test_a_cluster_without_a_topic_can_not_tell(newer: Project, kgitops: Kgitops) -> None:
    write(newer, orders(**{FUTURE: True}))
    plan = kgitops("plan", newer.folder)
    assert plan.code == 1
    assert "Kafka has no topic config 'future.config'" in plan.said


def test_a_group_config_of_newer_brokers(hidden: None, project: Project, kgitops: Kgitops) -> None:
    here = project.folder
    project.write(document("ConsumerGroup", "app", configs={STANDBY: 1}))
    plan = kgitops("plan", here, "-o", project.plan_file)
    assert plan.code == 0, plan.said
    assert kgitops("apply", project.plan_file, "--auto-approve").code == 0
    request = AlterConfigResourceRequest(
        resource_type=ConfigResourceType.GROUP, resource_name="app", configs={STANDBY: "2"}
    )
    project.change_behind(request)
    assert f"{STANDBY}  1 -> 2" in kgitops("drift", here).out
    assert kgitops("apply", here, "--auto-approve").code == 0
    done = kgitops("export", here, "-o", here / "out")
    assert done.code == 0, done.said
    assert f"{STANDBY}: 1" in (here / "out" / "groups.yaml").read_text()
    project.write(document("ConsumerGroup", "app", configs={"consumer.session.timeout.ms": 50000}))
    assert kgitops("apply", here, "--auto-approve").code == 0
    with closing(project.connect()) as cluster:
        group = groups_of(cluster, frozenset({"app"}))["app"]
    assert group.configs == {"consumer.session.timeout.ms": "50000"}
