"""A mistake in kgitops's own manifests is found, and not repaired or lost by converting them."""

from pathlib import Path

import pytest
from manifests.loading import declaration, write

from kgitops.conversion.converting import convert

SIZE = "{partitions: 1, replicationFactor: 1}"
ACL = "{principal: User:a, permission: Allow, operations: [Read], resource: {type: topic, name: t}}"
WRONG_METADATA = {
    "clusters: []": "metadata.clusters must not be empty",
    "clusters: ": "metadata.clusters must be a list, not empty",
    "clusters: local": "metadata.clusters must be a list, not 'local'",
    "clusters: [1]": "metadata.clusters[0] must be text, not 1",
    "labels: [a]": "metadata.labels must be a mapping, not a list",
    "labels: a": "metadata.labels must be a mapping, not 'a'",
    "labels: ": "metadata.labels must be a mapping, not empty",
    "labels: {1: x}": "the key metadata.labels[1] must be text, not 1",
    "labels: {a: 1}": "metadata.labels.a must be text, not 1",
    "labels: {a: [b]}": "metadata.labels.a must be text, not a list",
}


@pytest.mark.parametrize("compacted", [True, False])
@pytest.mark.parametrize(("kind", "spec"), [("Topic", SIZE), ("Acl", ACL)])
@pytest.mark.parametrize("wrong", WRONG_METADATA)
def test_wrong_metadata_is_found(
    kind: str, spec: str, wrong: str, compacted: bool, tmp_path: Path
) -> None:
    text = declaration(kind, f"{{name: one, {wrong}}}", spec)
    write(tmp_path, {"in/a.yaml": f"{text}---\n{declaration(kind, '{name: two}', spec)}"})
    project = convert(tmp_path / "in", "kgitops", "out", compacted=compacted)
    (found,) = project.findings
    assert WRONG_METADATA[wrong] in found.problem
    assert found.source
    assert found.source.file.endswith("in/a.yaml")


WRONG_ACLS = {
    "principals: [], permission: Allow, operations: [Read]": "principals must not be empty",
    "principals: User:a, permission: Allow, operations: [Read]": "principals must be a list",
    "permission: Allow, operations: [Read]": "principal",
    "principal: User:a, principals: [User:b], permission: Allow, operations: [Read]": "principal",
    "principal: User:a, permission: Allow, operations: 5": "operations must be a list, not 5",
    "principal: User:a, permission: [], operations: [Read]": "permission must be",
}


@pytest.mark.parametrize("wrong", WRONG_ACLS)
def test_a_wrong_acl_is_found(wrong: str, tmp_path: Path) -> None:
    spec = f"{{{wrong}, resource: {{type: topic, name: t}}}}"
    write(tmp_path, {"in/a.yaml": declaration("Acl", "{name: one}", spec)})
    (found,) = convert(tmp_path / "in", "kgitops", "out").findings
    assert WRONG_ACLS[wrong] in found.problem


PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: shop}
spec:
  manifests: [.]
  clusters: {prod: {url: "kafka://localhost:9092"}}
"""
HEAD = "apiVersion: kgitops/v1\nkind:"
BLOCK = "spec:\n  partitions: 1\n  replicationFactor: 1\n"


def told(folder: Path, text: str) -> list[str]:
    write(folder, {"in/kgitops.yaml": PROJECT, "in/a.yaml": text})
    found = convert(folder / "in", "kgitops", "out").findings
    return [str(it).replace(f"{folder}/in/", "") for it in found]


def test_places_in_sentences_are_those_of_the_source(tmp_path: Path) -> None:
    one = f"{HEAD} Topic\nmetadata: {{name: one}}\n{BLOCK}"
    again = f"# Again.\n{HEAD} TopicList\nspec: {{items: {{one: {SIZE}}}}}\n"
    (found,) = told(tmp_path, f"# About one.\n\n{one}---\n{again}")
    assert found.startswith("a.yaml:13:16: topic/one is declared already at a.yaml:3:1; keep one")
    other = f"# About one.\n{HEAD} TopicList\nspec:\n  items:\n    two: {SIZE}\n    one: {SIZE}\n"
    (found,) = told(tmp_path, f"{other}---\n{one}")
    assert found.startswith("a.yaml:9:1: Topic one: topic/one is declared already at a.yaml:7:5; ")


def test_a_mistake_in_a_copied_list_is_at_its_item(tmp_path: Path) -> None:
    text = f"{HEAD} TopicList\nspec:\n  items:\n    a: {SIZE}\n    b: {{partitions: 0}}\n"
    assert told(tmp_path, text)[0].startswith("a.yaml:6:21: spec.items.b.partitions must be a ")
    flow = '--- {"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {}, "spec": {}}\n'
    assert told(tmp_path, flow)[0].startswith("a.yaml:1:63: metadata.name is missing")


def test_an_indented_document_is_copied_as_one(tmp_path: Path) -> None:
    text = f"---\n  kind: TopicList\n  spec:\n    items:\n      a: {SIZE}\n"
    assert told(tmp_path, text) == ["a.yaml:2:3: apiVersion is missing; write kgitops/v1"]
    assert told(tmp_path, text.replace("  kind", "  apiVersion: kgitops/v1\n  kind")) == []


def test_each_object_of_a_mistake_is_told(tmp_path: Path) -> None:
    text = "---\n".join(
        f"{HEAD} Topic\nmetadata:\n  name: {name}\n  clusters: [prdo]\n{BLOCK}" for name in "abc"
    )
    found = told(tmp_path, text)
    begins = "the project has no cluster 'prdo'"
    assert [it.partition(";")[0] for it in found] == [
        f"a.yaml:{1 + 9 * at}:1: Topic {name}: {begins}" for at, name in enumerate("abc")
    ]


def test_a_source_without_lists_is_not_told_of_items(tmp_path: Path) -> None:
    text = "".join(
        f"apiVersion: kafka.jikkou.io/v1beta2\nkind: KafkaTopic\nmetadata: {{name: {name}}}\n"
        "spec: {partitions: 99999999999, replicas: 1}\n---\n"
        for name in "ab"
    )
    write(tmp_path, {"in/a.yaml": text})
    found = convert(tmp_path / "in", "jikkou", "out").findings
    assert [it.problem.partition(" must")[0] for it in found] == [
        "KafkaTopic a: spec.partitions",
        "KafkaTopic b: spec.partitions",
    ]


@pytest.mark.parametrize("compacted", [True, False])
def test_the_schema_for_editors_stays_above_all_documents(compacted: bool, tmp_path: Path) -> None:
    line = "# yaml-language-server: $schema=../schemas/kgitops.schema.json\n"
    documents = [declaration("Topic", f"{{name: {name}}}", SIZE) for name in ("one", "two")]
    text = f"# All about one.\n{line}# More.\n" + "---\n".join(documents)
    write(tmp_path, {"in/a.yaml": text})
    project = convert(tmp_path / "in", "kgitops", "out", compacted=compacted)
    written = project.files["manifests/a.yaml"]
    assert written.startswith(f"{line}---\n")
    assert "# All about one.\n" in written
    assert "# More.\n" in written
    assert written.count("$schema") == 1
