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


def test_an_instance_that_count_no_longer_has_is_told(tmp_path: Path) -> None:
    files = {
        "main.tf": topic("count = 1", '"t-${count.index}"'),
        "terraform.tfstate": state(instance("t-0", 0), instance("t-1", 1)),
    }
    assert result(tmp_path, files) == ({"t-0"}, [destroyed("kafka_topic t[1]")])


def test_an_instance_that_for_each_no_longer_has_is_told(tmp_path: Path) -> None:
    files = {
        "main.tf": topic('for_each = toset(["a"])', "each.key"),
        "terraform.tfstate": state(instance("a", "a"), instance("b", "b")),
    }
    assert result(tmp_path, files) == ({"a"}, [destroyed('kafka_topic t["b"]')])


def test_a_resource_that_is_gone_is_told(tmp_path: Path) -> None:
    files = {"main.tf": "locals {}\n", "kafka.tfstate": state(instance("t"))}
    assert result(tmp_path, files) == (set(), [destroyed("kafka_topic t")])


@pytest.mark.parametrize("path", ["terraform.tfstate.d/prod/terraform.tfstate", "s/x.tfstate"])
def test_a_state_file_in_another_folder_is_of_the_only_root_module(
    path: str, tmp_path: Path
) -> None:
    files = {"main.tf": "locals {}\n", path: state(instance("t"))}
    assert result(tmp_path, files) == (set(), [destroyed("kafka_topic t")])


def test_an_instance_of_a_module_that_is_gone_is_told(tmp_path: Path) -> None:
    call = 'module "m" {\n  source = "./m"\n  for_each = toset(["a"])\n}\n'
    files = {
        "main.tf": call,
        "m/main.tf": topic("", '"t"'),
        "terraform.tfstate": state(instance("t"), module='module.m["b"]'),
    }
    assert result(tmp_path, files) == ({"t"}, [destroyed('kafka_topic module.m["b"].t')])


def test_what_a_removed_block_forgets_is_told(tmp_path: Path) -> None:
    removed = "removed {\n  from = kafka_topic.t\n  lifecycle {\n  destroy = false\n  }\n}\n"
    files = {"main.tf": removed, "terraform.tfstate": state(instance("t"))}
    problem = "kafka_topic t: the .tf files no longer have it, so Terraform's next apply forgets "
    assert result(tmp_path, files) == (set(), [problem + "it and leaves it on the cluster"])


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


MOVED = {
    "a resource": ("moved {\n  from = kafka_topic.old\n  to = kafka_topic.t\n}\n", {"name": "old"}),
    "a module": (
        "moved {\n  from = module.old.kafka_topic.t\n  to = kafka_topic.t\n}\n",
        {"module": "module.old"},
    ),
}


@pytest.mark.parametrize("kind", MOVED)
def test_a_moved_resource_is_not_destroyed(kind: str, tmp_path: Path) -> None:
    moved, more = MOVED[kind]
    files = {
        "main.tf": topic("", '"t"') + moved,
        "terraform.tfstate": state(instance("t"), **more),
    }
    assert result(tmp_path, files) == ({"t"}, [])


@pytest.mark.parametrize("key", [None, "a"])
def test_a_resource_that_moves_to_a_key_is_not_destroyed(key: str | None, tmp_path: Path) -> None:
    """Before and after it has moved."""
    moved = 'moved {\n  from = kafka_topic.t\n  to = kafka_topic.t["a"]\n}\n'
    files = {
        "main.tf": topic('for_each = toset(["a"])', "each.key") + moved,
        "terraform.tfstate": state(instance("a", key)),
    }
    assert result(tmp_path, files) == ({"a"}, [])


@pytest.mark.parametrize("module", ["module.m", 'module.m["a"]'])
def test_a_module_that_moves_to_a_key_is_not_destroyed(module: str, tmp_path: Path) -> None:
    call = 'module "m" {\n  source = "./m"\n  for_each = toset(["a"])\n}\n'
    moved = 'moved {\n  from = module.m\n  to = module.m["a"]\n}\n'
    files = {
        "main.tf": call + moved,
        "m/main.tf": topic("", '"t"'),
        "terraform.tfstate": state(instance("t"), module=module),
    }
    assert result(tmp_path, files) == ({"t"}, [])


def test_a_resource_that_gets_a_count_is_not_destroyed(tmp_path: Path) -> None:
    files = {
        "main.tf": topic("count = 1", '"t"'),
        "terraform.tfstate": state(instance("t")),
    }
    assert result(tmp_path, files) == ({"t"}, [])


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
