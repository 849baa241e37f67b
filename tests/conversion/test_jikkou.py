"""Jikkou's own rules: config precedence, deleted and ignored objects, SCRAM iterations."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.model.registry import Json

CONFIG_MAPS = """\
apiVersion: core.jikkou.io/v1beta2
kind: ConfigMap
metadata: {name: safe}
data: {min.insync.replicas: 2, retention.ms: 1000, cleanup.policy: delete}
---
apiVersion: core.jikkou.io/v1beta2
kind: ConfigMap
metadata: {name: short}
data: {retention.ms: 2000, max.message.bytes: 100}
---
"""
TOPIC = """\
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopic
metadata: {name: orders, annotations: %s}
spec: {partitions: 1, replicas: 1, configs: %s, configMapRefs: %s}
"""
USER = """\
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaUser
metadata: {name: billing}
spec:
  authentications:
    - {type: scram-sha-512}
    - {type: scram-sha-256, iterations: 4096}
"""


def converted(folder: Path, text: str) -> ConvertedProject:
    write(folder, {"in/shop.yaml": text})
    project = convert(folder / "in", "jikkou", "shop", compacted=False)
    assert not project.findings
    return project


def specs(project: ConvertedProject) -> dict[str, dict[str, Json]]:
    return {
        document.name: dict(document.spec)
        for item in project.conversion.objects
        for document in item.documents
    }


@pytest.mark.parametrize(
    ("own", "maps", "configs"),
    [
        ("{}", "[safe]", {"min.insync.replicas": 2, "retention.ms": 1000}),
        ("{}", "[safe, short]", {"retention.ms": 2000, "max.message.bytes": 100}),
        ("{}", "[short, safe]", {"retention.ms": 1000, "max.message.bytes": 100}),
        ("{retention.ms: 3000}", "[safe, short]", {"retention.ms": 3000}),
        (
            "{cleanup.policy: compact}",
            "[safe]",
            {"cleanup.policy": "compact", "min.insync.replicas": 2},
        ),
    ],
)
def test_a_topics_configs_win_over_config_maps_and_later_maps_over_earlier_ones(
    tmp_path: Path, own: str, maps: str, configs: dict[str, Json]
) -> None:
    project = converted(tmp_path, CONFIG_MAPS + TOPIC % ("{}", own, maps))
    found = specs(project)["orders"]["configs"]
    assert isinstance(found, dict)
    assert {key: found.get(key) for key in configs} == configs
    assert not project.conversion.losses


REFUSED = {
    "delete": "KafkaTopic orders: it is to be deleted (jikkou.io/delete)",
    "ignore": "KafkaTopic orders: Jikkou does not manage it (jikkou.io/ignore)",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("value", ["true", '"true"', "TRUE"])
def test_deleted_and_ignored_objects_are_not_declared(
    tmp_path: Path, name: str, value: str
) -> None:
    """The annotation counts on an object and on its list."""
    annotations = f"{{jikkou.io/{name}: {value}}}"
    project = converted(tmp_path, TOPIC % (annotations, "{}", "[]"))
    assert specs(project) == {}
    assert [loss.problem for loss in project.conversion.losses] == [REFUSED[name]]
    items = f"""\
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopicList
metadata: {{annotations: {annotations}}}
items:
  - {{metadata: {{name: orders}}, spec: {{partitions: 1, replicas: 1}}}}
"""
    project = converted(tmp_path, items)
    assert specs(project) == {}
    assert [loss.problem for loss in project.conversion.losses] == [REFUSED[name]]


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("value", ["false", '"false"', '"False"'])
def test_an_object_annotated_with_false_is_declared(tmp_path: Path, name: str, value: str) -> None:
    project = converted(tmp_path, TOPIC % (f"{{jikkou.io/{name}: {value}}}", "{}", "[]"))
    assert list(specs(project)) == ["orders"]
    assert not project.conversion.losses


def test_scram_iterations_default_to_jikkous(tmp_path: Path) -> None:
    """Jikkou's default is 8192, Kafka's is 4096."""
    scram = specs(converted(tmp_path, USER))["billing"]["scram"]
    assert isinstance(scram, list)
    assert [
        (each["mechanism"], each["iterations"]) for each in scram if isinstance(each, dict)
    ] == [
        ("SCRAM-SHA-512", 8192),
        ("SCRAM-SHA-256", 4096),
    ]


def test_comments_of_a_list_are_kept(tmp_path: Path) -> None:
    text = """\
# All topics of the shop.
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopicList
metadata: {labels: {team: shop}}  # who to ask
items:
  # The first one.
  - {metadata: {name: orders}, spec: {partitions: 1, replicas: 1}}
"""
    written = converted(tmp_path, text).files["manifests/shop.yaml"]
    assert written.startswith("# All topics of the shop.\n# who to ask\n---\n# The first one.\n")


GROUPS = """\
apiVersion: kafka.jikkou.io/v1
kind: KafkaConsumerGroupList
metadata: {labels: {team: shop}}
items:
- metadata: {name: billing}
  spec: {configs: {consumer.session.timeout.ms: 50000}}
- metadata: {name: audit}
  spec: {configs: {consumer.session.timout.ms: 50000}}
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaShareGroup
metadata: {name: work}
spec: {configs: {share.auto.offset.reset: earliest}}
"""


def test_the_configs_of_a_consumer_group_are_declared(tmp_path: Path) -> None:
    project = converted(tmp_path, GROUPS)
    assert specs(project) == {"billing": {"configs": {"consumer.session.timeout.ms": 50000}}}
    assert [loss.problem for loss in project.conversion.losses] == [
        "KafkaConsumerGroup audit: Kafka has no group config consumer.session.timout.ms (did they "
        "mean consumer.session.timeout.ms?)",
        "KafkaShareGroup work: kgitops declares no share groups",
    ]
