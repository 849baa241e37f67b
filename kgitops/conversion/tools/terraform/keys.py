"""Tables of the arguments of Terraform's blocks, and of those of Kafka's providers.

Their sources: https://developer.hashicorp.com/terraform/language and
https://opentofu.org/docs/language for the language; https://registry.terraform.io/providers for
Mongey/kafka and confluentinc/confluent.
"""

from kgitops.conversion.reading.keys import Key, Keys, declared, harmless, lost, setting

_REFERRED = harmless("its values are in what refers to it")
_TERRAFORMS_OWN = harmless("it is about how Terraform itself works")

BLOCKS: Keys = {
    "resource": declared(),
    "module": declared(),
    "provider": setting("spec.clusters"),
    "removed": declared(),
    "variable": _REFERRED,
    "locals": _REFERRED,
    "data": _REFERRED,
    "ephemeral": _REFERRED,
    "output": harmless("it shows values, and changes nothing"),
    "terraform": _TERRAFORMS_OWN,
    "moved": harmless("it renames a resource in the state file, and changes nothing on a cluster"),
    "import": harmless("a plan of kgitops adopts what exists without it"),
    "check": lost("kgitops does not run its checks", "write them as a Policy"),
    "action": lost("kgitops runs no actions", "keep it in Terraform"),
}
"""The blocks of a file."""

REMOVED: Keys = {
    "from": declared(),
    "lifecycle": declared({"destroy": declared()}),
    "provisioner": lost("kgitops runs no commands"),
    "connection": harmless("it is how provisioners log in, which are reported"),
}

MODULE: Keys = {
    "source": declared(),
    "version": harmless("it chooses a release of a remote module, which is reported as a whole"),
    "providers": setting("the clusters of its resources"),
    "count": declared(),
    "for_each": declared(),
    "depends_on": harmless("kgitops orders its changes itself"),
    "lifecycle": declared({"enabled": declared()}),
}
"""The meta-arguments of a call; the others are its variables."""

LIFECYCLE: Keys = {
    "ignore_changes": declared(),
    "prevent_destroy": declared(),
    "destroy": declared(),
    "enabled": declared(),
    "create_before_destroy": harmless("kgitops never deletes an object to create it again"),
    "replace_triggered_by": lost("kgitops never deletes an object to create it again"),
    "precondition": lost("kgitops does not evaluate it", "write it as a Policy"),
    "postcondition": lost("kgitops does not evaluate it", "write it as a Policy"),
    "action_trigger": lost("kgitops runs no actions", "keep it in Terraform"),
}

META: Keys = {
    "count": declared(),
    "for_each": declared(),
    "provider": setting("the clusters that the object is for"),
    "lifecycle": declared(LIFECYCLE),
    "depends_on": harmless("kgitops orders its changes itself"),
    "timeouts": harmless("it is how long Terraform waits"),
    "provisioner": lost("kgitops runs no commands"),
    "connection": harmless("it is how provisioners log in, which are reported"),
    "dynamic": lost(
        "the blocks that it makes are not known here",
        "write them out there, or convert the state file",
    ),
}
"""The meta-arguments of every resource."""

_ID = harmless("it is Terraform's own name for the object")
_REST = harmless("it is how Confluent's REST API is reached; kgitops speaks Kafka's protocol")
_CLUSTER = setting("the clusters that the object is for", {"id": setting("spec.clusters")})

_ACL = {
    "resource_name": declared(),
    "resource_type": declared(),
}

RESOURCES: dict[str, Keys] = {
    "kafka_topic": {
        "name": declared(),
        "partitions": declared(),
        "replication_factor": declared(),
        "config": declared(),
        "managed_replication_factor": lost(
            "whether Terraform changes the number of replicas is not known here"
        ),
        "id": _ID,
    },
    "kafka_acl": {
        **_ACL,
        "resource_pattern_type_filter": declared(),
        "acl_principal": declared(),
        "acl_host": declared(),
        "acl_operation": declared(),
        "acl_permission_type": declared(),
        "id": _ID,
    },
    "kafka_quota": {
        "entity_name": declared(),
        "entity_type": declared(),
        "config": declared(),
        "id": _ID,
    },
    "kafka_user_scram_credential": {
        "username": declared(),
        "scram_mechanism": declared(),
        "scram_iterations": declared(),
        "password": declared(),
        "password_wo": declared(),
        "password_wo_version": declared(),
        "id": _ID,
    },
    "confluent_kafka_topic": {
        "topic_name": declared(),
        "partitions_count": declared(),
        "config": declared(),
        "kafka_cluster": _CLUSTER,
        "rest_endpoint": _REST,
        "credentials": _REST,
        "id": _ID,
    },
    "confluent_kafka_acl": {
        **_ACL,
        "pattern_type": declared(),
        "principal": declared(),
        "host": declared(),
        "operation": declared(),
        "permission": declared(),
        "kafka_cluster": _CLUSTER,
        "rest_endpoint": _REST,
        "credentials": _REST,
        "id": _ID,
    },
}
"""The arguments of the resources that kgitops declares, without ``META``."""

SECRETS = ("password", "password_wo")
"""Arguments whose values are looked at, and never copied."""

_AWS = lost(
    "kgitops takes the credentials of AWS from the environment",
    "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, where kgitops runs",
)

KAFKA: Keys = {
    "alias": setting("spec.clusters"),
    "for_each": setting("spec.clusters"),
    "bootstrap_servers": setting("spec.clusters.NAME.url"),
    "tls_enabled": setting("spec.clusters.NAME.configs"),
    "skip_tls_verify": setting("spec.clusters.NAME.configs"),
    "ca_cert": setting("spec.clusters.NAME.configs"),
    "ca_cert_file": setting("spec.clusters.NAME.configs"),
    "client_cert": setting("spec.clusters.NAME.configs"),
    "client_cert_file": setting("spec.clusters.NAME.configs"),
    "client_key": setting("spec.clusters.NAME.configs"),
    "client_key_file": setting("spec.clusters.NAME.configs"),
    "client_key_passphrase": setting("spec.clusters.NAME.configs"),
    "sasl_mechanism": setting("spec.clusters.NAME.configs"),
    "sasl_username": setting("spec.clusters.NAME.configs"),
    "sasl_password": setting("spec.clusters.NAME.configs"),
    "sasl_token_url": setting("spec.clusters.NAME.configs"),
    "sasl_oauth_scopes": setting("spec.clusters.NAME.configs"),
    "sasl_aws_region": setting("spec.clusters.NAME.configs"),
    "sasl_aws_profile": setting("spec.clusters.NAME.configs"),
    "sasl_aws_role_arn": setting("spec.clusters.NAME.configs"),
    "sasl_aws_external_id": lost("kgitops takes a role without an external id"),
    "sasl_aws_access_key": _AWS,
    "sasl_aws_secret_key": _AWS,
    "sasl_aws_token": _AWS,
    "sasl_aws_shared_config_files": lost(
        "kgitops finds the files of AWS by the environment", "set AWS_CONFIG_FILE there"
    ),
    "sasl_aws_container_authorization_token_file": lost(
        "kgitops finds the container's credentials by the environment",
        "set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE there",
    ),
    "sasl_aws_container_credentials_full_uri": lost(
        "kgitops finds the container's credentials by the environment",
        "set AWS_CONTAINER_CREDENTIALS_FULL_URI there",
    ),
    "sasl_aws_creds_debug": harmless("it makes the provider write a log"),
    "timeout": harmless("it is how long Terraform waits"),
    "kafka_version": harmless("kgitops asks the brokers for their versions"),
    "version": harmless("it chooses a release of the provider"),
}
"""The arguments of ``provider "kafka"``."""

_NO_BROKERS = lost(
    "it leads to Confluent's REST API, not to Kafka's brokers",
    "write the cluster's bootstrap server and its login into kgitops.yaml",
)
_OTHER_API = harmless("it is about another API of Confluent Cloud, which kgitops does not use")

CONFLUENT: Keys = {
    "alias": setting("spec.clusters"),
    "kafka_id": _NO_BROKERS,
    "kafka_rest_endpoint": _NO_BROKERS,
    "kafka_api_key": _NO_BROKERS,
    "kafka_api_secret": _NO_BROKERS,
    "oauth": _NO_BROKERS,
    "cloud_api_key": _OTHER_API,
    "cloud_api_secret": _OTHER_API,
    "catalog_rest_endpoint": _OTHER_API,
    "endpoint": _OTHER_API,
    "environment_id": _OTHER_API,
    "organization_id": _OTHER_API,
    "flink_*": _OTHER_API,
    "schema_registry_*": _OTHER_API,
    "tableflow_*": _OTHER_API,
    "max_retries": harmless("it is how often Terraform tries again"),
    "user_agent_suffix": harmless("it is how Terraform calls itself"),
    "version": harmless("it chooses a release of the provider"),
}
"""The arguments of ``provider "confluent"``."""

STATE: Keys = {
    "version": declared(),
    "resources": declared(
        {
            "mode": declared(),
            "type": declared(),
            "name": declared(),
            "module": declared(),
            "provider": setting("the clusters that the object is for"),
            "each": harmless("an instance has its key"),
            "instances": declared(
                {
                    "attributes": declared(),
                    "index_key": declared(),
                    "status": declared(),
                    "deposed": declared(),
                    "schema_version": _TERRAFORMS_OWN,
                    "attributes_flat": lost(
                        "attributes in this form are not read",
                        "let Terraform write the state file again",
                    ),
                    "sensitive_attributes": _TERRAFORMS_OWN,
                    "identity*": _TERRAFORMS_OWN,
                    "private": _TERRAFORMS_OWN,
                    "dependencies": _TERRAFORMS_OWN,
                    "create_before_destroy": _TERRAFORMS_OWN,
                }
            ),
        }
    ),
    "terraform_version": _TERRAFORMS_OWN,
    "serial": _TERRAFORMS_OWN,
    "lineage": _TERRAFORMS_OWN,
    "outputs": harmless("it shows values, and changes nothing"),
    "check_results": harmless("they are results of checks, which are reported where they stand"),
}
"""A state file of version 4."""

TABLES: dict[str, Keys] = {
    "block": BLOCKS,
    "module": MODULE,
    "lifecycle": LIFECYCLE,
    "removed": REMOVED,
    "state": STATE,
    "provider kafka": KAFKA,
    "provider confluent": CONFLUENT,
    **{kind: {**META, **keys} for kind, keys in RESOURCES.items()},
}
"""All tables by the names of what has these keys."""


def resource_keys(kind: str) -> Keys:
    """The table of a resource, with the meta-arguments."""
    return TABLES[kind]


def find_argument(kind: str, name: str) -> Key | None:
    """The entry of a resource's own argument; None if it has none of that name."""
    return RESOURCES[kind].get(name)
