"""The cluster that Terraform's provider for Kafka reaches, as a cluster of the project."""

from collections.abc import Iterator

from kgitops.conversion.objects import ConvertedCluster
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Fields, Value

_MECHANISMS = {
    "plain": "PLAIN",
    "scram-sha256": "SCRAM-SHA-256",
    "scram-sha512": "SCRAM-SHA-512",
}
_IAM = "aws-iam"
_IAM_OPTIONS = {
    "sasl_aws_region": ("region", "AWS_REGION"),
    "sasl_aws_profile": ("awsProfileName", "AWS_PROFILE"),
    "sasl_aws_role_arn": ("awsRoleArn", "KAFKA_ROLE_ARN"),
}
"""Its arguments by their names in ``sasl.oauthbearer.config``, with variables for templates."""
_SECRETS = ("sasl_password", "client_key", "client_key_passphrase", "sasl_aws_secret_key")
_FILES = {
    "ca_cert": ("ssl.ca.location", "KAFKA_CA_FILE"),
    "client_cert": ("ssl.certificate.location", "KAFKA_CERTIFICATE_FILE"),
    "client_key": ("ssl.key.location", "KAFKA_KEY_FILE"),
}


def provider_cluster(builder: ObjectBuilder, fields: Fields) -> ConvertedCluster | None:
    """The cluster; what is secret, or a file, is a placeholder for a variable of the environment.

    None, and a loss, if its address is not known.
    """
    name = fields.text("alias") or "main"
    servers = [item.text() or "" for item in fields.items("bootstrap_servers")]
    tls = _is_true(fields.take("tls_enabled"), default=True)
    configs: dict[str, str] = {}
    files = {key: fields.take(key) for key in _FILES}
    if tls:
        for key, (config, variable) in _FILES.items():
            if files[key] is not None:
                configs[config] = f"${{env:{variable}}}"
    mechanism = fields.text("sasl_mechanism") or "plain"
    user, password = fields.take("sasl_username"), fields.take("sasl_password")
    if mechanism == _IAM:
        configs["sasl.mechanism"] = "AWS_MSK_IAM"
        if options := list(_iam_options(fields)):
            configs["sasl.oauthbearer.config"] = ",".join(options)
    elif user is not None:
        configs["sasl.mechanism"] = _MECHANISMS.get(mechanism, mechanism)
        text = user.text() or ""
        configs["sasl.username"] = "${env:KAFKA_USER}" if user.template() else text
        configs["sasl.password"] = "${env:KAFKA_PASSWORD}"
    protocol = ("SASL_" if "sasl.mechanism" in configs else "") + ("SSL" if tls else "PLAINTEXT")
    if protocol != "PLAINTEXT":
        configs = {"security.protocol": protocol, **configs}
    for key, value in (("client_key", files["client_key"]), ("sasl_password", password)):
        if value is not None and value.template() is None:
            builder.lose(
                value,
                f"{key} stands in the file, which is a secret and is not copied",
                f"put it in the environment as the project asks, and out of {builder}",
            )
    fields.skip("skip_tls_verify", "timeout", "kafka_version", "enable_cache", *_SECRETS)
    fields.lose_rest(str(builder))
    if not servers or builder.value.template() in servers:
        builder.lose(
            builder.value,
            f"{builder}: its bootstrap_servers are not known here",
            "write the cluster's address in kgitops.yaml",
        )
        return None
    builder.becomes_settings(f"spec.clusters.{name}")
    return ConvertedCluster(name=name, bootstrap_servers=",".join(servers), configs=configs)


def _iam_options(fields: Fields) -> Iterator[str]:
    for key, (option, variable) in _IAM_OPTIONS.items():
        if (value := fields.take(key)) is not None:
            yield f"{option}={f'${{env:{variable}}}' if value.template() else value.text()}"


def _is_true(value: Value | None, *, default: bool) -> bool:
    return default if value is None else value.text() == "true"
