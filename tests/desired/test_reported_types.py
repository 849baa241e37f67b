"""Configs that kgitops has no definition of: refused, doubted or accepted as the brokers know."""

from pathlib import Path

import pytest
from builders import ALL_CAPABILITIES, a_cluster, a_topic_state
from manifests.loading import declaration, load, topic, write

from kgitops.desired.build import build_desired
from kgitops.desired.reported_types import with_reported_types
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.topic_config_values import ConfigType
from kgitops.plan.planner import make_plan

FUTURE = "future.config"


def configured(configs: str, name: str = "orders") -> str:
    return topic(name, f"{{partitions: 1, replicationFactor: 1, configs: {{{configs}}}}}")


def built(folder: Path, text: str, *, asks_brokers: bool = True) -> DesiredState:
    write(folder, {"a.yaml": text})
    return build_desired(
        load(folder),
        project=Project(name="test"),
        whole=True,
        targets=frozenset(),
        excludes=frozenset(),
        safety=Safety(),
        principal="User:test",
        allow_configs=(),
        asks_brokers=asks_brokers,
    )


def typed(
    desired: DesiredState, type_: ConfigType | None, *, existing: str | None = None
) -> DesiredState:
    configs = {} if existing is None else {FUTURE: existing}
    types = {None: {} if type_ is None else {FUTURE: type_}}
    return with_reported_types(desired, types, a_cluster(a_topic_state(configs=configs)))


def refused(desired: DesiredState, type_: ConfigType | None) -> str:
    with pytest.raises(FindingsError) as raised:
        typed(desired, type_)
    (finding,) = raised.value.findings
    return str(finding).rpartition("/")[2]


def test_without_a_cluster_it_is_a_warning(tmp_path: Path) -> None:
    desired = built(tmp_path, configured(f"{FUTURE}: 1"), asks_brokers=False)
    assert not desired.unknown_configs
    (warning,) = desired.warnings
    assert str(warning).endswith(
        "a.yaml:4:55: warning: kgitops knows no topic config 'future.config'; a plan on a cluster "
        "asks its brokers"
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("retentionn.ms", "did you mean retention.ms?"),
        ("log.cleaner.future", "is a config of brokers, not of topics"),
        ("offsets.retention.minutes", "is a config of brokers, not of topics"),
        ("log.retention.ms", "did you mean retention.ms?"),
        ("message.format.version", "Kafka 4 has no topic config message.format.version any more"),
    ],
)
def test_without_a_cluster_what_looks_like_a_mistake_is_an_error(
    tmp_path: Path, key: str, words: str
) -> None:
    with pytest.raises(FindingsError, match=words.replace("?", r"\?")):
        built(tmp_path, configured(f"{key}: 1"), asks_brokers=False)


def test_beside_another_mistake_it_is_judged_as_without_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as raised:
        built(tmp_path, configured(f"{FUTURE}: 1, retentionn.ms: 1, retention.ms: week"))
    said = [str(finding) for finding in raised.value.findings]
    assert [sum(words in one for one in said) for words in ("a plan on", "did you", "'week'")] == (
        [1, 1, 1]
    )


def test_no_plan_is_made_before_the_brokers_are_asked(tmp_path: Path) -> None:
    desired = built(tmp_path, configured(f"{FUTURE}: 1"))
    with pytest.raises(FindingsError, match="Kafka has no topic config"):
        make_plan(desired, a_cluster(), target_name="t", capabilities=ALL_CAPABILITIES)


@pytest.mark.parametrize(
    ("written", "type_", "normal"),
    [
        ("true", ConfigType.BOOLEAN, "true"),
        ('" TRUE "', ConfigType.BOOLEAN, "true"),
        ("7", ConfigType.INT, "7"),
        ('"+007"', ConfigType.LONG, "7"),
        ("7", ConfigType.SHORT, "7"),
        ('"0.50"', ConfigType.DOUBLE, "0.5"),
        ("[b, a]", ConfigType.LIST, "b,a"),
        ('"b , a"', ConfigType.LIST, "b,a"),
        ('" as it is "', ConfigType.STRING, " as it is "),
        ("org.example.Thing", ConfigType.CLASS, "org.example.Thing"),
    ],
)
def test_a_value_gets_the_normal_form_of_its_type(
    tmp_path: Path, written: str, type_: ConfigType, normal: str
) -> None:
    done = typed(built(tmp_path, configured(f"{FUTURE}: {written}")), type_)
    assert done.of(DesiredTopic)[0].configs == {FUTURE: normal}
    assert not done.unknown_configs


def test_the_same_value_in_another_spelling_is_no_change(tmp_path: Path) -> None:
    desired = built(tmp_path, configured(f"{FUTURE}: true, retention.ms: 1"))
    done = typed(desired, ConfigType.BOOLEAN, existing="TRUE")
    assert done.of(DesiredTopic)[0].configs == {FUTURE: "TRUE", "retention.ms": "1"}
    other = typed(desired, ConfigType.BOOLEAN, existing="FALSE")
    assert other.of(DesiredTopic)[0].configs == {FUTURE: "true", "retention.ms": "1"}


@pytest.mark.parametrize(
    ("written", "type_", "said"),
    [
        (
            "1",
            None,
            "a.yaml:4:55: Kafka has no topic config 'future.config'; remove it, or let it through "
            "with spec.allowConfigs in the project file",
        ),
        (
            "1",
            ConfigType.PASSWORD,
            "a.yaml:4:55: future.config is a secret, as the brokers report, and a manifest can't "
            "hold one; remove it",
        ),
        (
            "[1, 2]",
            ConfigType.INT,
            "a.yaml:4:70: future.config takes one value, not a list; write the value alone",
        ),
        (
            "often",
            ConfigType.SHORT,
            "a.yaml:4:70: future.config must be a whole number from -32768 to 32767, as the "
            "brokers report its type SHORT; correct the value",
        ),
    ],
)
def test_the_brokers_decide(
    tmp_path: Path, written: str, type_: ConfigType | None, said: str
) -> None:
    assert refused(built(tmp_path, configured(f"{FUTURE}: {written}")), type_) == said


def test_the_brokers_decide_on_what_looks_like_a_mistake_too(tmp_path: Path) -> None:
    desired = built(tmp_path, configured("retentionn.ms: 1"))
    done = with_reported_types(desired, {None: {"retentionn.ms": ConfigType.LONG}}, a_cluster())
    assert done.of(DesiredTopic)[0].configs == {"retentionn.ms": "1"}
    with pytest.raises(FindingsError, match=r"did you mean retention\.ms\?"):
        with_reported_types(desired, {}, a_cluster())


def test_a_profile_is_asked_about_once(tmp_path: Path) -> None:
    profile = declaration(
        "TopicProfile",
        "{name: small}",
        f"{{partitions: 1, replicationFactor: 1, configs: {{{FUTURE}: 1}}}}",
    )
    topics = "---\n".join(topic(name, "{profile: small}") for name in ("a", "b"))
    desired = built(tmp_path, f"{profile}---\n{topics}")
    assert "a.yaml:4:" in refused(desired, None)
    done = typed(desired, ConfigType.INT)
    assert [item.configs for item in done.of(DesiredTopic)] == [{FUTURE: "1"}, {FUTURE: "1"}]


def test_each_topic_is_told_of_its_own(tmp_path: Path) -> None:
    text = "---\n".join(configured(f"{FUTURE}: 1", name) for name in ("a", "b"))
    desired = built(tmp_path, text, asks_brokers=False)
    assert len(desired.warnings) == 2


@pytest.mark.parametrize(
    ("kind", "resource", "words"),
    [
        ("ConsumerGroup", ConfigResourceType.GROUP, "group config"),
        ("ClientMetrics", ConfigResourceType.CLIENT_METRICS, "config of client metrics"),
    ],
)
def test_groups_and_client_metrics_alike(
    tmp_path: Path, kind: str, resource: ConfigResourceType, words: str
) -> None:
    text = declaration(kind, "{name: one}", f"{{configs: {{{FUTURE}: [b, a]}}}}")
    (warning,) = built(tmp_path, text, asks_brokers=False).warnings
    assert warning.problem == f"kgitops knows no {words} 'future.config'"
    desired = built(tmp_path, text)
    with pytest.raises(FindingsError, match=f"Kafka has no {words} 'future.config'; write one of"):
        with_reported_types(desired, {}, a_cluster())
    done = with_reported_types(desired, {resource: {FUTURE: ConfigType.LIST}}, a_cluster())
    (item,) = done.objects
    assert item.configs == {FUTURE: "b,a"}  # type: ignore[union-attr]
