"""Terraform's state files: what the next apply would destroy or forget is told, not declared."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversion.test_terraform_files import converted, documents
from manifests.loading import write

MONGEY = 'provider["registry.terraform.io/mongey/kafka"]'


def instance(name: str, key: str | int | None = None, **more: object) -> dict[str, Any]:
    attributes = {"id": name, "name": name, "partitions": 1, "replication_factor": 1}
    found: dict[str, Any] = {"schema_version": 0, "attributes": {**attributes, "config": {}}}
    return found | ({} if key is None else {"index_key": key}) | more


def state(*instances: dict[str, Any], **more: object) -> str:
    resource = {"mode": "managed", "type": "kafka_topic", "name": "t", "provider": MONGEY} | more
    return json.dumps(
        {
            "version": 4,
            "terraform_version": "1.9.0",
            "serial": 1,
            "lineage": "x",
            "outputs": {},
            "resources": [{**resource, "instances": list(instances)}],
            "check_results": None,
        },
        indent=1,
    )


def topic(meta: str, name: str) -> str:
    return (
        f'resource "kafka_topic" "t" {{\n  {meta}\n  name = {name}\n  partitions = 1\n'
        "  replication_factor = 1\n}\n"
    )


def result(folder: Path, files: dict[str, str]) -> tuple[set[str], list[str]]:
    write(folder, files)
    project = converted(folder)
    assert not project.findings
    problems = [loss.problem for loss in project.conversion.losses]
    assert all(
        Path(loss.source.file).suffix == ".tfstate" and loss.source.line > 1
        for loss in project.conversion.losses
    )
    return set(documents(project)), problems


def destroyed(address: str) -> str:
    return f"{address}: the .tf files no longer have it, so Terraform's next apply destroys it"


CALL = 'module "m" {\n  source = "./m"\n  for_each = toset(["a"])\n}\n'
FOR_EACH = topic('for_each = toset(["a"])', "each.key")
MODULE = {"main.tf": CALL, "m/main.tf": topic("", '"t"')}
FORGOTTEN = "kafka_topic t: the .tf files no longer have it, so Terraform's next apply forgets "


def moved(start: str, end: str) -> str:
    return f"moved {{\n  from = {start}\n  to = {end}\n}}\n"


INTO_A_KEY = FOR_EACH + moved("kafka_topic.t", 'kafka_topic.t["a"]')
MODULE_INTO_A_KEY = MODULE | {"main.tf": CALL + moved("module.m", 'module.m["a"]')}
REMOVED = "removed {\n  from = kafka_topic.t\n  lifecycle {\n  destroy = false\n  }\n}\n"
NOTHING = {"main.tf": "locals {}\n"}
NEXT_APPLY: dict[str, tuple[dict[str, str], str, set[str], list[str]]] = {
    "count no longer has it": (
        {"main.tf": topic("count = 1", '"t-${count.index}"')},
        state(instance("t-0", 0), instance("t-1", 1)),
        {"t-0"},
        [destroyed("kafka_topic t[1]")],
    ),
    "for_each no longer has it": (
        {"main.tf": FOR_EACH},
        state(instance("a", "a"), instance("b", "b")),
        {"a"},
        [destroyed('kafka_topic t["b"]')],
    ),
    "its module's instance is gone": (
        MODULE,
        state(instance("t"), module='module.m["b"]'),
        {"t"},
        [destroyed('kafka_topic module.m["b"].t')],
    ),
    "a removed block forgets it": (
        {"main.tf": REMOVED},
        state(instance("t")),
        set(),
        [f"{FORGOTTEN}it and leaves it on the cluster"],
    ),
    "it has moved": (
        {"main.tf": topic("", '"t"') + moved("kafka_topic.old", "kafka_topic.t")},
        state(instance("t"), name="old"),
        {"t"},
        [],
    ),
    "it has moved out of a module": (
        {"main.tf": topic("", '"t"') + moved("module.old.kafka_topic.t", "kafka_topic.t")},
        state(instance("t"), module="module.old"),
        {"t"},
        [],
    ),
    "it moves to a key": ({"main.tf": INTO_A_KEY}, state(instance("a")), {"a"}, []),
    "it has moved to a key": ({"main.tf": INTO_A_KEY}, state(instance("a", "a")), {"a"}, []),
    "its module moves to a key": (
        MODULE_INTO_A_KEY,
        state(instance("t"), module="module.m"),
        {"t"},
        [],
    ),
    "its module has moved to a key": (
        MODULE_INTO_A_KEY,
        state(instance("t"), module='module.m["a"]'),
        {"t"},
        [],
    ),
    "it gets a count": ({"main.tf": topic("count = 1", '"t"')}, state(instance("t")), {"t"}, []),
}
"""The files, the state, what is declared then and what is told."""


@pytest.mark.parametrize("case", NEXT_APPLY)
def test_what_the_next_apply_destroys_or_forgets_is_told_and_what_moves_is_not(
    case: str, tmp_path: Path
) -> None:
    files, before, declared, told = NEXT_APPLY[case]
    assert result(tmp_path, files | {"terraform.tfstate": before}) == (declared, told)


@pytest.mark.parametrize(
    "path", ["kafka.tfstate", "terraform.tfstate.d/prod/terraform.tfstate", "s/x.tfstate"]
)
def test_a_state_file_in_another_folder_is_of_the_only_root_module(
    path: str, tmp_path: Path
) -> None:
    found = result(tmp_path, NOTHING | {path: state(instance("t"))})
    assert found == (set(), [destroyed("kafka_topic t")])


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"status": "tainted"}, "it is tainted, so Terraform's next apply destroys it"),
        ({"deposed": "0a1b2c3d"}, "it is deposed, so Terraform's next apply destroys it"),
        ({"attributes": None}, "the state file has no attributes of it"),
        ({"attributes_flat": {"id": "t"}}, "attributes in this form are not read"),
        ({"never_heard_of": 1}, "never_heard_of of an instance of kafka_topic t"),
    ],
)
def test_an_instance_that_is_not_whole_is_told(
    more: dict[str, object], problem: str, tmp_path: Path
) -> None:
    names, problems = result(tmp_path, {"terraform.tfstate": state(instance("t", **more))})
    assert names == (set() if set(more) <= {"status", "deposed", "attributes"} else {"t"})
    assert len(problems) == 1
    assert problem in problems[0]


def test_the_state_has_what_only_terraform_knows(tmp_path: Path) -> None:
    files = {
        "main.tf": topic("for_each = var.topics", "each.key"),
        "terraform.tfstate": state(instance("a", "a")),
    }
    write(tmp_path, files)
    project = converted(tmp_path)
    assert set(documents(project)) == {"a"}
    (loss,) = project.conversion.losses
    assert "it has one instance for each of ${var.topics}" in loss.problem


def test_what_terraform_ignores_is_not_declared_from_the_state(tmp_path: Path) -> None:
    text = topic("lifecycle {\n  ignore_changes = [config]\n  }", '"t"')
    whole = instance("t")
    whole["attributes"]["config"] = {"retention.ms": "1000"}
    write(tmp_path, {"main.tf": text, "terraform.tfstate": state(whole)})
    project = converted(tmp_path)
    assert not project.findings
    assert documents(project)["t"].spec == {"partitions": 1, "replicationFactor": 1}
    assert {Path(loss.source.file).name for loss in project.conversion.losses} == {
        "main.tf",
        "terraform.tfstate",
    }


def test_an_object_of_another_provider_is_of_another_cluster(tmp_path: Path) -> None:
    read = json.loads(state(instance("t")))
    (first,) = read["resources"]
    read["resources"].append({**first, "name": "u", "provider": f"{MONGEY}.dr"})
    write(tmp_path, {"terraform.tfstate": json.dumps(read)})
    project = converted(tmp_path)
    found = {
        document.clusters for item in project.conversion.objects for document in item.documents
    }
    assert found == {("main",), ("dr",)}


def test_what_a_state_file_has_besides_is_told(tmp_path: Path) -> None:
    read = json.loads(state(instance("t")))
    (first,) = read["resources"]
    read["resources"] += [
        {**first, "type": "aiven_kafka_topic"},
        {**first, "type": "aws_instance"},
        {**first, "type": "kafka_topic", "mode": "data"},
    ]
    read["never_heard_of"] = 1
    write(tmp_path, {"terraform.tfstate": json.dumps(read, indent=1)})
    project = converted(tmp_path)
    assert [loss.problem for loss in project.conversion.losses] == [
        "aiven_kafka_topic t: resources of the provider aiven are not read",
        "never_heard_of of state has no counterpart",
    ]
    assert len(project.conversion.ignored) == 1


def test_data_resources_of_a_state_file_are_not_declared(tmp_path: Path) -> None:
    """Terraform reads such objects and doesn't manage them."""
    read = json.loads(state(instance("t")))
    (first,) = read["resources"]
    looked_up = {**first, "mode": "data", "name": "d"}
    read["resources"] += [
        {**looked_up, "instances": [instance("theirs")]},
        {**looked_up, "module": "module.m", "instances": [instance("theirs", "a")]},
        {**looked_up, "type": "aws_instance"},
    ]
    files = {"main.tf": topic("", '"t"')}
    for given in ({}, files):
        write(tmp_path, {"terraform.tfstate": json.dumps(read, indent=1), **given})
        project = converted(tmp_path)
        assert set(documents(project)) == {"t"}
        assert not project.conversion.losses
        assert not project.conversion.ignored


@pytest.mark.parametrize("name", ["more.tf", "more.tf.json", "more.tofu"])
def test_what_a_file_that_is_not_read_may_have_is_not_called_destroyed(
    name: str, tmp_path: Path
) -> None:
    files = {"main.tf": "locals {}\n", name: "{{", "terraform.tfstate": state(instance("t"))}
    write(tmp_path, files)
    project = converted(tmp_path)
    assert set(documents(project)) == {"t"}
    assert [Path(loss.source.file).name for loss in project.conversion.losses] == [name]
