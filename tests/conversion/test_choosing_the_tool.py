"""A key that many programs have is no tool, and the files of known tools are named."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import convert
from kgitops.model.errors import FindingsError, UsageError

STATE = "topics:\n  orders: {partitions: 3, replication: 1}\n"
STRIMZI = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: orders, labels: {strimzi.io/cluster: main}}
spec: {partitions: 3, replicas: 3}
"""
OTHERS = {
    "docker-compose.yml": "services:\n  web: {image: nginx, user: root}\n  users: {image: x}\n",
    "values.yaml": "topics:\n  orders: {partitions: 3, replicas: 3}\nimage: {tag: x}\n",
    "more-values.yaml": "settings: {log: debug}\nusers: {admin: {name: x}}\n",
    "pipeline.yml": "services: [docker]\nstages: [test]\ntopics: {a: x}\n",
    "namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: kafka}\n",
    "limits.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {}\nspec: {hard: {pods: 4}}\n",
    "terraform.tfstate": '{"version": 4, "resources": [{"type": "aws_instance"}]}',
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("tool", "text"), [("kafka-gitops", STATE), ("strimzi", STRIMZI)])
def test_a_file_of_another_program_is_no_second_tool(
    tool: str, text: str, name: str, tmp_path: Path
) -> None:
    write(tmp_path, {"a.yaml": text, name: OTHERS[name]})
    conversion = convert(tmp_path, "auto", "x").conversion
    assert (conversion.tool, conversion.losses) == (tool, ())


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_program_alone_is_no_tool(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: OTHERS[name]})
    with pytest.raises(UsageError, match="has no files of a tool that kgitops knows"):
        convert(tmp_path, "auto", "x")


@pytest.mark.parametrize(
    "text",
    [
        "settings: {topics: {defaults: {replication: 3, partitions: 1}}}\ntopics: {a: {}}\n",
        "services: {a: {type: application, principal: 'User:a', produces: [b]}}\n",
        "services: {a: {produces: [b]}}\nunknown: 1\n",
        "users: {a: {principal: 'User:a', roles: [reader]}}\n",
        "customUserAcls: {a: {}}\n",
    ],
)
def test_each_section_alone_is_a_state_file(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": text})
    assert convert(tmp_path, "auto", "x").conversion.tool == "kafka-gitops"


def test_topics_beside_a_key_of_no_state_file_are_lost_and_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": STATE, "b.yaml": f"{STATE}servics: {{}}\n"})
    (loss,) = convert(tmp_path, "kafka-gitops", "x").conversion.losses
    problem = "a state file has no key servics, so it may be another program's"
    assert (loss.source.file[-6:], loss.problem) == ("b.yaml", problem)


KNOWN = {
    "apiVersion: platform.confluent.io/v1beta1": "Topic a is of Confluent for Kubernetes",
    "apiVersion: kafka.banzaicloud.io/v1alpha1": "Topic a is of Koperator",
    "apiVersion: cluster.redpanda.com/v1alpha2": "Topic a is of the Redpanda operator",
    "apiVersion: topic.kafka.crossplane.io/v1alpha1": "Topic a is of Crossplane's provider",
    "apiVersion: aiven.io/v1alpha1": "Topic a is of the Aiven operator",
    "apiVersion: kafka.nais.io/v1": "Topic a is of NAIS",
    "apiVersion: kafka/v2": "Topic a is of Conduktor",
}


@pytest.mark.parametrize("api", KNOWN)
def test_a_document_of_a_known_tool_is_named(api: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"{api}\nkind: Topic\nmetadata: {{name: a}}\n"})
    with pytest.raises(FindingsError) as raised:
        convert(tmp_path, "auto", "x")
    assert f"a.yaml:1:1: {KNOWN[api]}" in str(raised.value)
    # Beside files of the tool that is read, it is a loss and not passed over.
    write(tmp_path, {"b.yaml": STRIMZI})
    conversion = convert(tmp_path, "auto", "x").conversion
    assert [loss.problem.startswith(KNOWN[api]) for loss in conversion.losses] == [True]
    assert conversion.ignored == ()


def test_a_playbook_and_a_script_are_named(tmp_path: Path) -> None:
    playbook = "- hosts: all\n  tasks:\n  - block:\n    - community.kafka_topics: {topics: []}\n"
    script = "#!/bin/sh\n# kafka-topics --create\nkafka-acls.sh \\\n  --add --topic orders\n"
    write(tmp_path, {"a.yaml": playbook, "b.sh": script, "c.sh": "kafka-topics.sh --list\n"})
    with pytest.raises(FindingsError) as raised:
        convert(tmp_path, "auto", "x")
    first, second = str(raised.value).splitlines()
    assert "a.yaml:1:1: a playbook is of Ansible, which convert does not read" in first
    assert "b.sh:3:1: it is a script that calls kafka-acls" in second


def test_a_document_that_its_tool_reports_is_reported_once(tmp_path: Path) -> None:
    jikkou = STRIMZI.replace("strimzi.io/v1", "jikkou.io/v1")
    write(tmp_path, {"a.yaml": jikkou, "b.yaml": "apiVersion: kafka/v2\nkind: Topic\n"})
    losses = convert(tmp_path, "jikkou", "x").conversion.losses
    assert [loss.source.file[-6:] for loss in losses] == ["b.yaml"]


def test_the_message_names_the_file_that_was_given(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "x", "b.yaml": STRIMZI})
    with pytest.raises(UsageError, match=r"notes\.txt has no files of a tool that kgitops knows"):
        convert(tmp_path / "notes.txt", "auto", "x")
