"""Terraform: what it ignores, protects and destroys, and which provider reaches an object."""

from pathlib import Path

import pytest
from conversion.test_terraform_files import converted, documents
from manifests.loading import write

TOPIC = """\
resource "kafka_topic" "a" {{
  name               = "a"
  partitions         = 3
  replication_factor = 3
  config             = {{ "retention.ms" = "1000", "cleanup.policy" = "compact" }}
{more}
}}
"""


def lifecycle(text: str) -> str:
    return TOPIC.format(more=f"  lifecycle {{\n    {text}\n  }}")


def losses(folder: Path) -> list[tuple[int, str]]:
    found = converted(folder).conversion.losses
    return [(loss.source.line, loss.problem) for loss in found]


def declared(folder: Path, name: str = "a") -> dict[str, object] | None:
    document = documents(converted(folder)).get(name)
    return None if document is None else dict(document.spec)


SIZE = {"partitions": 3, "replicationFactor": 3}
CONFIGS = {"retention.ms": 1000, "cleanup.policy": "compact"}
IGNORED = {
    "all": None,
    '["*"]': None,
    "[partitions]": None,
    '["partitions"]': None,
    "[replication_factor, config]": None,
    "[name]": None,
    "[config]": SIZE,
    '["config"]': SIZE,
    '[config["retention.ms"]]': SIZE | {"configs": {"cleanup.policy": "compact"}},
    '["config.retention.ms"]': SIZE | {"configs": {"cleanup.policy": "compact"}},
    '[config["retention.ms"], config["cleanup.policy"]]': SIZE,
    "[for name in local.names : name]": None,
    "[nothing]": SIZE | {"configs": CONFIGS},
}


@pytest.mark.parametrize("ignored", IGNORED)
def test_what_terraform_ignores_is_told_at_its_line_and_not_declared(
    ignored: str, tmp_path: Path
) -> None:
    write(tmp_path, {"main.tf": lifecycle(f"ignore_changes = {ignored}")})
    assert declared(tmp_path) == IGNORED[ignored]
    assert {line for line, _ in losses(tmp_path)} == {7}


def test_what_several_blocks_ignore_is_not_declared(tmp_path: Path) -> None:
    more = "  lifecycle {\n    prevent_destroy = true\n  }\n"
    more += "  lifecycle {\n    ignore_changes = [config]\n  }"
    write(tmp_path, {"main.tf": TOPIC.format(more=more)})
    assert declared(tmp_path) == SIZE | {"deletionPolicy": "Protect"}
    assert [line for line, _ in losses(tmp_path)] == [10]


def test_each_ignored_attribute_is_told_at_its_own_line(tmp_path: Path) -> None:
    text = 'ignore_changes = [\n      partitions,\n      config["retention.ms"],\n    ]'
    write(tmp_path, {"main.tf": lifecycle(text)})
    assert [line for line, _ in losses(tmp_path)] == [8, 9]


USER = """\
resource "kafka_user_scram_credential" "u" {
  username            = "billing"
  scram_mechanism     = "SCRAM-SHA-512"
  password_wo         = var.password
  password_wo_version = "2"
  lifecycle {
    ignore_changes = [password_wo, password_wo_version]
  }
}
"""


def test_a_password_is_not_declared_so_that_it_may_be_ignored(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": USER})
    (credential,) = documents(converted(tmp_path))["billing"].spec["scram"]
    assert "version" not in credential
    (loss,) = losses(tmp_path)
    assert loss[0] == 7
    assert "password_wo_version" in loss[1]


ACL = """\
resource "kafka_acl" "r" {
  resource_name       = "a"
  resource_type       = "Topic"
  acl_principal       = "User:b"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
  lifecycle {
    LIFECYCLE
  }
}
"""


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("prevent_destroy = true", "Protect"),
        ("prevent_destroy = false", None),
        ("destroy = false", "Orphan"),
        ("create_before_destroy = true", None),
    ],
)
def test_how_an_object_may_go_is_its_deletion_policy(
    text: str, policy: str | None, tmp_path: Path
) -> None:
    acl = ACL.replace("LIFECYCLE", text)
    quota = 'resource "kafka_quota" "q" {\n  entity_type = "user"\n  entity_name = "b"\n'
    quota += f"  config = {{ consumer_byte_rate = 1 }}\n  lifecycle {{ {text} }}\n}}\n"
    write(tmp_path, {"main.tf": lifecycle(text) + acl + quota})
    project = converted(tmp_path)
    assert not project.findings
    assert not project.conversion.losses
    found = {item.kind: item.spec.get("deletionPolicy") for item in documents(project).values()}
    assert found == dict.fromkeys(("Topic", "Acl", "ClientQuota"), policy)


LOST_ARGUMENTS = {
    "lifecycle {\n  prevent_destroy = var.unknown\n  }": 7,
    "lifecycle {\n  replace_triggered_by = [kafka_acl.x.id]\n  }": 7,
    "lifecycle {\n  precondition {\n  condition = true\n  }\n  }": 7,
    "lifecycle {\n  postcondition {\n  condition = true\n  }\n  }": 7,
    "lifecycle {\n  never_heard_of = true\n  }": 7,
    'provisioner "local-exec" {\n  command = "true"\n  }': 6,
    'dynamic "x" {\n  for_each = []\n  content {}\n  }': 6,
    "managed_replication_factor = false": 6,
    "never_heard_of = 1": 6,
}


@pytest.mark.parametrize("text", LOST_ARGUMENTS)
def test_an_argument_without_a_counterpart_is_told_at_its_line(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": TOPIC.format(more=f"  {text}")})
    assert [line for line, _ in losses(tmp_path)] == [LOST_ARGUMENTS[text]]
    assert declared(tmp_path) is not None


HARMLESS_ARGUMENTS = (
    "depends_on = [kafka_acl.other]",
    'timeouts {\n  create = "5m"\n  }',
    'connection {\n  type = "ssh"\n  }',
)


@pytest.mark.parametrize("text", HARMLESS_ARGUMENTS)
def test_an_argument_that_changes_no_cluster_is_no_loss(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": TOPIC.format(more=f"  {text}")})
    assert not losses(tmp_path)
    assert declared(tmp_path) == SIZE | {"configs": CONFIGS}


BLOCKS = {
    'variable "x" {\n  sensitive = true\n  validation {\n  condition = true\n  }\n}': None,
    "locals {\n  x = 1\n}": None,
    'output "x" {\n  value = 1\n}': None,
    'terraform {\n  backend "s3" {}\n}': None,
    'data "kafka_topic" "x" {\n  name = "x"\n}': None,
    'ephemeral "vault_x" "y" {}': None,
    "moved {\n  from = kafka_topic.b\n  to = kafka_topic.a\n}": None,
    'import {\n  to = kafka_topic.a\n  id = "a"\n}': None,
    "removed {\n  from = kafka_topic.b\n  lifecycle {\n  destroy = false\n  }\n}": None,
    "removed {\n  from = aws_instance.b\n}": None,
    "removed {\n  from = kafka_topic.b\n}": "Terraform destroys kafka_topic.b",
    "removed {\n  from = module.b.kafka_topic.c\n}": "Terraform destroys module.b.kafka_topic.c",
    'check "x" {\n  assert {\n  condition = true\n  }\n}': "kgitops does not run its checks",
    'action "x" "y" {}': "kgitops runs no actions",
    "never_heard_of {}": "kgitops does not know such a block",
    "never_heard_of = 1": "it is in no block",
    'resource "aiven_kafka_topic" "x" {}': "resources of the provider aiven are not read",
    'resource "redpanda_topic" "x" {}': "resources of the provider redpanda are not read",
    'resource "confluent_role_binding" "x" {}': "it is of no kind that kgitops declares",
    'resource "confluent_kafka_client_quota" "x" {}': "it is a quota of Confluent Cloud's",
    'resource "kafka_topic" {}': "a resource has a type and a name",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_is_told_or_harmless(block: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": TOPIC.format(more="") + block + "\n"})
    problem = BLOCKS[block]
    found = losses(tmp_path)
    assert [line for line, _ in found] == ([] if problem is None else [8])
    assert problem is None or problem in found[0][1]
    assert declared(tmp_path) == SIZE | {"configs": CONFIGS}


PROVIDERS = """\
provider "kafka" {
  bootstrap_servers = ["a:9092"]
  tls_enabled       = false
}
provider "kafka" {
  alias             = "dr"
  bootstrap_servers = ["b:9092"]
  tls_enabled       = false
}
"""
INNER = """\
terraform {
  required_providers {
    kafka = { source = "Mongey/kafka" }
  }
}
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""


@pytest.mark.parametrize(
    ("providers", "cluster"), [("", "main"), ("providers = { kafka = kafka.dr }", "dr")]
)
def test_a_module_has_the_providers_that_its_call_gives_it(
    providers: str, cluster: str, tmp_path: Path
) -> None:
    call = f'module "m" {{\n  source = "./m"\n  {providers}\n}}\n'
    write(tmp_path, {"main.tf": PROVIDERS + call, "m/main.tf": INNER})
    project = converted(tmp_path)
    assert documents(project)["t"].clusters == (cluster,)
    assert not project.conversion.losses


def test_root_modules_reach_clusters_of_their_own(tmp_path: Path) -> None:
    provider = 'provider "kafka" {\n  bootstrap_servers = ["NAME:9092"]\n'
    login = '  sasl_username = "admin"\n  sasl_password = var.password\n}\n'
    files = {
        f"{name}/main.tf": provider.replace("NAME", name) + login + INNER
        for name in ("prod", "dev")
    }
    write(tmp_path, files)
    project = converted(tmp_path)
    found = {
        (document.name, document.clusters)
        for item in project.conversion.objects
        for document in item.documents
    }
    assert found == {("t", ("prod",)), ("t", ("dev",))}
    text = project.files["kgitops.yaml"]
    assert 'url: "kafka://prod:9092"' in text
    assert 'url: "kafka://dev:9092"' in text
    assert '"${env:KAFKA_PASSWORD}"' in text
    assert '"${env:PROD_KAFKA_PASSWORD}"' in text
    assert not project.findings


def test_providers_by_another_local_name_and_for_each_are_clusters(tmp_path: Path) -> None:
    text = """\
terraform {
  required_providers {
    msk = { source = "registry.terraform.io/Mongey/kafka" }
  }
}
provider "msk" {
  alias             = "by_env"
  for_each          = { prod = "a", dev = "b" }
  bootstrap_servers = ["${each.value}:9092"]
}
resource "kafka_topic" "t" {
  provider           = msk.by_env["dev"]
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""
    write(tmp_path, {"main.tf": text})
    project = converted(tmp_path)
    assert not project.conversion.losses
    assert documents(project)["t"].clusters == ("by_env.dev",)
    assert 'url: "kafka://b:9092"' in project.files["kgitops.yaml"]


def test_topics_of_two_clusters_of_confluent_are_not_one(tmp_path: Path) -> None:
    topic = """\
resource "confluent_kafka_topic" "NAME" {
  kafka_cluster {
    id = confluent_kafka_cluster.NAME.id
  }
  topic_name = "orders"
}
"""
    write(tmp_path, {"main.tf": topic.replace("NAME", "east") + topic.replace("NAME", "west")})
    project = converted(tmp_path)
    found = [
        document.clusters for item in project.conversion.objects for document in item.documents
    ]
    assert found == [("east",), ("west",)]
    assert all("whose address is not known" in loss.problem for loss in project.conversion.losses)


@pytest.mark.parametrize(
    ("meta", "number"),
    [("count = 0", 0), ("lifecycle {\n  enabled = false\n  }", 0), ("count = 1", 1)],
)
def test_a_module_that_is_not_called_declares_nothing(
    meta: str, number: int, tmp_path: Path
) -> None:
    call = f'module "m" {{\n  source = "./m"\n  {meta}\n}}\n'
    write(tmp_path, {"main.tf": call, "m/main.tf": INNER})
    project = converted(tmp_path)
    assert len(documents(project)) == number
    assert not project.conversion.losses


def test_an_argument_that_no_variable_takes_is_told(tmp_path: Path) -> None:
    call = 'module "m" {\n  source = "./m"\n  nothing = 1\n}\n'
    write(tmp_path, {"main.tf": call, "m/main.tf": INNER})
    assert losses(tmp_path) == [(3, "nothing of module module.m has no counterpart")]


def test_override_files_are_told_and_what_they_change_is_not_declared(tmp_path: Path) -> None:
    override = 'resource "kafka_topic" "a" {\n  partitions = 12\n}\n'
    write(tmp_path, {"main.tf": TOPIC.format(more=""), "x_override.tf": override})
    assert declared(tmp_path) is None
    assert [problem for _, problem in losses(tmp_path)] == [
        "kafka_topic a: an override file changes it",
        "resource kafka_topic.a: an override file changes it",
    ]


def test_override_files_win_over_variables_and_locals(tmp_path: Path) -> None:
    base = 'variable "n" {\n  type = number\n  default = 3\n}\nlocals {\n  r = 3\n}\n'
    topic = 'resource "kafka_topic" "a" {\n  name = "a"\n'
    topic += "  partitions = var.n\n  replication_factor = local.r\n}\n"
    override = 'variable "n" {\n  default = 5\n}\nlocals {\n  r = 2\n}\n'
    write(tmp_path, {"main.tf": base + topic, "override.tf": override})
    assert declared(tmp_path) == {"partitions": 5, "replicationFactor": 2}


def test_a_variable_that_may_not_be_null_has_its_default(tmp_path: Path) -> None:
    variable = 'variable "n" {\n  default  = 3\n  nullable = false\n}\n'
    topic = 'resource "kafka_topic" "a" {\n  name = "a"\n'
    topic += "  partitions = var.n\n  replication_factor = 1\n}\n"
    call = 'module "m" {\n  source = "./m"\n  n = null\n}\n'
    write(tmp_path, {"main.tf": call, "m/main.tf": variable + topic})
    assert declared(tmp_path) == {"partitions": 3, "replicationFactor": 1}


def test_files_that_are_not_read_are_told(tmp_path: Path) -> None:
    files = {
        "main.tf": TOPIC.format(more=""),
        "prod.tfvars": 'partitions = 12\nname = "x"\n',
        "terragrunt.hcl": "inputs = {}",
    }
    write(tmp_path, files)
    found = converted(tmp_path).conversion.losses
    assert sorted(f"{Path(loss.source.file).name}:{loss.source.line}" for loss in found) == [
        "prod.tfvars:1",
        "prod.tfvars:2",
        "terragrunt.hcl:1",
    ]
