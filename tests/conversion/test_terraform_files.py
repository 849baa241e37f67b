"""Terraform: instances, modules, variables, state files and what is told instead."""

import re
from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.objects import DeclaredDocument

TOPIC = """\
variable "name" {}
variable "partitions" { default = 1 }
resource "kafka_topic" "this" {
  name               = var.name
  partitions         = var.partitions
  replication_factor = 3
  config = {
    "retention.ms" = 1000
  }
}
output "name" { value = kafka_topic.this.name }
"""
CALLS = """\
module "topic" {
  source     = "./modules/topic"
  for_each   = { orders = 6, payments = 12 }
  name       = "shop.${each.key}"
  partitions = each.value
}
resource "kafka_acl" "reader" {
  resource_name       = module.topic["orders"].name
  resource_type       = "Topic"
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
STATE = """\
{"version": 4, "terraform_version": "1.9.0", "resources": [
  {"mode": "managed", "type": "kafka_topic", "name": "t", "instances": [
    {"index_key": "a", "attributes": {"id": "a", "name": "a", "partitions": 2,
     "replication_factor": 1, "config": {"cleanup.policy": "compact"}}}]},
  {"mode": "managed", "type": "kafka_acl", "name": "r", "module": "module.x", "instances": [
    {"attributes": {"id": "x", "resource_name": "a", "resource_type": "Topic",
     "resource_pattern_type_filter": "Literal", "acl_principal": "User:b", "acl_host": "*",
     "acl_operation": "Read", "acl_permission_type": "Allow"}}]},
  {"mode": "managed", "type": "kafka_user_scram_credential", "name": "u", "instances": [
    {"attributes": {"username": "b", "scram_mechanism": "SCRAM-SHA-512", "scram_iterations": 8192,
     "password": "Xy7-open-sesame"}}]},
  {"mode": "managed", "type": "aws_instance", "name": "i", "instances": [{"attributes": {}}]}
]}
"""


def documents(project: ConvertedProject) -> dict[str, DeclaredDocument]:
    return {
        document.name: document
        for item in project.conversion.objects
        for document in item.documents
    }


def converted(folder: Path) -> ConvertedProject:
    return convert(folder, "terraform", "converted", compacted=False)


def test_a_module_is_read_for_each_call(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": CALLS, "modules/topic/main.tf": TOPIC})
    project = converted(tmp_path)
    found = documents(project)
    assert not project.conversion.losses
    assert set(found) == {"shop.orders", "shop.payments", "billing-topic-shop.orders"}
    assert found["shop.payments"].spec == {
        "partitions": 12,
        "replicationFactor": 3,
        "configs": {"retention.ms": 1000},
    }


def test_variables_come_from_the_files_that_terraform_reads_by_itself(tmp_path: Path) -> None:
    files = {
        "main.tf": TOPIC,
        "terraform.tfvars": 'name = "first"\npartitions = 4\n',
        "later.auto.tfvars": 'name = "orders"\n',
        "other.tfvars": 'name = "never"\n',
    }
    write(tmp_path, files)
    found = documents(converted(tmp_path))
    assert {name: item.spec["partitions"] for name, item in found.items()} == {"orders": 4}


def test_a_file_of_settings_and_comments_is_not_written(tmp_path: Path) -> None:
    """Every plan would warn that it declares nothing."""
    days = 'variable "days" {\n  default = 30 # a month\n}\n'
    calls = CALLS.partition("resource")[0]
    write(tmp_path, {"main.tf": calls, "modules/topic/main.tf": TOPIC, "days.tf": days})
    assert sorted(converted(tmp_path).files) == [
        "kgitops.yaml",
        "manifests/modules/topic/main.yaml",
    ]


def test_what_is_not_known_is_told_with_its_place(tmp_path: Path) -> None:
    more = 'resource "kafka_topic" "many" {\n  for_each = var.all\n  name = each.key\n}\n'
    remote = 'module "far" {\n  source = "registry/topic"\n}\n'
    write(tmp_path, {"main.tf": TOPIC + more + remote})
    losses = converted(tmp_path).conversion.losses
    assert [(loss.source.line, loss.problem) for loss in losses] == [
        (3, "kafka_topic this has the template '${var.name}', whose value is not known here"),
        (
            12,
            "kafka_topic many: it has one instance for each of ${var.all}, which is not known here",
        ),
        (16, "module module.far is not among the files, or calls itself"),
    ]


def test_for_each_of_a_resource_has_an_instance_for_each_of_its(tmp_path: Path) -> None:
    each = """\
resource "kafka_topic" "this" {
  for_each           = { orders = 6, payments = 12 }
  name               = "shop.${each.key}"
  partitions         = each.value
  replication_factor = 3
}
resource "kafka_topic" "retry" {
  for_each           = kafka_topic.this
  name               = "${each.value.name}.${each.key}-retry"
  partitions         = each.value.partitions
  replication_factor = 3
}
resource "kafka_topic" "of_one" {
  for_each           = kafka_topic.this["orders"]
  name               = each.key
  partitions         = 1
  replication_factor = 3
}
"""
    write(tmp_path, {"main.tf": each})
    project = converted(tmp_path)
    assert {name: item.spec["partitions"] for name, item in documents(project).items()} == {
        "shop.orders": 6,
        "shop.payments": 12,
        "shop.orders.orders-retry": 6,
        "shop.payments.payments-retry": 12,
    }
    (loss,) = project.conversion.losses
    assert (loss.source.line, "one instance for each of" in loss.problem) == (13, True)


def test_the_outputs_of_all_calls_are_known(tmp_path: Path) -> None:
    readers = """\
resource "kafka_acl" "readers" {
  for_each            = module.topic
  resource_name       = each.value.name
  resource_type       = "Topic"
  acl_principal       = "User:${length(values(module.topic)[*].name)}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
    write(tmp_path, {"main.tf": CALLS + readers, "modules/topic/main.tf": TOPIC})
    project = converted(tmp_path)
    assert not project.conversion.losses
    assert {"2-topic-shop.orders", "2-topic-shop.payments"} < set(documents(project))


def test_a_module_that_calls_itself_ends(tmp_path: Path) -> None:
    again = 'module "again" {\n  source = "../a"\n}\n'
    write(tmp_path, {"a/main.tf": again.replace("../a", "../b"), "b/main.tf": again})
    assert converted(tmp_path).conversion.objects == ()


def test_a_state_file_has_what_was_applied_and_its_secrets_stay_in_it(tmp_path: Path) -> None:
    write(tmp_path, {"terraform.tfstate": STATE})
    project = convert(tmp_path, "auto", "converted")
    found = documents(project)
    assert set(found) == {"a", "b", "b-topic-a"}
    (login,) = found["b"].spec["scram"]
    assert (login["iterations"], login["password"]) == (8192, {"env": "B_PASSWORD"})
    assert found["a"].spec["configs"] == {"cleanup.policy": "compact"}
    (loss,) = project.conversion.losses
    assert "its password is a secret that was not copied" in loss.problem
    assert "open-sesame" not in "".join([*project.files.values(), loss.problem, loss.advice])


def test_several_providers_are_several_clusters(tmp_path: Path) -> None:
    providers = """\
provider "kafka" {
  bootstrap_servers = ["a:9092"]
  tls_enabled       = false
}
provider "kafka" {
  alias             = "dr"
  bootstrap_servers = ["b:9092"]
  sasl_username     = "admin"
  sasl_password     = "Xy7-open-sesame"
}
resource "kafka_topic" "t" {
  provider           = kafka.dr
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""
    write(tmp_path, {"main.tf": providers})
    project = converted(tmp_path)
    assert documents(project)["t"].clusters == ("dr",)
    text = project.files["kgitops.yaml"]
    assert 'url: "kafka://a:9092"' in text
    assert 'sasl.password: "${env:KAFKA_PASSWORD}"' in text
    (loss,) = project.conversion.losses
    assert "sasl_password stands in the file" in loss.problem
    assert "open-sesame" not in "".join([*project.files.values(), loss.problem])


def test_a_provider_for_amazon_msk_logs_in_by_iam(tmp_path: Path) -> None:
    provider = """\
provider "kafka" {
  bootstrap_servers = ["b-1.example.com:9098"]
  sasl_mechanism    = "aws-iam"
  sasl_aws_region   = "eu-central-1"
  sasl_aws_role_arn = var.role
}
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""
    write(tmp_path, {"main.tf": provider})
    project = converted(tmp_path)
    text = project.files["kgitops.yaml"]
    assert "security.protocol: SASL_SSL" in text
    assert "sasl.mechanism: AWS_MSK_IAM" in text
    assert 'sasl.oauthbearer.config: "region=eu-central-1,awsRoleArn=${env:KAFKA_ROLE_ARN}"' in text
    assert "sasl.username" not in text
    assert project.conversion.losses == ()


def test_confluents_topics_have_the_cloud_s_sizes(tmp_path: Path) -> None:
    text = """\
resource "confluent_kafka_topic" "orders" {
  kafka_cluster {
    id = confluent_kafka_cluster.main.id
  }
  topic_name    = "orders"
  rest_endpoint = confluent_kafka_cluster.main.rest_endpoint
  credentials {
    key    = var.key
    secret = var.secret
  }
}
"""
    write(tmp_path, {"main.tf": text})
    project = converted(tmp_path)
    assert documents(project)["orders"].spec == {"partitions": 6, "replicationFactor": 3}
    assert not project.conversion.losses


def test_a_cluster_whose_address_is_not_known_is_asked_of_the_environment(tmp_path: Path) -> None:
    text = """\
provider "kafka" {
  alias             = "one"
  bootstrap_servers = ["a:9092"]
}
provider "kafka" {
  alias             = "two"
  bootstrap_servers = [var.servers]
}
resource "kafka_topic" "t" {
  provider           = kafka.two
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""
    write(tmp_path, {"main.tf": text})
    project = converted(tmp_path)
    assert not project.findings
    assert 'url: "kafka://${env:TWO_BOOTSTRAP_SERVERS}"' in project.files["kgitops.yaml"]
    assert documents(project)["t"].clusters == ("two",)
    assert [loss.problem for loss in project.conversion.losses] == [
        "provider kafka: its bootstrap_servers are not known here",
        "kafka_topic t is for the cluster two, whose address is not known here",
    ]


WRONG_INSTANCES = (
    "count = 1000000000",
    "count = -1",
    'count = "x"',
    "count = 1.5",
    "for_each = 5",
    "for_each = null",
    "for_each = [{ a = 1 }]",
    "for_each = toset([for i in range(1000000000) : tostring(i)])",
)


@pytest.mark.parametrize("asked", WRONG_INSTANCES)
def test_instances_that_cannot_be_made_are_told(asked: str, tmp_path: Path) -> None:
    text = f'resource "kafka_topic" "t" {{\n  {asked}\n  name = "t"\n}}\n'
    write(tmp_path, {"main.tf": text})
    (loss,) = converted(tmp_path).conversion.losses
    assert loss.source.line == 1
    assert "it has one instance for each of" in loss.problem


def doubled(first: str, again: str, times: int = 30) -> str:
    """Locals each of which is made ten times of the one before."""
    lines = [f"  a0 = {first}"]
    for number in range(1, times):
        parts = [f"local.a{number - 1}"] * 10
        lines.append(f"  a{number} = {again.format(*parts, all=', '.join(parts))}")
    return "\n".join(lines)


ENDLESS = {
    "lists in lists": (doubled("[1]", "[{all}]"), "length(flatten(local.a29))"),
    "lists": (doubled("[1]", "concat({all})"), "length(local.a29)"),
    "texts": (doubled('"x"', '"${{{0}}}${{{1}}}${{{2}}}${{{3}}}"'), "local.a29"),
    "numbers": (doubled("99", "{0} * {1} * {2}"), "local.a29"),
    "pairs": ("  a = range(2000)", "length(setproduct(local.a, local.a, local.a))"),
    "a long chain": (doubled("1", "{0}", times=3000), "local.a2999"),
    "width": ("  a = 1", 'length(format("%999999999s", "x"))'),
    "text times a number": ("  a = 1", '"x" * 1000000000'),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_expressions_that_would_take_for_ever_are_told(kind: str, tmp_path: Path) -> None:
    made, asked = ENDLESS[kind]
    topic = 'resource "kafka_topic" "t" {\n  name = "t"\n  replication_factor = 1\n'
    write(tmp_path, {"main.tf": f"locals {{\n{made}\n}}\n{topic}  partitions = {asked}\n}}\n"})
    project = converted(tmp_path)
    assert not documents(project)
    assert any("whose value is not known" in loss.problem for loss in project.conversion.losses)


SPENT = "the instances and expressions up to this block take more steps than a conversion makes"


@pytest.mark.parametrize(
    "call",
    [
        'module "m" {{\n  source = "../m{number}"\n  count  = 8\n}}\n',
        # 6 KB without one count: 15^8 readings of the last module.
        "".join(f'module "m{n}" {{{{ source = "../m{{number}}" }}}}\n' for n in range(15)),
        # The outputs of the called module once for each mention: 14^8 in 4 KB.
        'module "m" {{\n  source = "../m{number}"\n}}\noutput "o" {{\n  value = ['
        + "module.m.o, " * 14
        + "]\n}}\nlocals {{\n  n = length(flatten(module.m.o))\n}}\n"
        'resource "kafka_topic" "t" {{\n  name = "t-${{local.n}}"\n'
        "  partitions = 1\n  replication_factor = 1\n}}\n",
    ],
    ids=["count", "calls", "outputs"],
)
def test_modules_that_call_ever_more_modules_end_at_a_line(call: str, tmp_path: Path) -> None:
    files = {f"m{number}/main.tf": call.format(number=number + 1) for number in range(8)}
    topic = TOPIC.replace("var.name", '"t"') + 'output "o" {\n  value = "x"\n}\n'
    write(tmp_path, {**files, "m8/main.tf": topic})
    losses = converted(tmp_path).conversion.losses
    (spent,) = [loss for loss in losses if loss.problem.startswith(SPENT)]
    assert re.search(r"/m[0-8]/main.tf$", spent.source.file)
    assert len(losses) < 100, "one sentence, not one for each module that was not read"


def test_a_resource_without_instances_declares_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": TOPIC.replace("  name   ", "  count = 0\n  name   ")})
    project = converted(tmp_path)
    assert not documents(project)
    assert not project.conversion.losses


TYPES = {
    ("number", '"3"', "var.v == 3 ? 1 : 2"): 1,
    ("string", "3", 'var.v == "3" ? 1 : 2'): 1,
    ("bool", '"true"', "var.v ? 1 : 2"): 1,
    ("list(number)", '["3"]', "var.v[0] == 3 ? 1 : 2"): 1,
    ("set(string)", '["a", "b", "a"]', "length(var.v)"): 2,
    ("map(number)", '{ a = "3" }', "var.v.a == 3 ? 1 : 2"): 1,
    ("object({ n = optional(number, 6) })", "{}", 'lookup(var.v, "n", 1)'): 6,
    ("object({ n = optional(number, 6) })", "{ n = null }", "try(var.v.n, 1)"): 6,
    ("object({ n = optional(number, 6) })", "{ n = 3 }", "var.v.n"): 3,
    ("object({ n = number })", "{ n = 3, more = 1 }", "try(var.v.more, 2)"): 2,
    ("map(object({ n = optional(number, 6) }))", "{ a = {} }", "var.v.a.n"): 6,
    (
        "list(object({ c = optional(object({ n = optional(number, 6) }), {}) }))",
        "[{}]",
        "var.v[0].c.n",
    ): 6,
    ("any", "{ n = 3 }", "var.v.n"): 3,
    ("tuple([number])", "[3]", "var.v[0]"): 3,
    ("number", '"x"', "var.v"): None,
    ("list(string)", '{ a = "3" }', "var.v[0]"): None,
    ("object({ n = optional(number) })", "{}", 'lookup(var.v, "n", 1)'): None,
    ("object({ n = number })", "{}", "try(var.v.n, 1)"): None,
    ("never_heard_of(number)", "[3]", "var.v[0]"): None,
}


@pytest.mark.parametrize(("kind", "value", "asked"), TYPES)
def test_a_variable_has_the_value_that_its_type_gives_it(
    kind: str, value: str, asked: str, tmp_path: Path
) -> None:
    """A value that no type allows is told."""
    variable = f'variable "v" {{\n  type    = {kind}\n  default = {value}\n}}\n'
    topic = 'resource "kafka_topic" "t" {\n  name = "t"\n  replication_factor = 1\n'
    write(tmp_path, {"main.tf": f"{variable}{topic}  partitions = {asked}\n}}\n"})
    project = converted(tmp_path)
    found = documents(project)
    expected = TYPES[kind, value, asked]
    sizes = [item.spec["partitions"] for item in found.values()]
    assert sizes == ([] if expected is None else [expected])
    assert bool(project.conversion.losses) == (expected is None)


def test_a_file_of_variables_is_read_by_its_whole_name(tmp_path: Path) -> None:
    files = {"main.tf": TOPIC, "prod-terraform.tfvars": 'name = "orders"\n'}
    write(tmp_path, files)
    project = converted(tmp_path)
    assert not documents(project)
    assert len(project.conversion.losses) == 2


def test_an_ignored_attribute_is_not_known_to_others_either(tmp_path: Path) -> None:
    """Its value is the cluster's, as Terraform has read it."""
    topic = """\
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 3
  replication_factor = 1
  lifecycle {
    ignore_changes = [partitions]
  }
}
resource "kafka_topic" "b" {
  name               = "b"
  partitions         = kafka_topic.a.partitions
  replication_factor = kafka_topic.a.replication_factor
}
"""
    write(tmp_path, {"main.tf": topic})
    project = converted(tmp_path)
    assert not documents(project)
    assert [loss.source.line for loss in project.conversion.losses] == [6, 9]


def test_a_throttle_is_told(tmp_path: Path) -> None:
    config = '  config = {\n    "leader.replication.throttled.replicas" = "*"\n  }\n'
    topic = 'resource "kafka_topic" "t" {\n  name = "t"\n  partitions = 1\n'
    write(tmp_path, {"main.tf": f"{topic}  replication_factor = 1\n{config}}}\n"})
    (loss,) = converted(tmp_path).conversion.losses
    assert loss.source.line == 6
    assert "is set by a tool while it moves replicas" in loss.problem
