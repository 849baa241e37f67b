"""Each argument that Terraform and Kafka's providers document is declared, harmless, or told."""

from pathlib import Path

import pytest
from conversion.test_terraform_files import converted
from manifests.loading import write
from msgspec import Struct

from kgitops.conversion.converting import ConvertedProject
from kgitops.conversion.reading.keys import Fate, find_key
from kgitops.conversion.tools.terraform.keys import LIFECYCLE, META, TABLES


class Documented(Struct, frozen=True):
    """A block with what it needs, and all its arguments, each with a value to try.

    A value that begins with a brace is a block.
    """

    header: str
    base: dict[str, str]
    keys: dict[str, str]
    after: str = ""


_TOPIC = """\
resource "kafka_topic" "other" {
  name               = "other"
  partitions         = 1
  replication_factor = 1
}
"""
_META_VALUES = {
    "count": "0",
    "for_each": "[]",
    "provider": "kafka.dr",
    "depends_on": "[kafka_topic.other]",
    "timeouts": '{\n create = "1m"\n }',
    "lifecycle": "{\n ignore_changes = all\n }",
    "provisioner": '"local-exec" {\n command = "true"\n }',
    "connection": '{\n host = "x"\n }',
    "dynamic": '"x" {\n for_each = []\n content {}\n }',
}
"""The meta-arguments of resources: https://developer.hashicorp.com/terraform/language/resources."""
_CLOUD = {
    "kafka_cluster": '{\n id = "lkc-2"\n }',
    "rest_endpoint": '"https://pkc-1.example.com:443"',
    "credentials": '{\n key = "k"\n secret = "Xy7-open-sesame"\n }',
    "id": '"x"',
}
_PRIVATE = '"Xy7-open-sesame"'

DOCUMENTED = {
    # Mongey/terraform-provider-kafka, docs/resources/*.md and kafka/resource_*.go of 2026-06-16.
    "kafka_topic": Documented(
        'resource "kafka_topic" "x"',
        {"name": '"a"', "partitions": "3", "replication_factor": "3"},
        {
            "name": '"b"',
            "partitions": "4",
            "replication_factor": "2",
            "config": '{ "retention.ms" = "1000" }',
            "id": '"x"',
        },
        _TOPIC,
    ),
    "kafka_acl": Documented(
        'resource "kafka_acl" "x"',
        {
            "resource_name": '"a"',
            "resource_type": '"Topic"',
            "acl_principal": '"User:b"',
            "acl_host": '"*"',
            "acl_operation": '"Read"',
            "acl_permission_type": '"Allow"',
        },
        {
            "resource_name": '"b"',
            "resource_type": '"Group"',
            "resource_pattern_type_filter": '"Prefixed"',
            "acl_principal": '"User:c"',
            "acl_host": '"10.0.0.1"',
            "acl_operation": '"Describe"',
            "acl_permission_type": '"Deny"',
            "id": '"x"',
        },
        _TOPIC,
    ),
    "kafka_quota": Documented(
        'resource "kafka_quota" "x"',
        {"entity_type": '"user"', "config": "{ consumer_byte_rate = 1 }"},
        {
            "entity_name": '"b"',
            "entity_type": '"client-id"',
            "config": "{ producer_byte_rate = 1 }",
            "id": '"x"',
        },
        _TOPIC,
    ),
    "kafka_user_scram_credential": Documented(
        'resource "kafka_user_scram_credential" "x"',
        {"username": '"a"', "scram_mechanism": '"SCRAM-SHA-512"'},
        {
            "username": '"b"',
            "scram_mechanism": '"SCRAM-SHA-256"',
            "scram_iterations": "8192",
            "password": _PRIVATE,
            "password_wo": _PRIVATE,
            "password_wo_version": '"2"',
            "id": '"x"',
        },
        _TOPIC,
    ),
    # confluentinc/terraform-provider-confluent, docs/resources/*.md of 2026-08-20.
    "confluent_kafka_topic": Documented(
        'resource "confluent_kafka_topic" "x"',
        {"topic_name": '"a"'},
        {
            "topic_name": '"b"',
            "partitions_count": "4",
            "config": '{ "retention.ms" = "1000" }',
            **_CLOUD,
        },
        'resource "confluent_kafka_topic" "y" {\n'
        'topic_name = "y"\nkafka_cluster {\n id = "lkc-1"\n}\n}\n',
    ),
    "confluent_kafka_acl": Documented(
        'resource "confluent_kafka_acl" "x"',
        {
            "resource_name": '"a"',
            "resource_type": '"TOPIC"',
            "pattern_type": '"LITERAL"',
            "principal": '"User:b"',
            "host": '"*"',
            "operation": '"READ"',
            "permission": '"ALLOW"',
        },
        {
            "resource_name": '"b"',
            "resource_type": '"GROUP"',
            "pattern_type": '"PREFIXED"',
            "principal": '"User:c"',
            "host": '"10.0.0.1"',
            "operation": '"DESCRIBE"',
            "permission": '"DENY"',
            **_CLOUD,
        },
        'resource "confluent_kafka_topic" "y" {\n'
        'topic_name = "y"\nkafka_cluster {\n id = "lkc-1"\n}\n}\n',
    ),
    # Mongey/terraform-provider-kafka, docs/index.md and kafka/provider.go of 2026-06-16.
    "provider kafka": Documented(
        'provider "kafka"',
        {"bootstrap_servers": '["a:9093"]', "sasl_mechanism": '"aws-iam"'},
        {
            "alias": '"dr"',
            "for_each": "{}",
            "bootstrap_servers": '["b:9093", "c:9093"]',
            "ca_cert": 'file("ca.pem")',
            "ca_cert_file": '"ca.pem"',
            "client_cert": 'file("client.pem")',
            "client_cert_file": '"client.pem"',
            "client_key": 'file("client.key")',
            "client_key_file": '"client.key"',
            "client_key_passphrase": "var.passphrase",
            "kafka_version": '"4.0.0"',
            "sasl_aws_access_key": '"AKIA"',
            "sasl_aws_container_authorization_token_file": '"token"',
            "sasl_aws_container_credentials_full_uri": '"http://localhost"',
            "sasl_aws_creds_debug": "true",
            "sasl_aws_external_id": '"x"',
            "sasl_aws_profile": '"prod"',
            "sasl_aws_region": '"eu-central-1"',
            "sasl_aws_role_arn": '"arn:aws:iam::1:role/x"',
            "sasl_aws_secret_key": _PRIVATE,
            "sasl_aws_shared_config_files": '["config"]',
            "sasl_aws_token": _PRIVATE,
            "sasl_mechanism": '"scram-sha512"',
            "skip_tls_verify": "true",
            "timeout": "60",
            "tls_enabled": "false",
            "version": '"0.13.0"',
        },
        _TOPIC,
    ),
    "provider kafka by a password": Documented(
        'provider "kafka"',
        {"bootstrap_servers": '["a:9093"]', "sasl_mechanism": '"oauthbearer"'},
        {
            "sasl_username": '"admin"',
            "sasl_password": _PRIVATE,
            "sasl_token_url": '"https://id.example.com/token"',
            "sasl_oauth_scopes": '["kafka", "admin"]',
        },
        _TOPIC,
    ),
    # confluentinc/terraform-provider-confluent, docs/index.md and provider.go of 2026-08-20.
    "provider confluent": Documented(
        'provider "confluent"',
        {},
        {
            "alias": '"dr"',
            "kafka_id": '"lkc-1"',
            "kafka_rest_endpoint": '"https://pkc-1.example.com:443"',
            "kafka_api_key": '"k"',
            "kafka_api_secret": _PRIVATE,
            "oauth": '{\n oauth_external_token_url = "https://id.example.com"\n }',
            "cloud_api_key": '"k"',
            "cloud_api_secret": _PRIVATE,
            "catalog_rest_endpoint": '"https://x.example.com"',
            "schema_registry_id": '"lsrc-1"',
            "schema_registry_api_key": '"k"',
            "schema_registry_api_secret": _PRIVATE,
            "schema_registry_rest_endpoint": '"https://x.example.com"',
            "flink_principal_id": '"u-1"',
            "flink_compute_pool_id": '"lfcp-1"',
            "flink_api_key": '"k"',
            "flink_api_secret": _PRIVATE,
            "flink_rest_endpoint": '"https://x.example.com"',
            "tableflow_api_key": '"k"',
            "tableflow_api_secret": _PRIVATE,
            "organization_id": '"x"',
            "environment_id": '"env-1"',
            "endpoint": '"https://api.confluent.cloud"',
            "max_retries": "4",
            "user_agent_suffix": '"x"',
        },
        _TOPIC,
    ),
}
_RESOURCES = [kind for kind in DOCUMENTED if not kind.startswith("provider")]
_CASES = [(kind, key) for kind, item in DOCUMENTED.items() for key in item.keys]
_CASES += [(kind, key) for kind in _RESOURCES for key in _META_VALUES]

# https://developer.hashicorp.com/terraform/language/meta-arguments/lifecycle, and
# https://opentofu.org/docs/language/meta-arguments/lifecycle for the last two.
LIFECYCLE_ARGUMENTS = (
    "create_before_destroy",
    "prevent_destroy",
    "ignore_changes",
    "replace_triggered_by",
    "precondition",
    "postcondition",
    "action_trigger",
    "enabled",
    "destroy",
)
# https://developer.hashicorp.com/terraform/language, and OpenTofu's https://opentofu.org/docs.
BLOCK_TYPES = (
    "terraform",
    "provider",
    "resource",
    "data",
    "ephemeral",
    "variable",
    "locals",
    "output",
    "module",
    "import",
    "moved",
    "removed",
    "check",
    "action",
)


def file_text(item: Documented, key: str = "", value: str = "") -> tuple[str, int]:
    """The file with a key set, and the line of the key."""
    lines = [f"{item.header} {{"]
    for name, text in {**item.base, **({key: value} if key else {})}.items():
        if name == key:
            at = len(lines) + 1
        lines += f"  {name}{'' if is_block(text) else ' ='} {text}".splitlines()
    text = "\n".join([*lines, "}", item.after])
    return text, at if key else 1


def is_block(value: str) -> bool:
    return "{\n" in value


def outcome(project: ConvertedProject) -> object:
    """All that is declared, whatever its place in the source."""
    return (
        [
            (document.kind, document.name, document.spec, document.clusters)
            for item in project.conversion.objects
            for document in item.documents
        ],
        project.conversion.clusters,
    )


def fate_of(kind: str, key: str) -> Fate:
    keys = TABLES[kind.removesuffix(" by a password")]
    found = find_key(keys, key)
    assert found is not None, f"{key} is in no table"
    return found.fate


@pytest.mark.parametrize(("kind", "key"), _CASES, ids=lambda text: text)
def test_an_argument_is_declared_or_told_at_its_line_or_harmless(
    kind: str, key: str, tmp_path: Path
) -> None:
    item = DOCUMENTED[kind]
    fate = fate_of(kind, key)
    value = item.keys.get(key) or _META_VALUES[key]
    text, line = file_text(item, key, value)
    write(tmp_path / "base", {"main.tf": file_text(item)[0]})
    write(tmp_path / "with", {"main.tf": text})
    base, project = converted(tmp_path / "base"), converted(tmp_path / "with")
    last = line + value.count("\n")
    told = [loss for loss in project.conversion.losses if line <= loss.source.line <= last]
    differs = outcome(base) != outcome(project)
    if fate is Fate.HARMLESS:
        assert not differs
        assert len(project.conversion.losses) == len(base.conversion.losses)
    elif fate is Fate.LOST:
        assert told
        assert not differs
    else:
        assert differs or told or (kind, key) == ("provider confluent", "alias")  # of no address
    shown = [*project.files.values(), *(loss.problem for loss in project.conversion.losses)]
    assert "open-sesame" not in "".join(shown)


@pytest.mark.parametrize("kind", _RESOURCES)
def test_every_argument_of_a_table_is_tried(kind: str) -> None:
    """A key that no test tries may be declared in name only."""
    undocumented = {"managed_replication_factor"}  # of forks, and told
    assert set(TABLES[kind]) == {*DOCUMENTED[kind].keys, *META} | (undocumented & set(TABLES[kind]))
    assert set(META) == set(_META_VALUES)


def test_every_block_and_every_argument_of_a_lifecycle_is_in_a_table() -> None:
    assert all(find_key(TABLES["block"], name) for name in BLOCK_TYPES)
    assert set(LIFECYCLE) == set(LIFECYCLE_ARGUMENTS)


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_an_unknown_argument_is_told_at_its_line(kind: str, tmp_path: Path) -> None:
    text, line = file_text(DOCUMENTED[kind], "never_heard_of", "1")
    write(tmp_path, {"main.tf": text})
    found = [
        loss for loss in converted(tmp_path).conversion.losses if "never_heard_of" in loss.problem
    ]
    assert [loss.source.line for loss in found] == [line]


@pytest.mark.parametrize("missing", ["acl_host", "acl_permission_type", "acl_operation"])
def test_a_right_with_a_part_missing_is_not_widened(missing: str, tmp_path: Path) -> None:
    item = DOCUMENTED["kafka_acl"]
    base = {key: value for key, value in item.base.items() if key != missing}
    write(tmp_path, {"main.tf": file_text(Documented(item.header, base, {}))[0]})
    project = converted(tmp_path)
    assert [loss.problem for loss in project.conversion.losses] == [f"kafka_acl x has no {missing}"]
    assert outcome(project) == ([], ())


MISSPELLED = {
    "resource_type": ("topic", "Topic"),
    "resource_pattern_type_filter": ("PREFIXED", "Prefixed"),
    "acl_operation": ("DESCRIBE_CONFIGS", "DescribeConfigs"),
    "acl_permission_type": ("ALLOW", "Allow"),
}
"""Arguments of an ACL with what provider 0.13.1 refuses ("unknown resource type: topic")."""


@pytest.mark.parametrize("argument", MISSPELLED)
def test_a_right_that_the_provider_refuses_is_not_granted(argument: str, tmp_path: Path) -> None:
    wrong, right = MISSPELLED[argument]
    item = DOCUMENTED["kafka_acl"]
    base = {**item.base, argument: f'"{wrong}"'}
    write(tmp_path, {"main.tf": file_text(Documented(item.header, base, {}))[0]})
    project = converted(tmp_path)
    assert [(loss.problem, loss.advice) for loss in project.conversion.losses] == [
        (
            f"kafka_acl x: Terraform's provider has no {argument} '{wrong}', so the ACL was never "
            "created",
            f"write {right} there if it is meant",
        )
    ]
    assert outcome(project) == ([], ())


def test_a_right_on_something_that_is_not_the_cluster_is_not_made_one(tmp_path: Path) -> None:
    item = DOCUMENTED["kafka_acl"]
    base = {**item.base, "resource_type": '"Cluster"', "acl_operation": '"Alter"'}
    write(tmp_path, {"main.tf": file_text(Documented(item.header, base, {}))[0]})
    (loss,) = converted(tmp_path).conversion.losses
    assert "the resource of an ACL on the cluster is kafka-cluster" in loss.problem


CONFIGS = {
    'skip_tls_verify = "true"': {
        "security.protocol": "SSL",
        "enable.ssl.certificate.verification": "false",
    },
    'client_key_file = "k"\nclient_cert_file = "c"\nclient_key_passphrase = var.p': {
        "security.protocol": "SSL",
        "ssl.certificate.location": "${env:KAFKA_CERTIFICATE_FILE}",
        "ssl.key.location": "${env:KAFKA_KEY_FILE}",
        "ssl.key.password": "${env:KAFKA_KEY_PASSWORD}",
    },
    'sasl_mechanism = "scram-sha256"': {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "${env:KAFKA_SASL_USERNAME}",
        "sasl.password": "${env:KAFKA_SASL_PASSWORD}",
    },
    'tls_enabled = false\nsasl_username = "admin"\nsasl_password = var.p': {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": "${env:KAFKA_PASSWORD}",
    },
    'sasl_mechanism = "oauthbearer"\nsasl_username = "id"\nsasl_password = var.p\n'
    'sasl_token_url = "https://id.example.com"\nsasl_oauth_scopes = ["a", "b"]': {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example.com",
        "sasl.oauthbearer.client.id": "id",
        "sasl.oauthbearer.client.secret": "${env:KAFKA_PASSWORD}",
        "sasl.oauthbearer.scope": "a b",
    },
}


@pytest.mark.parametrize("text", CONFIGS)
def test_connection_settings_are_librdkafkas(text: str, tmp_path: Path) -> None:
    provider = f'provider "kafka" {{\nbootstrap_servers = ["a:9093"]\n{text}\n}}\n{_TOPIC}'
    write(tmp_path, {"main.tf": provider})
    project = converted(tmp_path)
    (cluster,) = project.conversion.clusters
    assert cluster.configs == CONFIGS[text]
    assert not project.conversion.losses
    assert not project.findings


UNKNOWN_SETTINGS = (
    "tls_enabled = var.x",
    "skip_tls_verify = var.x",
    "sasl_mechanism = var.x",
    'sasl_mechanism = "kerberos"',
    'client_key_passphrase = "Xy7-open-sesame"',
)


@pytest.mark.parametrize("text", UNKNOWN_SETTINGS)
def test_a_setting_that_is_not_known_is_told_at_its_line(text: str, tmp_path: Path) -> None:
    provider = f'provider "kafka" {{\nbootstrap_servers = ["a:9093"]\n{text}\n}}\n{_TOPIC}'
    write(tmp_path, {"main.tf": provider})
    project = converted(tmp_path)
    assert [loss.source.line for loss in project.conversion.losses] == [3]
    assert "open-sesame" not in "".join(loss.problem for loss in project.conversion.losses)


def test_a_server_that_is_not_known_is_told_whatever_else_is_not(tmp_path: Path) -> None:
    text = 'sasl_username = var.user\nsasl_password = var.p\nbootstrap_servers = ["${var.h}:9092"]'
    write(tmp_path, {"main.tf": f'provider "kafka" {{\n{text}\n}}\n{_TOPIC}'})
    project = converted(tmp_path)
    assert not project.conversion.clusters
    (loss,) = project.conversion.losses
    assert "its bootstrap_servers are not known here" in loss.problem
