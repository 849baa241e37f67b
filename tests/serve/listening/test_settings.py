"""Settings of a listener, by Kafka's keys: what they mean, and a sentence for each problem."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.sandbox.certificates import Certificates, issue_certificates
from kgitops.serve.listening.reading_logins import parse_jaas
from kgitops.serve.listening.reading_settings import listener_settings
from kgitops.serve.listening.settings import (
    ClientAuth,
    ListenerSettings,
    PrincipalRule,
    SaslSettings,
    SecurityProtocol,
    check_exposure,
)
from kgitops.serve.listening.tls import tls_context
from kgitops.serve.login.listeners import with_rights

JAAS = 'org.example.PlainLoginModule required user_alice="a" user_bob="b=;\\"";'
SASL = {
    "listeners": "CONTROLLER://:9093,APP://127.0.0.1:19092",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,APP:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-512",
    "listener.name.app.plain.sasl.jaas.config": JAAS,
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"), ["alice"])


def test_nothing_is_a_plain_listener_on_loopback() -> None:
    settings = listener_settings({})
    assert settings == ListenerSettings()
    assert (settings.host, settings.port) == ("127.0.0.1", 9092)
    assert not settings.asks_for_login


def test_sasl() -> None:
    settings = listener_settings(
        {
            **SASL,
            "super.users": "User:alice;User:CN=a,O=b",
            "connections.max.reauth.ms": "60000",
            "listener.name.app.scram-sha-512.connections.max.reauth.ms": "5",
            "max.connections": "7",
            "max.connections.per.ip": "6",
            "connections.max.idle.ms": "1500",
            "socket.request.max.bytes": "1000",
        }
    )
    assert (settings.name, settings.host, settings.port) == ("APP", "127.0.0.1", 19092)
    assert settings.protocol is SecurityProtocol.SASL_PLAINTEXT
    assert settings.asks_for_login
    assert settings.super_users == {"User:alice", "User:CN=a,O=b"}
    limits = settings.limits
    assert (limits.connections, limits.connections_per_host) == (7, 6)
    assert (limits.idle, limits.frame) == (1.5, 1000)
    assert settings.sasl is not None
    assert settings.sasl.mechanisms == ("PLAIN", "SCRAM-SHA-512")
    assert settings.sasl.passwords == {"alice": "a", "bob": 'b=;"'}
    assert settings.sasl.max_reauth_ms == {"PLAIN": 60000, "SCRAM-SHA-512": 5}
    assert "b=" not in repr(settings)


def test_a_listeners_own_key_stands_above_the_general_one(certificates: Certificates) -> None:
    configs = _tls(certificates) | {"ssl.client.auth": "none"}
    settings = listener_settings(configs | {"listener.name.ssl.ssl.client.auth": "required"})
    assert settings.tls is not None
    assert settings.tls.client_auth is ClientAuth.REQUIRED
    assert settings.asks_for_login
    assert not listener_settings(configs).asks_for_login


def test_certificates_from_files(certificates: Certificates) -> None:
    """Relative to the folder that is given."""
    configs = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.broker.name,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.authority.name,
        "ssl.client.auth": "requested",
    }
    settings = listener_settings(configs, certificates.broker.parent)
    assert settings.tls is not None
    assert tls_context(settings.tls).verify_mode.name == "CERT_OPTIONAL"
    assert "PRIVATE KEY" not in repr(settings)


def test_rules_of_principals(certificates: Certificates) -> None:
    rules = r"RULE:^CN=(.*?),OU=a\/b.*$/$1@x/L, RULE:x/y/ ,DEFAULT"
    configs = _tls(certificates) | {"ssl.principal.mapping.rules": rules}
    settings = listener_settings(configs)
    assert settings.tls is not None
    assert settings.tls.rules == (
        PrincipalRule(r"^CN=(.*?),OU=a\/b.*$", "$1@x", "L"),
        PrincipalRule("x", "y", ""),
        PrincipalRule(),
    )


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"listeners": "nonsense"}, "listeners has 'nonsense', which is not NAME://HOST:PORT"),
        ({"listeners": "A://h:70000"}, "listeners has 'A://h:70000'"),
        (
            {"listeners": "PLAINTEXT://:1,SSL://:2"},
            "listeners names PLAINTEXT and SSL, but each broker has one listener",
        ),
        ({"listeners": "APP://:1"}, "listener.security.protocol.map does not say the protocol"),
        ({"listener.security.protocol.map": "APP:TLS"}, "map has 'APP:TLS', which is not"),
        ({"listeners": "SSL://:1"}, "ssl.keystore.certificate.chain is missing"),
        (
            {"listeners": "SSL://:1", "ssl.keystore.location": "a.jks"},
            "ssl.keystore.type must be PEM, not JKS; convert the file to PEM",
        ),
        (
            {
                "listeners": "SSL://:1",
                "ssl.keystore.location": "absent.pem",
                "ssl.keystore.type": "PEM",
            },
            "ssl.keystore.location names the file absent.pem, which can't be read",
        ),
        ({"listeners": "SASL_SSL://:1"}, "sasl.enabled.mechanisms is missing"),
        ({**SASL, "sasl.enabled.mechanisms": "GSSAPI"}, "has 'GSSAPI'; known are PLAIN"),
        (
            {**SASL, "listener.name.app.plain.sasl.jaas.config": ""},
            "listener.name.app.plain.sasl.jaas.config is missing; PLAIN needs its users there",
        ),
        (
            {**SASL, "listener.name.app.plain.sasl.jaas.config": 'x required user_a="secret"'},
            "listener.name.app.plain.sasl.jaas.config can't be read: it does not end with",
        ),
        (
            {**SASL, "sasl.enabled.mechanisms": "OAUTHBEARER"},
            "sasl.oauthbearer.jwks.endpoint.url is missing",
        ),
        ({"max.connections": "0"}, "max.connections must be a whole number from 1"),
        ({"super.users": "alice"}, "super.users has 'alice', which is no principal"),
        ({"authorizer.class.name": "mine.Own"}, "authorizer.class.name must be org.apache.kafka"),
    ],
)
def test_problems(configs: Mapping[str, str], problem: str) -> None:
    with pytest.raises(KgitopsError) as error:
        listener_settings(configs)
    assert problem in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "rules", ["RULE:a", "RULE:(/x/", "RULE:a/$1/", "DEFAULT DEFAULT", "RULE:a/b/X"]
)
def test_problems_of_rules(certificates: Certificates, rules: str) -> None:
    with pytest.raises(KgitopsError, match=r"^ssl\.principal\.mapping\.rules "):
        listener_settings(_tls(certificates) | {"ssl.principal.mapping.rules": rules})


def test_all_problems_are_told_at_once() -> None:
    configs = {**SASL, "max.connections": "x", "sasl.enabled.mechanisms": "A,B"}
    with pytest.raises(KgitopsError) as error:
        listener_settings(configs)
    assert len(error.value.reasons) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x required",
        'x required a="b"',
        "x required a=b c;",
        "x maybe;",
        "x required a='b;",
    ],
)
def test_jaas_that_can_not_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(it|a quote|its) "):
        parse_jaas(text)


def test_a_key_of_another_certificate(certificates: Certificates, tmp_path: Path) -> None:
    other = issue_certificates(tmp_path, []).broker.read_text()
    configs = _tls(certificates) | {"ssl.keystore.key": other[: other.index("-----BEGIN CERT")]}
    settings = listener_settings(configs)
    assert settings.tls is not None
    with pytest.raises(KgitopsError, match=r"key can't be used \(key values mismatch\)"):
        tls_context(settings.tls)
    with pytest.raises(KgitopsError, match="the listener's truststore can't be used"):
        tls_context(replace(listener_settings(_tls(certificates)).tls, trusted="no PEM"))


EVERYWHERE = "0.0.0.0"  # noqa: S104
OPEN = ListenerSettings(host=EVERYWHERE)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_login(host: str) -> None:
    check_exposure(replace(OPEN, host=host))


@pytest.mark.parametrize("host", [EVERYWHERE, "192.0.2.7", "::", "kafka.example.com"])
def test_beyond_loopback_a_login_is_needed(host: str, certificates: Certificates) -> None:
    with pytest.raises(UsageError, match="would be open to everybody; set sasl"):
        check_exposure(replace(OPEN, host=host))
    named = {"advertised_host": "kafka.example.com", "host": host}
    check_exposure(replace(OPEN, **named), allow_anonymous=True)
    scram = listener_settings({**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-256"})
    check_exposure(replace(scram, **named))
    mutual = listener_settings(_tls(certificates) | {"ssl.client.auth": "required"})
    check_exposure(replace(mutual, **named))
    with pytest.raises(UsageError, match="would be open to everybody"):
        check_exposure(replace(listener_settings(_tls(certificates)), **named))
    with pytest.raises(UsageError, match="would take PLAIN passwords without TLS"):
        check_exposure(replace(listener_settings(SASL), **named))
    tokens = replace(scram, sasl=SaslSettings(mechanisms=("SCRAM-SHA-256", "OAUTHBEARER")))
    with pytest.raises(UsageError, match="would take OAUTHBEARER tokens without TLS"):
        check_exposure(replace(tokens, **named))


def test_clients_need_an_address_to_connect_to() -> None:
    with pytest.raises(UsageError, match=r"give it in advertised\.listeners"):
        check_exposure(OPEN, allow_anonymous=True)
    configs = {
        "listeners": "PLAINTEXT://:9092",
        "advertised.listeners": "PLAINTEXT://kafka.example.com:9092",
    }
    check_exposure(listener_settings(configs), allow_anonymous=True)


@pytest.mark.parametrize(
    ("configs", "authorizer"),
    [
        ({}, AuthorizerKind.NONE),
        (SASL, AuthorizerKind.ACLS),
        ({**SASL, "authorizer.class.name": ""}, AuthorizerKind.NONE),
        (
            {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
            AuthorizerKind.ACLS,
        ),
    ],
)
def test_acls_count_by_default_where_clients_log_in(
    configs: dict[str, str], authorizer: AuthorizerKind
) -> None:
    """And passwords are not among the configs that are left."""
    options = with_rights(Options(static_configs=configs), listener_settings(configs))
    assert options.authorizer is authorizer
    assert not any("jaas" in key for key in options.static_configs)
    disabled = Options(authorizer=AuthorizerKind.DISABLED)
    assert with_rights(disabled, listener_settings(SASL)).authorizer is AuthorizerKind.DISABLED


def _tls(certificates: Certificates) -> dict[str, str]:
    pem = certificates.broker.read_text()
    return {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": pem[: pem.index("-----BEGIN CERT")],
        "ssl.keystore.certificate.chain": pem[pem.index("-----BEGIN CERT") :],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": certificates.authority.read_text(),
    }
