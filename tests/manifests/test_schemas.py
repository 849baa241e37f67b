"""The JSON Schemas and the reference say what the models say."""

from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from manifests.loading import acl, quota, tombstone, topic
from manifests_reference import example

from kgitops.manifests.kind_models import DOCUMENT_KINDS, KINDS, LISTS, adapter
from kgitops.manifests.schema import build_schema, field_names

ROOT = Path(__file__).parents[2]


def documents(kind: str) -> object:
    return yaml.safe_load(example(kind))


@cache
def validator(kind: str | None = None) -> Draft202012Validator:
    """Validates a document of ``kind``, or of any kind."""
    return Draft202012Validator(build_schema(kind))


@pytest.mark.parametrize("kind", [*DOCUMENT_KINDS, None])
def test_every_schema_is_a_schema(kind: str | None) -> None:
    assert build_schema(kind)["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(build_schema(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_a_kind_satisfies_its_schema_and_its_model(kind: str) -> None:
    document = documents(kind)
    validator(kind).validate(document)
    validator().validate(document)
    adapter(kind).validate_python(document)


@pytest.mark.parametrize("kind", LISTS)
def test_the_example_of_a_kind_is_an_item_of_its_list(kind: str) -> None:
    one = documents(LISTS[kind])
    assert isinstance(one, dict)
    name = one["metadata"].pop("name", "any")
    document = {**one, "kind": kind, "spec": {"items": {name: one["spec"]}}}
    validator(kind).validate(document)
    validator().validate(document)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_field_satisfies_neither_schema_nor_model(kind: str) -> None:
    document = documents(kind)
    assert isinstance(document, dict)
    document["spec"]["virtualCluser"] = "x"
    assert not validator(kind).is_valid(document)
    assert not validator().is_valid(document)
    with pytest.raises(ValueError, match="virtualCluser"):
        adapter(kind).validate_python(document)


@pytest.mark.parametrize(
    "text",
    [
        topic(spec="{partitions: 0, replicationFactor: 1}"),
        topic(spec="{partitions: three, replicationFactor: 1}"),
        topic(spec="{partitions: null, replicationFactor: 1}"),
        topic(spec="{partitions: 1, replicationFactor: 32768}"),
        topic(spec="{assignments: {'0': [-1]}}"),
        topic(spec="{partitions: 1, replicationFactor: 1, deletionPolicy: Maybe}"),
        topic(name="1"),
        acl("permission: Allow\noperations: []\nresource: {type: topic, name: a}"),
        acl("permission: Perhaps\noperations: [Read]\nresource: {type: topic, name: a}"),
        acl("permission: Allow\noperations: [Fly]\nresource: {type: topic, name: a}"),
        acl("permission: Allow\noperations: [Read]\nresource: {type: queue, name: a}"),
        quota("{user: 7}", "{producer_byte_rate: 1}"),
        quota("{user: {default: false}}", "{producer_byte_rate: 1}"),
        quota("{user: a}", "{}"),
        quota("{user: a}", '{producer_byte_rate: "1"}'),
        tombstone("topic/orders"),
    ],
)
def test_schema_and_model_refuse_the_same(text: str) -> None:
    document = yaml.safe_load(text)
    kind = document["kind"]
    assert not validator(kind).is_valid(document)
    with pytest.raises(ValueError, match="validation error"):
        adapter(kind).validate_python(document)


@pytest.mark.parametrize("name", ["transactionalId", "TRANSACTIONAL_ID", "transactional-id"])
def test_the_schema_takes_kafkas_names_in_any_case(name: str) -> None:
    document = yaml.safe_load(
        acl(f"permission: ALLOW\noperations: [WRITE]\nresource: {{type: {name}, name: a}}")
    )
    validator("Acl").validate(document)
    adapter("Acl").validate_python(document)


def test_the_schema_takes_a_placeholder_for_a_number() -> None:
    document = yaml.safe_load(
        topic(spec='{partitions: "${var:partitions}", replicationFactor: "${env:RF:-3}"}')
    )
    validator("Topic").validate(document)


def test_every_example_of_the_repository_satisfies_the_schema() -> None:
    foreign = ("github", "gitlab", "atlantis", "convert", "reconcile", "gateway/kubernetes")
    others = {ROOT / "examples" / name for name in foreign}
    for path in sorted((ROOT / "examples").rglob("*.yaml")):
        if others.intersection(path.parents):
            continue
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document is not None:
                assert validator().is_valid(document), f"{path}: {document}"


@pytest.mark.parametrize("kind", DOCUMENT_KINDS)
def test_every_field_has_a_description(kind: str) -> None:
    schema = build_schema(kind)
    for definition in [schema, *schema.get("$defs", {}).values()]:
        for name, field in definition["properties"].items():
            assert field.get("description"), f"{kind}: {name}"


def test_the_fields_of_a_path_are_known_for_suggestions() -> None:
    assert "replicationFactor" in field_names("Topic", ("spec",))
    assert field_names("ClientQuota", ("spec", "entity", "user")) == ["default"]
    assert "brokers" in field_names("Project", ("spec", "clusters", "prod"))
    assert "class" in field_names("Project", ("spec", "policies", 0))
