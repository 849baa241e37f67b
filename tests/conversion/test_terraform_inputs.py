"""Terraform: values of variables, files that expressions read, and files in other formats."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.reading.folder import find_inputs
from kgitops.model.errors import UsageError
from kgitops.model.registry import Json

MAIN = """\
variable "size" { type = number }
variable "name" {
  type    = string
  default = "default"
}
resource "kafka_topic" "a" {
  name               = var.name
  partitions         = var.size
  replication_factor = 1
}
"""


def converted(
    folder: Path,
    files: Mapping[str, str],
    *,
    given: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> ConvertedProject:
    write(folder, files)
    inputs = find_inputs([folder / name for name in given], environment or {})
    return convert(folder / "in", "terraform", "x", compacted=False, inputs=inputs)


def specs(project: ConvertedProject) -> dict[str, dict[str, Json]]:
    return {
        document.name: dict(document.spec)
        for item in project.conversion.objects
        for document in item.documents
    }


def sizes(project: ConvertedProject) -> dict[str, Json]:
    assert not project.conversion.losses, project.conversion.losses
    return {name: spec["partitions"] for name, spec in specs(project).items()}


ORDER = [
    "TF_VAR_size",
    "in/terraform.tfvars",
    "in/terraform.tfvars.json",
    "in/a.auto.tfvars",
    "in/b.auto.tfvars.json",
    "in/c.auto.tfvars",
    "given/prod.tfvars",
    "given/last.tfvars.json",
]
"""Each wins over those before it."""


@pytest.mark.parametrize("last", range(1, len(ORDER) + 1))
def test_the_later_of_two_values_is_that_of_terraform(last: int, tmp_path: Path) -> None:
    files = {"in/main.tf": MAIN}
    for number, name in enumerate(ORDER[1:last], start=2):
        text = json.dumps({"size": number}) if name.endswith(".json") else f"size = {number}\n"
        files[name] = text
    given = tuple(name for name in ORDER[:last] if name.startswith("given/"))
    project = converted(tmp_path, files, given=given, environment={"TF_VAR_size": "1"})
    assert sizes(project) == {"default": last}


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("string", "[1]", "[1]"),
        ("number", "3", 3),
        ("list(string)", '["a", "b"]', ["a", "b"]),
        ("map(number)", "{ a = 1 }", {"a": 1}),
        ("any", "{ a = 1 }", {"a": 1}),
        (None, "{ a = 1 }", "{ a = 1 }"),
    ],
)
def test_the_type_says_how_the_environment_is_read(
    type_: str | None, text: str, value: object, tmp_path: Path
) -> None:
    declared = f"type = {type_}" if type_ else ""
    main = f"""\
variable "x" {{
  {declared}
}}
resource "kafka_topic" "a" {{
  name               = jsonencode(var.x) == jsonencode({json.dumps(value)}) ? "same" : "other"
  partitions         = 1
  replication_factor = 1
}}
"""
    files = {"in/main.tf": main}
    project = converted(tmp_path, files, environment={"TF_VAR_x": text, "TF_VAR_y": "z"})
    assert sizes(project) == {"same": 1}
    variables = [item for item in project.conversion.objects if item.kind == "variable"]
    assert [item.source.file for item in variables][-1] == "TF_VAR_x"


def test_a_secret_in_the_environment_is_not_read(tmp_path: Path) -> None:
    """It does not stand in a file, so nothing is reported, and it is in no file that is written."""
    main = """\
variable "kafka_password" {}
provider "kafka" {
  bootstrap_servers = ["b:9092"]
  sasl_mechanism    = "scram-sha512"
  sasl_username     = "terraform"
  sasl_password     = var.kafka_password
}
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
}
"""
    environment = {"TF_VAR_kafka_password": "Xy7-open-sesame"}
    project = converted(tmp_path, {"in/main.tf": main}, environment=environment)
    assert sizes(project) == {"a": 1}
    assert "Xy7-open-sesame" not in "".join(project.files.values())


def test_files_of_other_runs_are_not_reported_where_one_is_given(tmp_path: Path) -> None:
    files = {
        "in/main.tf": MAIN,
        "in/env/dev.tfvars": "size = 1\n",
        "in/env/prod.tfvars": "size = 2\n",
    }
    project = converted(tmp_path, files, given=("in/env/prod.tfvars",))
    assert sizes(project) == {"default": 2}
    (other,) = project.conversion.ignored
    assert other.endswith("in/env/dev.tfvars:1 (not given with --var-file)")
    without = converted(tmp_path, files).conversion
    problems = [loss.advice for loss in without.losses if "prod" in loss.source.file]
    assert problems == ["give it with --var-file if it is meant, or name it NAME.auto.tfvars"]


def test_a_file_of_variables_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file; correct the path"):
        converted(tmp_path, {"in/main.tf": MAIN}, given=("none.tfvars",))
    write(tmp_path, {"in/main.tf": "", "in/a.yaml": "topics: {a: {partitions: 1}}", "x": ""})
    inputs = find_inputs([tmp_path / "x"], {})
    with pytest.raises(UsageError, match="--var-file is for Terraform"):
        convert(tmp_path / "in", "kafka-gitops", "x", inputs=inputs)


FILES = """\
locals {
  topics = yamldecode(file("${path.module}/topics.yaml")).topics
  more   = [for name in fileset(path.module, "more/**/*.{yaml,yml}") :
            yamldecode(file("${path.module}/${name}"))]
  json   = jsondecode(file("topics.json"))
}
resource "kafka_topic" "t" {
  for_each           = { for t in concat(local.topics, local.more, local.json) : t.name => t }
  name               = each.value.name
  partitions         = each.value.partitions
  replication_factor = 1
  config = {
    "confluent.x" = templatefile("${path.module}/x.tftpl", { name = each.key })
  }
}
module "inner" {
  source = "./inner"
}
"""
INNER = """\
resource "kafka_topic" "t" {
  name               = "inner"
  partitions         = tonumber(trimspace(file("${path.module}/size.txt")))
  replication_factor = fileexists("${path.root}/none") ? 2 : 1
}
"""


def test_files_beside_the_module_are_read(tmp_path: Path) -> None:
    files = {
        "in/main.tf": FILES,
        "in/topics.yaml": "topics:\n- {name: orders, partitions: 6}\n",
        "in/topics.json": '[{"name": "json", "partitions": 2}]',
        "in/more/a.yaml": "{name: a, partitions: 1}",
        "in/more/deep/b.yml": "{name: b, partitions: 010}",
        "in/more/c.txt": "x",
        "in/x.tftpl": '%{ if name == "a" }A%{ else }${upper(name)}!%{ endif }',
        "in/inner/main.tf": INNER,
        "in/inner/size.txt": "7\n",
    }
    project = converted(tmp_path, files)
    assert sizes(project) == {"orders": 6, "json": 2, "a": 1, "b": 10, "inner": 7}
    configs = {name: spec.get("configs") for name, spec in specs(project).items()}
    assert configs["orders"] == {"confluent.x": "ORDERS!"}
    assert configs["a"] == {"confluent.x": "A"}


@pytest.mark.parametrize("path", ["../secret.yaml", "/etc/hostname", "none.yaml", "cert.pem"])
def test_other_files_are_not_known(path: str, tmp_path: Path) -> None:
    main = MAIN.replace('"default"', "null").replace("var.name", f'file("{path}")')
    pem = "-----BEGIN CERTIFICATE-----\n"
    files = {"in/main.tf": main, "secret.yaml": "a", "in/cert.pem": pem}
    project = converted(tmp_path, files, environment={"TF_VAR_size": "1"})
    assert not specs(project)
    (loss,) = project.conversion.losses
    assert f'file("{path}")' in loss.problem


def test_hidden_files_that_terraform_finds_are_no_silent_loss(tmp_path: Path) -> None:
    names = 'join("-", fileset("${path.module}/topics", "*"))'
    main = MAIN.replace('"default"', "null").replace("var.name", names)
    files = {"in/main.tf": main, "in/topics/a": "", "in/.hidden/b": ""}
    size = {"TF_VAR_size": "1"}
    assert sizes(converted(tmp_path, files, environment=size)) == {"a": 1}
    project = converted(tmp_path / "more", {**files, "in/topics/.b": ""}, environment=size)
    assert not specs(project)
    (loss,) = project.conversion.losses
    assert "fileset" in loss.problem


def test_the_files_of_opentofu_win(tmp_path: Path) -> None:
    files = {
        "in/main.tf": MAIN,
        "in/main.tofu": MAIN.replace("var.size", "9"),
        "in/own.tofu": 'variable "other" {}\n',
    }
    project = converted(tmp_path, files)
    assert sizes(project) == {"default": 9}
    (left,) = project.conversion.ignored
    assert left.endswith("main.tf:1 (OpenTofu reads main.tofu in its place)")


HCL = """\
terraform {
  required_providers {
    kafka = { source = "Mongey/kafka" }
  }
}
provider "kafka" {
  bootstrap_servers = ["b:9092"]
}
provider "kafka" {
  alias             = "dr"
  bootstrap_servers = ["dr:9092"]
}
variable "sizes" {
  type    = map(object({ partitions = optional(number, 3) }))
  default = { a = {}, "b.c" = { partitions = 6 } }
}
locals {
  text = "x${length(var.sizes)} \\"q\\" \\\\"
}
resource "kafka_topic" "t" {
  for_each           = var.sizes
  provider           = kafka.dr
  name               = each.key
  partitions         = each.value.partitions
  replication_factor = 1
  config             = { "retention.ms" = 1000, "confluent.x" = local.text }
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [config["retention.ms"]]
  }
}
resource "kafka_acl" "r" {
  resource_name       = kafka_topic.t["a"].name
  resource_type       = "Topic"
  acl_principal       = "User:%{ if true }a%{ endif }"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
JSON = {
    "//": {"metadata": "cdktf"},
    "terraform": {"required_providers": {"kafka": {"source": "Mongey/kafka"}}},
    "provider": {
        "kafka": [
            {"bootstrap_servers": ["b:9092"]},
            {"alias": "dr", "bootstrap_servers": ["dr:9092"]},
        ]
    },
    "variable": {
        "sizes": {
            "type": "map(object({ partitions = optional(number, 3) }))",
            "default": {"a": {}, "b.c": {"partitions": 6}},
        }
    },
    "locals": {"text": 'x${length(var.sizes)} "q" \\'},
    "resource": {
        "kafka_topic": {
            "t": {
                "//": "x",
                "for_each": "${var.sizes}",
                "provider": "kafka.dr",
                "name": "${each.key}",
                "partitions": "${each.value.partitions}",
                "replication_factor": 1,
                "config": {"retention.ms": 1000, "confluent.x": "${local.text}"},
                "lifecycle": {
                    "prevent_destroy": True,
                    "ignore_changes": ['config["retention.ms"]'],
                },
            }
        },
        "kafka_acl": {
            "r": [
                {
                    "resource_name": '${kafka_topic.t["a"].name}',
                    "resource_type": "Topic",
                    "acl_principal": "User:%{ if true }a%{ endif }",
                    "acl_host": "*",
                    "acl_operation": "Read",
                    "acl_permission_type": "Allow",
                }
            ]
        },
    },
}


def outcome(project: ConvertedProject) -> object:
    conversion = project.conversion
    return (
        [(item.kind, item.name, item.documents, item.settings) for item in conversion.objects],
        conversion.clusters,
        [loss.problem for loss in conversion.losses],
    )


def test_json_says_the_same_as_hcl(tmp_path: Path) -> None:
    hcl = converted(tmp_path / "a", {"in/main.tf": HCL})
    in_json = converted(tmp_path / "b", {"in/main.tf.json": json.dumps(JSON, indent=2)})
    assert len(specs(hcl)) == 3
    assert outcome(hcl) == outcome(in_json)


def test_findings_in_json_are_at_their_lines(tmp_path: Path) -> None:
    text = json.dumps(JSON, indent=2).replace('"retention.ms": 1000', '"retention.mss": 1000')
    project = converted(tmp_path, {"in/main.tf.json": text})
    lines = {loss.source.line for loss in project.conversion.losses if "mss" in loss.problem}
    assert lines == {text.splitlines().index('          "retention.mss": 1000,') + 1}


def test_a_text_in_a_json_file_of_variables_is_no_template(tmp_path: Path) -> None:
    files = {"in/main.tf": MAIN, "in/terraform.tfvars.json": '{"size": 1, "name": "${x}"}'}
    (loss,) = converted(tmp_path, files).conversion.losses
    assert "has the template '${x}'" in loss.problem


@pytest.mark.parametrize("text", ["[1]", "{", "{} {}", '{"resource": {"kafka_topic": {"a": 1}}}'])
def test_what_is_no_module_in_json_is_reported(text: str, tmp_path: Path) -> None:
    assert converted(tmp_path, {"in/a.tf.json": text}).conversion.losses


CALLS = """\
module "orders" {
  source = "../../modules/topic"
  name   = "orders"
}
module "none" {
  source = "../../modules/none"
}
"""
CALLED = """\
variable "name" {}
module "inner" {
  source = "./inner"
  name   = var.name
}
"""
INNERMOST = """\
variable "name" {}
resource "kafka_topic" "t" {
  name               = var.name
  partitions         = 1
  replication_factor = 1
}
"""


def test_a_module_outside_of_the_folder_is_read_where_its_call_says(tmp_path: Path) -> None:
    files = {
        "in/env/prod/main.tf": CALLS,
        "in/modules/topic/main.tf": CALLED,
        "in/modules/topic/main.tofu": CALLED.replace("var.name", '"t.${var.name}"'),
        "in/modules/topic/inner/main.tf": INNERMOST,
        "in/modules/other/main.tf": INNERMOST,
    }
    write(tmp_path, files)
    for given in ("in/env/prod", "in/env/prod/main.tf"):
        project = convert(tmp_path / given, "auto", "x", compacted=False)
        assert list(specs(project)) == ["t.orders"]
        (loss,) = project.conversion.losses
        assert loss.problem.startswith("module module.none is not among the files")
        assert "manifests/modules/topic/inner/main.yaml" in project.files


def test_a_call_without_instances_says_so(tmp_path: Path) -> None:
    main = 'module "t" {\n  source = "./t"\n  count  = 0\n  name   = "x"\n}\n'
    project = converted(tmp_path, {"in/main.tf": main, "in/t/main.tf": INNERMOST})
    assert not specs(project)
    (call,) = [item for item in project.conversion.objects if item.kind == "module"]
    assert (call.settings, call.losses) == ("nothing: it has no instances", ())
