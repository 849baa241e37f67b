"""The cluster that Terraform's provider for Kafka reaches, as a cluster of the project."""

from collections.abc import Iterator

from kgitops.conversion.objects import ConvertedCluster
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.keys import KeyedFields
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.terraform.keys import CONFLUENT, KAFKA

_MECHANISMS = {
    "plain": "PLAIN",
    "scram-sha256": "SCRAM-SHA-256",
    "scram-sha512": "SCRAM-SHA-512",
    "oauthbearer": "OAUTHBEARER",
    "aws-iam": "AWS_MSK_IAM",
}
_IAM_OPTIONS = {
    "sasl_aws_region": ("region", "AWS_REGION"),
    "sasl_aws_profile": ("awsProfileName", "AWS_PROFILE"),
    "sasl_aws_role_arn": ("awsRoleArn", "KAFKA_ROLE_ARN"),
}
"""Its arguments by their names in ``sasl.oauthbearer.config``, with variables for templates."""
_FILES = {
    ("ca_cert", "ca_cert_file"): ("ssl.ca.location", "KAFKA_CA_FILE"),
    ("client_cert", "client_cert_file"): ("ssl.certificate.location", "KAFKA_CERTIFICATE_FILE"),
    ("client_key", "client_key_file"): ("ssl.key.location", "KAFKA_KEY_FILE"),
}


def provider_cluster(builder: ObjectBuilder) -> ConvertedCluster | None:
    """The cluster; what is secret, or a file, is a placeholder for a variable of the environment.

    None, and a loss, if its address is not known.
    """
    fields = builder.read(KAFKA)
    name = fields.text("alias") or "main"
    fields.take("for_each")  # each of whose instances is a provider of its own
    servers = _servers(builder, fields)
    encryption = _encryption(builder, fields)
    login = _login(builder, fields)
    uses_tls = encryption.pop("security.protocol") == "SSL"
    protocol = ("SASL_" if login else "") + ("SSL" if uses_tls else "PLAINTEXT")
    configs = {**encryption, **login}
    if protocol != "PLAINTEXT":
        configs = {"security.protocol": protocol, **configs}
    builder.becomes_settings(f"spec.clusters.{name}")
    if servers is None:
        return None
    return ConvertedCluster(name=name, bootstrap_servers=",".join(servers), configs=configs)


def read_confluent(builder: ObjectBuilder) -> None:
    """Read the provider of Confluent Cloud, whose arguments lead to no broker."""
    builder.read(CONFLUENT).take("alias")
    builder.becomes_settings("the clusters of its resources")


def _servers(builder: ObjectBuilder, fields: KeyedFields) -> list[str] | None:
    value = fields.take("bootstrap_servers")
    items = [] if value is None else value.items() if value.is_list() else [value]
    servers = [item.text() or "" for item in items]
    if servers and all(servers) and not any(item.template() for item in items):
        return servers
    builder.lose(
        builder.value,
        f"{builder}: its bootstrap_servers are not known here",
        "write the cluster's address in kgitops.yaml",
    )
    return None


def _encryption(builder: ObjectBuilder, fields: KeyedFields) -> dict[str, str]:
    """The configs of TLS, with ``security.protocol`` as it is without a login."""
    uses_tls = _flag(builder, fields, "tls_enabled", default=True)
    unverified = _flag(builder, fields, "skip_tls_verify", default=False)
    files = {names: fields.take(*names) for names in _FILES}
    passphrase = fields.take("client_key_passphrase")
    configs = {"security.protocol": "SSL" if uses_tls else "PLAINTEXT"}
    for names, (config, variable) in _FILES.items():
        if files[names] is not None and uses_tls:
            configs[config] = f"${{env:{variable}}}"
    if passphrase is not None and uses_tls:
        configs["ssl.key.password"] = "${env:KAFKA_KEY_PASSWORD}"
    if unverified and uses_tls:
        configs["enable.ssl.certificate.verification"] = "false"
    key = builder.value.at("client_key")
    _report_secret(builder, "client_key", key)
    _report_secret(builder, "client_key_passphrase", passphrase)
    return configs


def _login(builder: ObjectBuilder, fields: KeyedFields) -> dict[str, str]:
    """The configs of SASL; none if the provider does not log in by it."""
    asked = fields.take("sasl_mechanism")
    user, password = fields.take("sasl_username"), fields.take("sasl_password")
    options = dict(_iam_options(fields))
    url, scopes = fields.take("sasl_token_url"), fields.items("sasl_oauth_scopes")
    _report_secret(builder, "sasl_password", password)
    mechanism = _MECHANISMS.get("plain" if asked is None else asked.text() or "")
    if mechanism is None:
        assert asked is not None  # noqa: S101 (its default is known)
        known = ", ".join(_MECHANISMS)
        shown = "is not known here" if asked.template() else f"is {asked.shown}, none of {known}"
        problem = f"{builder}: sasl_mechanism {shown}"
        builder.lose(asked, problem, "write the login into kgitops.yaml")
        return {}
    if mechanism == "AWS_MSK_IAM":
        text = ",".join(f"{option}={value}" for option, value in options.items())
        return {"sasl.mechanism": mechanism, **({"sasl.oauthbearer.config": text} if text else {})}
    if asked is None and user is None and password is None:
        return {}
    # The provider takes what is not written from these two.
    names = ("KAFKA_USER", "KAFKA_PASSWORD")
    if user is None and password is None:
        names = ("KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD")
    login = (_text(user, names[0]), f"${{env:{names[1]}}}")
    if mechanism != "OAUTHBEARER":
        return {
            "sasl.mechanism": mechanism,
            "sasl.username": login[0],
            "sasl.password": login[1],
        }
    scope = " ".join(_text(item, "KAFKA_SASL_OAUTH_SCOPES") for item in scopes)
    return {
        "sasl.mechanism": mechanism,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": _text(url, "KAFKA_SASL_TOKEN_URL"),
        "sasl.oauthbearer.client.id": login[0],
        "sasl.oauthbearer.client.secret": login[1],
        **({"sasl.oauthbearer.scope": scope} if scope else {}),
    }


def _iam_options(fields: KeyedFields) -> Iterator[tuple[str, str]]:
    for key, (option, variable) in _IAM_OPTIONS.items():
        if (value := fields.take(key)) is not None:
            yield option, _text(value, variable)


def _text(value: Value | None, variable: str) -> str:
    """The text, or a placeholder where it is not known here."""
    if value is None or value.template() is not None:
        return f"${{env:{variable}}}"
    return value.text() or ""


def _flag(builder: ObjectBuilder, fields: KeyedFields, name: str, *, default: bool) -> bool:
    value = fields.take(name)
    flag = default if value is None else value.flag()
    if value is not None and flag is None:
        problem = f"{builder}: {name} is not known here"
        builder.lose(value, problem, f"kgitops.yaml has {str(default).lower()}; correct it there")
    return default if flag is None else flag


def _report_secret(builder: ObjectBuilder, name: str, value: Value | None) -> None:
    if value is not None and value.text() and value.template() is None:
        builder.lose(
            value,
            f"{name} stands in the file, which is a secret and is not copied",
            f"put it in the environment as the project asks, and out of {builder}",
        )
