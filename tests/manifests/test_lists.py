"""A list declares the same objects as one document each (contract §15)."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from kinds.samples import DOCUMENTS, NO_OBJECTS, WORD
from manifests.loading import load, write

from kgitops.manifests.kind_models import KINDS, LISTS
from kgitops.manifests.load import ManifestSet
from kgitops.manifests.schema import build_schema
from kgitops.model.errors import FindingsError
from kgitops.workflow.export.files import ListedDocument, file_lines
from kgitops.workflow.project.selection import Selection, open_workspace

HEAD = "apiVersion: kgitops/v1\nkind: TopicList\n"
ONE = "{partitions: 1, replicationFactor: 1}"


def test_each_kind_that_declares_objects_has_a_list() -> None:
    assert set(LISTS.values()) == KINDS.keys() - NO_OBJECTS.keys()


def names(manifests: ManifestSet) -> list[str]:
    return [str(it.declares.metadata.name) for it in manifests.manifests]


def declared(manifests: ManifestSet) -> list[object]:
    each = [it.declares for it in manifests.manifests]
    return sorted(each, key=lambda it: (it.kind, str(it.metadata)))


def of(folder: Path, text: str, **more: Mapping[str, str]) -> ManifestSet:
    write(folder, {"m.yaml": text})
    return load(folder / "m.yaml", **more)  # type: ignore[arg-type]


def test_lists_declare_what_documents_do_each_item_at_its_own_line(tmp_path: Path) -> None:
    documents = [it for each in DOCUMENTS.values() for it in each]
    pieces = [ListedDocument(partial(yaml.safe_dump, it), document=it) for it in documents]
    single, lists = file_lines(pieces, compact=False), file_lines(pieces, compact=True)
    assert {it["kind"] for it in yaml.safe_load_all(lists.text)} >= LISTS.keys()
    write(tmp_path, {"one.yaml": single.text, "lists.yaml": lists.text})
    env = {WORD: "a password of some length"}
    one, other = (load(tmp_path / name, env=env) for name in ("one.yaml", "lists.yaml"))
    assert declared(other) == declared(one)
    lines = lists.text.splitlines()
    items = [it for it in other.manifests if it.document.item]
    assert len(items) > len(LISTS)
    for it in items:
        place = it.document.source
        key, _, _ = lines[place.line - 1].rpartition(
            ":" if lines[place.line - 1][-1] == ":" else ": {"
        )
        assert yaml.safe_load(key) == it.declares.metadata.name
        assert place.column == 5


NAMES = st.text("ab1.-_ é#:'\"{}[],&*!|>%@`~", min_size=1, max_size=8)
RIGHT = {
    "principal": "User:a",
    "permission": "Allow",
    "operations": ["Read"],
    "resource": {"type": "topic", "name": "orders"},
}


@given(drawn=st.lists(NAMES, min_size=2, max_size=5, unique=True), inline=st.booleans())
def test_any_name_comes_back_from_a_list(
    drawn: list[str], inline: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = {"apiVersion": "kgitops/v1", "kind": "Acl", "spec": RIGHT}
    pieces = [
        ListedDocument(str, document={**document, "metadata": {"name": name}}) for name in drawn
    ]
    text = file_lines(pieces, compact=True).text
    if inline:
        text = yaml.safe_dump(yaml.safe_load(text), default_flow_style=True, allow_unicode=True)
    loaded = of(tmp_path_factory.mktemp("names"), text)
    assert loaded.findings == ()
    assert sorted(names(loaded)) == sorted(drawn)
    for it in loaded.manifests:
        assert it.document.written("metadata", "name") == it.declares.metadata.name
        assert it.document.written("spec", "resource", "name") == "orders"
        assert it.document.at("spec", "resource", "name").line >= it.document.source.line


def test_what_the_list_says_holds_for_each_item(tmp_path: Path) -> None:
    text = (
        "apiVersion: kgitops/v1\nkind: ConsumerGroupList\n"
        "metadata: {labels: {team: a}, clusters: [prod], virtualCluster: emea}\n"
        "spec: {items: {etl: {}, 007: {}}}\n"
    )
    loaded = of(tmp_path, text, cluster="prod")  # type: ignore[arg-type]
    assert names(loaded) == ["etl", "007"]
    for it in loaded.manifests:
        metadata = it.declares.metadata
        assert (metadata.labels, metadata.clusters) == ({"team": "a"}, ["prod"])
        assert metadata.virtual_cluster == "emea"  # type: ignore[union-attr]
        assert it.document.at("metadata", "labels").line == 3
    assert names(of(tmp_path, text)) == []


def test_names_are_text_as_it_is_written(tmp_path: Path) -> None:
    written = ["1", "1.0", "true", "007", "7", "0x10", "16", "~", "null", "1e400"]
    text = f"{HEAD}spec:\n  items:\n" + "".join(f"    {name}: {ONE}\n" for name in written)
    loaded = of(tmp_path, text)
    assert loaded.findings == ()
    assert names(loaded) == written
    assert [it.document.source.line for it in loaded.manifests] == [*range(5, 15)]
    assert [it.document.written("metadata", "name") for it in loaded.manifests] == written


def test_an_item_may_hold_placeholders_and_aliases(tmp_path: Path) -> None:
    text = f"""{HEAD}spec:
  items:
    first: &size {{partitions: "${{var:count}}", replicationFactor: 1}}
    second: *size
    ${{var:begin}}.third:
      <<: *size
      partitions: 2
"""
    loaded = of(tmp_path, text, variables={"count": "7", "begin": "eu"})
    assert loaded.findings == ()
    assert names(loaded) == ["first", "second", "eu.third"]
    assert [it.declares.spec.partitions for it in loaded.manifests] == [7, 7, 2]  # type: ignore[union-attr]
    assert [it.document.source.line for it in loaded.manifests] == [5, 6, 7]
    unknown = of(tmp_path, text).findings
    assert [str(it).partition(": ")[2] for it in unknown][-1].startswith("${var:begin}")


def test_an_item_without_placeholders_is_checked_on_every_cluster(tmp_path: Path) -> None:
    """As a document is, whatever other items hold: its mistake is no matter of a variable."""
    text = f"""{HEAD}metadata: {{clusters: [prod]}}
spec:
  items:
    wrong: {{partitions: 0, replicationFactor: 1}}
    templated: {{partitions: "${{var:count}}", replicationFactor: 1}}
"""
    loaded = of(tmp_path, text)
    assert [it.problem for it in loaded.findings] == [
        "spec.items.wrong.partitions must be a whole number of at least 1, not 0"
    ]


WRONG = {
    "": ["m.yaml:1:1: spec is missing; write spec.items.NAME for each item, with its spec below"],
    f"items: {{a: {ONE}}}": [
        "m.yaml:3:1: items is not a field of TopicList; write it in spec, indented below it"
    ],
    "spec:": ["m.yaml:3:6: spec must be a mapping, not empty; write spec.items.NAME for each"],
    "spec: {}": ["m.yaml:3:7: spec.items is missing; write spec.items.NAME for each item"],
    "spec:\n  items:": ["m.yaml:4:9: spec.items must be a mapping, not empty; write spec.items"],
    "spec:\n  items:\n  - name: a": ["m.yaml:5:3: spec.items must be a mapping, not a list; "],
    "spec: {items: {}}": ["m.yaml:3:15: spec.items must not be empty; write its items, or remove"],
    f"spec: {{item: {{a: {ONE}}}}}": [
        "m.yaml:3:8: spec.item is not a field of TopicList; did you mean items?"
    ],
    f"spec: {{profile: p, items: {{a: {ONE}}}}}": [
        "m.yaml:3:8: spec.profile is not a field of TopicList; write it in spec.items.NAME, "
        "indented below it"
    ],
    f"spec: {{labels: {{}}, items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:8: spec.labels is not a field of TopicList; write it in metadata, indented below"
    ],
    f"spec: {{sise: 1, items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:8: spec.sise is not a field of TopicList; remove it; the fields here are items"
    ],
    f"spec: {{retention.ms: 1, items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:8: spec.retention.ms is not a field of TopicList; write it in "
        "spec.items.NAME.configs, indented below it"
    ],
    f"spec: {{items: {{a: {{labels: {{}}, partitions: 1, replicationFactor: 1}}, b: {ONE}}}}}": [
        "m.yaml:3:20: spec.items.a.labels is not a field of Topic; write it once for the list, or "
        "declare the object in a separate document"
    ],
    f"metadata: {{partitions: 1}}\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:12: metadata.partitions is not a field of TopicList; write it in "
        "spec.items.NAME, indented below it"
    ],
    f"partitions: 1\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:1: partitions is not a field of TopicList; write it in spec.items.NAME, "
        "indented below it"
    ],
    f"metadata: {{clusters: local}}\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:22: metadata.clusters must be a list, not 'local'; "
    ],
    "spec: {items: {<<: {}}}": [
        "m.yaml:3:15: spec.items can't have its names from <<; write each name, and << below it"
    ],
    f"spec:\n  items:\n    a: {ONE}\n    a: {ONE}": [
        "m.yaml:6:5: the key 'a' appears twice, first at m.yaml:5:5; keep one of them"
    ],
    f"spec:\n  items:\n    1: {ONE}\n    '1': {ONE}": [
        "m.yaml:6:5: the key '1' appears twice, first at m.yaml:5:5; keep one of them"
    ],
    f"spec:\n  items:\n    <<: {{a: {ONE}}}": [
        "m.yaml:5:5: spec.items can't have its names from <<; write each name, and << below it"
    ],
    "spec:\n  items:\n    a:\n    b: 3": [
        "m.yaml:5:7: spec.items.a must be a mapping, not empty; write a: {}, or its fields below",
        "m.yaml:6:8: spec.items.b must be a mapping, not 3; write its fields below it, indented",
    ],
    "spec:\n  items:\n    a: {partitions: 0, replicationFactor: 1, retention.ms: 1}": [
        "m.yaml:5:21: spec.items.a.partitions must be a whole number of at least 1, not 0; ",
        "m.yaml:5:46: spec.items.a.retention.ms is not a field of Topic; write it in "
        "spec.items.a.configs, indented below it",
    ],
    f"spec:\n  items:\n    a: {{spec: {ONE}, metadata: {{}}}}": [
        "m.yaml:5:54: spec.items.a.metadata is not a field of Topic; write it once for the list, "
        "or declare the object in a separate document",
        "m.yaml:5:9: spec.items.a.spec is not a field of Topic; write its fields right below a",
    ],
    f"spec: {{items: {{'': {ONE}}}}}": [
        "m.yaml:3:16: spec.items[''] must not be empty; write it, or remove the line"
    ],
    f"metadata: {{name: all}}\nspec: {{items: {{a: {ONE}, b: 0}}}}": [
        "m.yaml:3:12: metadata.name is not a field of TopicList; remove it: spec.items has the "
        "name of each object",
        "m.yaml:4:61: spec.items.b must be a mapping, not 0; ",
    ],
    f"metadata: {{lables: {{}}}}\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:12: metadata.lables is not a field of TopicList; did you mean labels?"
    ],
    f"metadata: {{labels: {{a: '${{var:no}}'}}}}\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}": [
        "m.yaml:3:24: ${var:no} has no value; add no to the cluster's variables"
    ],
}


@pytest.mark.parametrize("text", WRONG)
def test_each_mistake_is_told_once_and_where_it_is(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"m.yaml": f"{HEAD}{text}\n"})
    found = sorted(map(str, load("m.yaml").findings))
    assert len(found) == len(WRONG[text]), found
    for sentence, begins in zip(found, WRONG[text], strict=True):
        assert sentence.startswith(begins)


def test_a_missing_version_is_told_once(tmp_path: Path) -> None:
    text = f"---\nkind: TopicList\nspec: {{items: {{a: {ONE}, b: {ONE}}}}}\n"
    (found,) = of(tmp_path, text).findings
    assert str(found).endswith("m.yaml:2:1: apiVersion is missing; write kgitops/v1")


SCOPES = {
    "ClientQuota": (
        "{entity: {user: a}, quotas: {request_percentage: 1}}",
        "spec.items.NAME.entity",
    ),
    "Acl": (str(RIGHT), "spec.items.NAME"),
}


@pytest.mark.parametrize("kind", SCOPES)
@pytest.mark.parametrize("field", ["metadata", "spec"])
def test_a_misplaced_virtual_cluster_is_told_once(kind: str, field: str, tmp_path: Path) -> None:
    spec, place = SCOPES[kind]
    fields = {"spec": f"items: {{a: {spec}, b: {spec}}}"}
    fields[field] = f"virtualCluster: v, {fields.get(field, '')}"
    text = "".join(f"{name}: {{{value}}}\n" for name, value in fields.items())
    (found,) = of(tmp_path, f"apiVersion: kgitops/v1\nkind: {kind}List\n{text}").findings
    assert found.problem == f"{field}.virtualCluster is not a field of {kind}List"
    assert f"write virtualCluster in {place}, where " in found.advice


def test_a_virtual_cluster_in_an_item_has_its_place(tmp_path: Path) -> None:
    spec = "{virtualCluster: v, entity: {user: a}, quotas: {request_percentage: 1}}"
    head = "apiVersion: kgitops/v1\nkind:"
    text = f"{head} ClientQuotaList\nspec: {{items: {{a: {spec}}}}}\n---\n"
    text += f"{head} TopicList\nspec: {{items: {{b: {{virtualCluster: v, profile: p}}}}}}\n"
    quota, topic = of(tmp_path, text).findings
    assert "write virtualCluster in spec.items.a.entity, where" in quota.advice
    assert topic.advice.startswith("write it once for the list, or")


def test_a_list_in_a_project_file_is_one_document(tmp_path: Path) -> None:
    text = f"{HEAD}spec: {{items: {{a: {ONE}, b: {ONE}}}}}\n"
    write(tmp_path, {"one/kgitops.yaml": text, "two/kgitops.yaml": f"{text}---\n{text}"})
    for name, begins in {
        "one": ":2:7: a project file holds a Project, not a Topic; ",
        "two": ":5:1: a project file holds one document, not 2; ",
    }.items():
        with pytest.raises(FindingsError) as caught:
            open_workspace(Selection(paths=(tmp_path / name,), environ={}))
        (found,) = caught.value.findings
        assert begins in str(found)


@pytest.mark.parametrize(
    ("kind", "near"), [("TopicsList", "TopicList"), ("acllist", "AclList"), ("Topics", "Topic")]
)
def test_a_list_is_suggested(kind: str, near: str, tmp_path: Path) -> None:
    loaded = of(tmp_path, HEAD.replace("TopicList", kind) + "spec: {}\n")
    assert [it.advice for it in loaded.findings] == [f"did you mean {near}?"]


def test_a_document_that_the_schema_refuses_has_a_finding(tmp_path: Path) -> None:
    for text, begins in WRONG.items():
        try:
            document = yaml.safe_load(f"{HEAD}{text}")
        except yaml.YAMLError:
            continue
        if "<<" not in text and "twice" not in begins[0] and "${" not in text:
            assert not Draft202012Validator(build_schema("TopicList")).is_valid(document), text
