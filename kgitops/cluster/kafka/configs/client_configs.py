"""Cluster configs under librdkafka's names, checked and translated for both clients."""

import difflib
import logging
import re
import socket
import ssl
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from kgitops.cluster.kafka.configs.config_names import (
    ADVICE,
    OWN,
    PASSED_ON,
    UNDERSTOOD,
    UNSUPPORTED,
)
from kgitops.cluster.kafka.configs.oauth import OidcTokens
from kgitops.cluster.kafka.configs.tls import https_context, tls_context
from kgitops.model.errors import UsageError

_SECRETS = (
    "sasl.password",
    "sasl.oauthbearer.client.secret",
    "ssl.key.password",
    "ssl.key.pem",
)
_ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
_CHOICES = {
    "security.protocol": ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    "sasl.mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
    "sasl.oauthbearer.method": ("oidc",),
    "enable.ssl.certificate.verification": ("true", "false"),
    "ssl.endpoint.identification.algorithm": ("https", "none"),
    "broker.address.family": ("any", "v4", "v6"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
}
_FILES = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "https.ca.location")
_FAMILIES = {"any": socket.AF_UNSPEC, "v4": socket.AF_INET, "v6": socket.AF_INET6}
_LONGEST_MS = 300_000


class WireOptions(TypedDict, total=False):
    """Options of the wire; those that begin with ``sasl_`` have kafka-python's names."""

    security_protocol: str
    client_id: str
    tls: ssl.SSLContext
    sasl_mechanism: str
    sasl_plain_username: str
    sasl_plain_password: str
    sasl_oauth_token_provider: OidcTokens
    family: int
    canonical_names: bool
    connect_ms: int
    timeout_ms: int
    has_certificate: bool


def normalize_configs(configs: Mapping[str, str], base: Path | None = None) -> dict[str, str]:
    """Resolve aliases and paths (relative to ``base``) and check the configs.

    Raises:
        UsageError: a config is unknown, not supported, or contradicts another.
    """
    normalized: dict[str, str] = {}
    for written, text in configs.items():
        name = _ALIASES.get(written, written)
        _check_name(written)
        value = _checked(name, text)
        if normalized.get(name, value) != value:
            raise UsageError(f"{written} and {name} say different things; leave one of them out")
        normalized[name] = value
    for name in _FILES:
        if name in normalized and normalized[name] != "probe":
            path = Path(normalized[name]).expanduser()
            normalized[name] = str((base or Path()).absolute() / path)
    _check_together(normalized)
    _check_passed_on({name: value for name, value in normalized.items() if name in PASSED_ON})
    return normalized


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
    if protocol.startswith("SASL"):
        options["sasl_mechanism"] = mechanism = configs["sasl.mechanism"]
        if mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _tokens(configs)
        else:
            options["sasl_plain_username"] = _user(configs["sasl.username"], mechanism)
            options["sasl_plain_password"] = configs["sasl.password"]
    return options


def librdkafka_configs(servers: str, configs: Mapping[str, str]) -> Mapping[str, str]:
    """The configs of a librdkafka client that reaches the same cluster."""
    return {"bootstrap.servers": servers, "client.id": "kgitops", **normalize_configs(configs)}


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


def _check_name(name: str) -> None:
    if name in UNDERSTOOD or name in PASSED_ON:
        return
    if name in ADVICE:
        raise UsageError(f"the config {name} is not supported; {ADVICE[name]}")
    if name in OWN:
        raise UsageError(f"the config {name} is chosen by kgitops itself; leave it out")
    if name in UNSUPPORTED:
        raise UsageError(f"the config {name} is not supported by kgitops; leave it out")
    near = difflib.get_close_matches(name, sorted(UNDERSTOOD | PASSED_ON), n=1, cutoff=0.6)
    advice = f"did you mean {near[0]}?" if near else "configs have librdkafka's names"
    raise UsageError(f"the config {name} is not known; {advice}")


def _checked(name: str, text: str) -> str:
    if name in _CHOICES:
        for choice in _CHOICES[name]:
            if text.casefold() == choice.casefold():
                return choice
        raise UsageError(f"{name} must be {' or '.join(_CHOICES[name])}, not {text!r}")
    if name in ("socket.timeout.ms", "socket.connection.setup.timeout.ms"):
        if not re.fullmatch("[0-9]{1,9}", text) or not 1000 <= int(text) <= _LONGEST_MS:
            raise UsageError(
                f"{name} must be a whole number from 1000 to {_LONGEST_MS}, not {text!r}"
            )
        return str(int(text))
    if name in UNDERSTOOD and not text:
        raise UsageError(f"{name} is empty; give it a value or leave it out")
    return text


def _check_together(configs: Mapping[str, str]) -> None:
    protocol = configs.get("security.protocol", "plaintext")
    for prefix, needed, without in (
        ("ssl.", "ssl", "uses no TLS; set it to ssl or sasl_ssl"),
        ("sasl.", "sasl", "sends no credentials; set it to sasl_ssl or sasl_plaintext"),
    ):
        idle = next((name for name in configs if name.startswith(prefix)), None)
        if idle and needed not in protocol:
            raise UsageError(f"{idle} is set, but security.protocol={protocol} {without}")
    if "sasl" not in protocol:
        return
    mechanism = configs.get("sasl.mechanism")
    if mechanism is None:
        known = ", ".join(_CHOICES["sasl.mechanism"])
        raise UsageError(f"security.protocol={protocol} needs sasl.mechanism, one of {known}")
    needs: tuple[str, ...] = ("sasl.username", "sasl.password")
    if mechanism == "OAUTHBEARER":
        oidc = ("method", "client.id", "client.secret", "token.endpoint.url")
        needs = tuple(f"sasl.oauthbearer.{name}" for name in oidc)
    if lacking := [name for name in needs if name not in configs]:
        raise UsageError(f"sasl.mechanism={mechanism} needs {' and '.join(lacking)}")


def _check_passed_on(configs: Mapping[str, str]) -> None:
    """Let librdkafka check the configs that only it uses."""
    if not configs:
        return
    from confluent_kafka import KafkaException, Producer

    silent = logging.getLogger(f"{__name__}.check")
    silent.disabled = True
    for name, value in configs.items():
        try:
            Producer({name: value}, logger=silent)
        except KafkaException as error:
            raise UsageError(f"{name}: librdkafka does not take {value!r}; correct it") from error


def _user(name: str, mechanism: str) -> str:
    """Escape the characters that SCRAM reserves (RFC 5802 §5.1); kafka-python does not."""
    return name.replace("=", "=3D").replace(",", "=2C") if mechanism != "PLAIN" else name


def _tokens(configs: Mapping[str, str]) -> OidcTokens:
    def oauth_config(name: str) -> str | None:
        return configs.get(f"sasl.oauthbearer.{name}")

    endpoint = configs["sasl.oauthbearer.token.endpoint.url"]
    scheme = urllib.parse.urlsplit(endpoint).scheme
    if scheme not in ("http", "https"):
        raise UsageError("sasl.oauthbearer.token.endpoint.url must begin with https://")
    return OidcTokens(
        endpoint=endpoint,
        client_id=configs["sasl.oauthbearer.client.id"],
        client_secret=configs["sasl.oauthbearer.client.secret"],
        scope=oauth_config("scope"),
        extensions=_extensions(oauth_config("extensions") or ""),
        tls=https_context(configs) if scheme == "https" else None,
    )


def _extensions(text: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in text.split(",") if item.strip()]
    if any(not (name.strip() and equals) for name, equals, _ in pairs):
        raise UsageError("sasl.oauthbearer.extensions must be NAME=VALUE,NAME=VALUE")
    return {name.strip(): value for name, _, value in pairs}
