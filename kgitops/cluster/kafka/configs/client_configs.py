"""Cluster configs under librdkafka's names, checked and translated for both clients."""

import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

from kgitops.cluster.kafka.configs.checking import (
    check_name,
    check_passed_on,
    check_together,
    checked_value,
)
from kgitops.cluster.kafka.configs.config_names import PASSED_ON
from kgitops.cluster.kafka.configs.keystore import with_pem_keys
from kgitops.cluster.kafka.configs.tls import certificate_subject, tls_context
from kgitops.cluster.kafka.configs.tokens.cache import CachedTokens
from kgitops.cluster.kafka.configs.tokens.choosing import OAUTHBEARER, tokens_of, uses_callback
from kgitops.cluster.kafka.configs.tokens.msk import MECHANISM as AWS_MSK_IAM
from kgitops.model.errors import UsageError

LibrdkafkaConfigs = Mapping[str, str | Callable[[str], object]]
"""All are texts but for ``oauth_cb``."""

_SECRETS = (
    "sasl.password",
    "sasl.oauthbearer.client.secret",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
    "sasl.oauthbearer.config",
)
_ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
_FILES = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "https.ca.location",
)
_CERTIFICATE = "kgitops (logged in with its TLS certificate)"
_FAMILIES = {"any": socket.AF_UNSPEC, "v4": socket.AF_INET, "v6": socket.AF_INET6}


class WireOptions(TypedDict, total=False):
    """Options of the wire; those that begin with ``sasl_`` have kafka-python's names."""

    security_protocol: str
    client_id: str
    tls: ssl.SSLContext
    sasl_mechanism: str
    sasl_plain_username: str
    sasl_plain_password: str
    sasl_oauth_token_provider: CachedTokens
    family: int
    canonical_names: bool
    connect_ms: int
    timeout_ms: int
    has_certificate: bool
    principal: str
    """As brokers name it by default; how kgitops logs in where only they know its name."""


def normalize_configs(configs: Mapping[str, str], base: Path | None = None) -> dict[str, str]:
    """Resolve aliases and paths (relative to ``base``), open key stores, and check the configs.

    Raises:
        UsageError: a config is unknown, not supported, or contradicts another.
    """
    normalized: dict[str, str] = {}
    for written, text in configs.items():
        name = _ALIASES.get(written, written)
        check_name(written)
        value = checked_value(name, text)
        if normalized.get(name, value) != value:
            raise UsageError(f"{written} and {name} say different things; leave one of them out")
        normalized[name] = value
    for name in _FILES:
        if name in normalized and normalized[name] != "probe":
            path = Path(normalized[name]).expanduser()
            normalized[name] = str((base or Path()).absolute() / path)
    check_together(normalized)
    check_passed_on({name: value for name, value in normalized.items() if name in PASSED_ON})
    return with_pem_keys(normalized)


def wire_options(configs: Mapping[str, str]) -> WireOptions:
    """Translate the configs into options of the wire.

    Raises:
        UsageError: a config is unknown or not supported.
    """
    configs = normalize_configs(configs)
    protocol = configs.get("security.protocol", "plaintext").upper()
    options = WireOptions(
        security_protocol=protocol,
        client_id=configs.get("client.id", "kgitops"),
        family=_FAMILIES[configs.get("broker.address.family", "any")],
        canonical_names=configs.get("client.dns.lookup", "").startswith("resolve_canonical"),
    )
    if "socket.timeout.ms" in configs:
        options["timeout_ms"] = int(configs["socket.timeout.ms"])
    if "socket.connection.setup.timeout.ms" in configs:
        options["connect_ms"] = int(configs["socket.connection.setup.timeout.ms"])
    if protocol.endswith("SSL"):
        options["tls"] = tls_context(configs)
        options["has_certificate"] = any(name.startswith("ssl.certificate.") for name in configs)
        if options["has_certificate"]:
            subject = certificate_subject(configs)
            options["principal"] = f"User:{subject}" if subject else _CERTIFICATE
    if protocol.startswith("SASL"):
        options["sasl_mechanism"] = mechanism = configs["sasl.mechanism"]
        if mechanism in (OAUTHBEARER, AWS_MSK_IAM):
            options["sasl_mechanism"] = OAUTHBEARER
            options["sasl_oauth_token_provider"] = tokens = tokens_of(configs)
            options["principal"] = f"kgitops (logged in with {tokens.name})"
        else:
            options["principal"] = f"User:{configs['sasl.username']}"
            options["sasl_plain_username"] = _user(configs["sasl.username"], mechanism)
            options["sasl_plain_password"] = configs["sasl.password"]
    return options


def librdkafka_configs(
    servers: str, configs: Mapping[str, str], options: WireOptions | None = None
) -> LibrdkafkaConfigs:
    """The configs of a librdkafka client that reaches the same cluster, with the wire's tokens.

    Raises:
        UsageError: a config is unknown or not supported.
    """
    normalized = normalize_configs(configs)
    known = {"bootstrap.servers": servers, "client.id": "kgitops", **normalized}
    if not uses_callback(normalized):
        return known
    tokens = (options or wire_options(normalized))["sasl_oauth_token_provider"]
    texts = {name: known[name] for name in known if not name.startswith("sasl.")}
    return {**texts, "sasl.mechanism": OAUTHBEARER, "oauth_cb": tokens.for_librdkafka}


def user_of(configs: Mapping[str, str]) -> str | None:
    """The user name that brokers see; None where a certificate or a token identifies the user."""
    protocol = configs.get("security.protocol", "plaintext")
    if "sasl" in protocol:
        return configs.get("sasl.username")
    return "ANONYMOUS" if protocol == "plaintext" else None


def without_secrets(sentence: str, configs: Mapping[str, str]) -> str:
    """Replace the values of secret configs in the sentence with the configs' names."""
    for name in _SECRETS:
        value = configs.get(name)
        if value:
            sentence = sentence.replace(value, f"({name})")
    return sentence


def _user(name: str, mechanism: str) -> str:
    """Escape the characters that SCRAM reserves (RFC 5802 §5.1); kafka-python does not."""
    return name.replace("=", "=3D").replace(",", "=2C") if mechanism != "PLAIN" else name
