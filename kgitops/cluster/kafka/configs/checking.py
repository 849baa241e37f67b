"""Checks of a cluster's configs: each name and value, and what they say together."""

import logging
import re
from collections.abc import Mapping

from kgitops.cluster.kafka.configs.config_names import (
    ADDED,
    ADVICE,
    OWN,
    PASSED_ON,
    UNDERSTOOD,
    UNSUPPORTED,
)
from kgitops.model.errors import UsageError
from kgitops.model.wording import nearest

_CHOICES = {
    "security.protocol": ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    "sasl.mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"),
    "sasl.oauthbearer.method": ("oidc", "default"),
    "ssl.keystore.type": ("PKCS12", "JKS"),
    "enable.ssl.certificate.verification": ("true", "false"),
    "ssl.endpoint.identification.algorithm": ("https", "none"),
    "broker.address.family": ("any", "v4", "v6"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
}
_LONGEST_MS = 300_000
_OAUTH = "sasl.oauthbearer."
_OIDC = tuple(
    f"{_OAUTH}{name}" for name in ("method", "client.id", "client.secret", "token.endpoint.url")
)
_PROVIDER = f"{_OAUTH}token.provider"
_LOGINS: Mapping[str, tuple[frozenset[str], str]] = {
    "AWS_MSK_IAM": (
        frozenset({"sasl.mechanism", f"{_OAUTH}config"}),
        "sasl.mechanism=AWS_MSK_IAM takes the credentials of AWS; leave it out",
    ),
    _PROVIDER: (
        frozenset({"sasl.mechanism", f"{_OAUTH}method", f"{_OAUTH}config", _PROVIDER}),
        f"{_PROVIDER} brings the token; leave one of them out",
    ),
}
"""Of ways to log in, the names that they use, and what is wrong with any other."""
NO_KERBEROS = (
    "confluent-kafka's librdkafka is built without Kerberos; give kgitops a user with "
    "SCRAM-SHA-512, OAUTHBEARER or a client certificate"
)


def check_name(name: str) -> None:
    """Check that both clients follow a config.

    Raises:
        UsageError: one of them does not, or the name is not known.
    """
    if name in UNDERSTOOD or name in ADDED or name in PASSED_ON:
        return
    if name.startswith("sasl.kerberos."):
        raise UsageError(f"the config {name} is not supported; {NO_KERBEROS}")
    if name in ADVICE:
        raise UsageError(f"the config {name} is not supported; {ADVICE[name]}")
    if name in OWN:
        raise UsageError(f"the config {name} is chosen by kgitops itself; leave it out")
    if name in UNSUPPORTED:
        raise UsageError(f"the config {name} is not supported by kgitops; leave it out")
    near = nearest(name, sorted(UNDERSTOOD | ADDED | PASSED_ON))
    advice = f"did you mean {near}?" if near else "configs have librdkafka's names"
    raise UsageError(f"the config {name} is not known; {advice}")


def checked_value(name: str, text: str) -> str:
    """The value of a config as the clients expect it.

    Raises:
        UsageError: it is none of the config's values.
    """
    if name == "sasl.mechanism" and text.casefold() == "gssapi":
        raise UsageError(f"sasl.mechanism=GSSAPI is not supported; {NO_KERBEROS}")
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
    if (name in UNDERSTOOD or name in ADDED) and not text:
        raise UsageError(f"{name} is empty; give it a value or leave it out")
    return text


def check_together(configs: Mapping[str, str]) -> None:
    """Check what the configs say together.

    Raises:
        UsageError: they contradict each other, or one is missing.
    """
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
    if lacking := [name for name in _needs(mechanism, configs) if name not in configs]:
        raise UsageError(f"sasl.mechanism={mechanism} needs {' and '.join(lacking)}")
    if mechanism == "AWS_MSK_IAM" and protocol != "sasl_ssl":
        raise UsageError("sasl.mechanism=AWS_MSK_IAM needs security.protocol=sasl_ssl; set that")
    _check_idle(mechanism, configs)


def _check_idle(mechanism: str, configs: Mapping[str, str]) -> None:
    """Check that each config of a login is used by this one."""
    way = _PROVIDER if mechanism == "OAUTHBEARER" and _PROVIDER in configs else mechanism
    if way not in _LOGINS:
        for name in (_PROVIDER, f"{_OAUTH}config"):
            if name in configs:
                raise UsageError(f"{name} is set, but {_needed_for(name)}")
        return
    used, problem = _LOGINS[way]
    for name in sorted(configs):
        if name.startswith("sasl.") and name not in used:
            raise UsageError(f"{name} is set, but {problem}")
    if configs.get(f"{_OAUTH}method") == "oidc":
        raise UsageError(f"{_OAUTH}method=oidc is set, but {problem}")


def _needs(mechanism: str, configs: Mapping[str, str]) -> tuple[str, ...]:
    if mechanism == "AWS_MSK_IAM":
        return ()
    if mechanism != "OAUTHBEARER":
        return "sasl.username", "sasl.password"
    if _PROVIDER in configs or configs.get(f"{_OAUTH}method") == "default":
        return (_PROVIDER,)
    return _OIDC


def _needed_for(name: str) -> str:
    if name == _PROVIDER:
        return "only sasl.mechanism=OAUTHBEARER takes tokens; leave it out"
    return f"only sasl.mechanism=AWS_MSK_IAM and {_PROVIDER} use it; leave it out"


def check_passed_on(configs: Mapping[str, str]) -> None:
    """Let librdkafka check the configs that only it uses.

    Raises:
        UsageError: it refuses one.
    """
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
