"""librdkafka's names: what they mean to both clients, and what can't be meant."""

import logging
import re
import socket
import ssl
from pathlib import Path

import pytest
from cluster.kafka.certificates import Authority

from kgitops.cluster.kafka.configs import config_names, tls
from kgitops.cluster.kafka.configs.client_configs import (
    librdkafka_configs,
    normalize_configs,
    wire_options,
    without_secrets,
)
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UsageError

SASL = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "secret",
}
OIDC = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": "secret",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token",
}
PROVIDER = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.provider": "vault",
}
MSK = {"security.protocol": "sasl_ssl", "sasl.mechanism": "AWS_MSK_IAM"}
KERBEROS = (
    "not supported; confluent-kafka's librdkafka is built without Kerberos; give kgitops a user "
    "with SCRAM-SHA-512, OAUTHBEARER or a client certificate"
)
SESAME = "sesame"
SETS = ("UNDERSTOOD", "PASSED_ON", "OWN", "UNSUPPORTED")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(tmp_path_factory.mktemp("tls"), "authority")
    authority.signs("client")
    authority.signs("other")
    authority.signs("locked", password=SESAME)
    return authority


def showing(authority: Authority, certificate: str, key: str | None = None) -> dict[str, str]:
    return {
        "security.protocol": "ssl",
        "ssl.certificate.location": str(authority.folder / f"{certificate}.pem"),
        "ssl.key.location": str(authority.folder / f"{key or certificate}.pem"),
    }


def refused(configs: dict[str, str]) -> str:
    with pytest.raises(UsageError) as error:
        wire_options(configs)
    said = str(error.value)
    assert "\n" not in said
    assert "secret" not in re.sub(r"client\.secret", "", said)
    return said


@pytest.mark.parametrize("name", SETS)
def test_librdkafka_knows_every_name(name: str):
    """It names a config that it does not know; it accepts a known one, or refuses its value."""
    from confluent_kafka import KafkaException, Producer

    unknown = []
    for config in sorted(getattr(config_names, name)):
        try:
            Producer({config: "an impossible value"}, logger=logging.getLogger("silent"))
        except (KafkaException, TypeError, ValueError) as error:
            if "No such configuration property" in str(error):
                unknown.append(config)
    assert unknown == []


def test_librdkafka_does_not_know_what_was_added():
    from confluent_kafka import KafkaException, Producer

    for config in config_names.ADDED:
        with pytest.raises(KafkaException, match="No such configuration property"):
            Producer({config: "x"}, logger=logging.getLogger("silent"))


def test_librdkafka_is_built_without_kerberos():
    """Once it is not, GSSAPI may be supported by both clients."""
    from confluent_kafka import KafkaException, Producer

    with pytest.raises(KafkaException, match="sasl_gssapi"):
        Producer({"builtin.features": "sasl_gssapi"}, logger=logging.getLogger("silent"))


def test_no_name_is_sorted_twice():
    sets = [getattr(config_names, name) for name in (*SETS, "ADDED")]
    assert sum(map(len, sets)) == len(frozenset().union(*sets))


@pytest.mark.parametrize(
    ("configs", "says"),
    [
        (
            {"sasl.usrname": "a"},
            "config sasl.usrname is not known; did you mean sasl.username?",
        ),
        ({"zzz": "a"}, "the config zzz is not known; configs have librdkafka's names"),
        ({"group.id": "a"}, "the config group.id is chosen by kgitops itself; leave it out"),
        ({"ssl.cipher.suites": "a"}, "the config ssl.cipher.suites is not supported by kgitops"),
        ({"bootstrap.servers": "a:1"}, "write the servers in the cluster's url"),
        ({"ssl.truststore.location": "a"}, "it is a Java client's; set ssl.ca.location"),
        ({"security.protocol": "tls"}, "must be plaintext or ssl or sasl_plaintext or sasl_ssl"),
        ({"security.protocol": "sasl_ssl"}, "security.protocol=sasl_ssl needs sasl.mechanism, one"),
        (SASL | {"sasl.mechanism": "SHA"}, "sasl.mechanism must be PLAIN or SCRAM-SHA-256"),
        (SASL | {"sasl.mechanism": "gssapi"}, f"sasl.mechanism=GSSAPI is {KERBEROS}"),
        (
            {"sasl.kerberos.service.name": "kafka"},
            f"the config sasl.kerberos.service.name is {KERBEROS}",
        ),
        (SASL | {"sasl.mechanisms": "SCRAM-SHA-256"}, "say different things; leave one of them"),
        (
            {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"},
            "sasl.mechanism=PLAIN needs sasl.username and sasl.password",
        ),
        (
            {k: v for k, v in OIDC.items() if k != "sasl.oauthbearer.method"},
            "sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.method",
        ),
        (OIDC | {"sasl.oauthbearer.method": "azure"}, "sasl.oauthbearer.method must be oidc or"),
        (
            OIDC | {"sasl.oauthbearer.method": "default"},
            "sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.token.provider",
        ),
        (
            OIDC | {"sasl.oauthbearer.config": "x"},
            "sasl.oauthbearer.config is set, but only sasl.mechanism=AWS_MSK_IAM and "
            "sasl.oauthbearer.token.provider use it; leave it out",
        ),
        (
            SASL | {"sasl.oauthbearer.token.provider": "vault"},
            "sasl.oauthbearer.token.provider is set, but only sasl.mechanism=OAUTHBEARER takes",
        ),
        (
            OIDC | {"sasl.oauthbearer.token.provider": "vault"},
            "sasl.oauthbearer.client.id is set, but sasl.oauthbearer.token.provider brings the "
            "token; leave one of them out",
        ),
        (
            PROVIDER | {"sasl.oauthbearer.method": "oidc"},
            "sasl.oauthbearer.method=oidc is set, but sasl.oauthbearer.token.provider brings the",
        ),
        (PROVIDER, "no installed package has a token provider 'vault' (known: none); correct the"),
        (PROVIDER | {"sasl.oauthbearer.token.provider": ""}, "is empty; give it a value or leave"),
        (
            MSK | {"sasl.username": "alice"},
            "sasl.username is set, but sasl.mechanism=AWS_MSK_IAM takes the credentials of AWS",
        ),
        (
            MSK | {"sasl.oauthbearer.method": "oidc"},
            "sasl.oauthbearer.method is set, but sasl.mechanism=AWS_MSK_IAM takes the credentials",
        ),
        (
            MSK | {"security.protocol": "sasl_plaintext"},
            "sasl.mechanism=AWS_MSK_IAM needs security.protocol=sasl_ssl; set that",
        ),
        (
            MSK | {"sasl.client.callback.handler.class": "x.IAMClientCallbackHandler"},
            "is not supported; it is a Java client's; sasl.mechanism is enough",
        ),
        (
            OIDC | {"sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"},
            "sasl.oauthbearer.token.endpoint.url must begin with https://",
        ),
        (
            OIDC | {"sasl.oauthbearer.extensions": "team"},
            "sasl.oauthbearer.extensions must be NAME=VALUE,NAME=VALUE",
        ),
        (
            {"sasl.username": "alice"},
            "sasl.username is set, but security.protocol=plaintext sends no credentials; set it to "
            "sasl_ssl or sasl_plaintext",
        ),
        (
            {"ssl.ca.pem": "x", "security.protocol": "plaintext"},
            "ssl.ca.pem is set, but security.protocol=plaintext uses no TLS; set it to ssl or",
        ),
        (SASL | {"sasl.password": ""}, "sasl.password is empty; give it a value or leave it out"),
        (
            {"socket.timeout.ms": "0"},
            "socket.timeout.ms must be a whole number from 1000 to 300000, not '0'",
        ),
        (
            {"socket.connection.setup.timeout.ms": "9s"},
            "must be a whole number from 1000 to 300000, not '9s'",
        ),
        ({"broker.address.family": "v5"}, "broker.address.family must be any or v4 or v6"),
        (
            {"security.protocol": "ssl", "enable.ssl.certificate.verification": "no"},
            "enable.ssl.certificate.verification must be true or false, not 'no'",
        ),
        ({"compression.type": "rar"}, "compression.type: librdkafka does not take 'rar'; correct"),
        ({"linger.ms": "soon"}, "linger.ms: librdkafka does not take 'soon'; correct it"),
    ],
)
def test_configs_that_can_not_be_meant(configs: dict[str, str], says: str):
    assert says in refused(configs)


def test_the_same_means_the_same_to_both_clients():
    configs = {"Security.Protocol".lower(): "SASL_plaintext"} | {
        "sasl.mechanisms": "scram-sha-512",
        "sasl.username": "a=b,c",
        "sasl.password": "secret",
        "client.id": "ci",
        "socket.timeout.ms": "7000",
        "socket.connection.setup.timeout.ms": "3000",
        "broker.address.family": "v4",
        "linger.ms": "7",
    }
    options = wire_options(configs)
    assert options == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "a=3Db=2Cc",  # RFC 5802 §5.1; librdkafka does it itself
        "sasl_plain_password": "secret",
        "principal": "User:a=b,c",
        "client_id": "ci",
        "family": socket.AF_INET,
        "canonical_names": False,
        "timeout_ms": 7000,
        "connect_ms": 3000,
    }
    assert librdkafka_configs("b:1", configs) == {
        "bootstrap.servers": "b:1",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "a=b,c",
        "sasl.password": "secret",
        "client.id": "ci",
        "socket.timeout.ms": "7000",
        "socket.connection.setup.timeout.ms": "3000",
        "broker.address.family": "v4",
        "linger.ms": "7",
    }


def test_without_configs_there_is_neither_tls_nor_a_login():
    assert wire_options({}) == {
        "security_protocol": "PLAINTEXT",
        "client_id": "kgitops",
        "family": socket.AF_UNSPEC,
        "canonical_names": False,
    }


def test_tls_trusts_the_system_unless_told_otherwise(authority: Authority):
    system = wire_options({"security.protocol": "ssl"})["tls"]
    assert (system.verify_mode, system.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert system.minimum_version is ssl.TLSVersion.TLSv1_2
    own = wire_options({"security.protocol": "ssl", "ssl.ca.location": str(authority.file)})["tls"]
    assert [each["subject"] for each in own.get_ca_certs()] == [((("commonName", "authority"),),)]


def test_files_lie_beside_the_project(authority: Authority, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(authority.folder))
    for written in ("authority.pem", "~/authority.pem", str(authority.file)):
        configs = {"security.protocol": "ssl", "ssl.ca.location": written}
        assert normalize_configs(configs, authority.folder)["ssl.ca.location"] == str(
            authority.file
        )


def test_files_that_can_not_be_used(authority: Authority, tmp_path: Path):
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    ca = {"security.protocol": "ssl", "ssl.ca.location": str(text)}
    gone = str(tmp_path / "gone.pem")
    assert refused(ca) == (f"ssl.ca.location: {text} holds no certificate in PEM form; correct it")
    assert refused(ca | {"ssl.ca.location": gone}) == (
        f"ssl.ca.location: {gone}: no such file or directory; correct the path"
    )
    assert refused({"security.protocol": "ssl", "ssl.ca.pem": "no certificate"}) == (
        "ssl.ca.pem: its text holds no certificate in PEM form; correct it"
    )
    assert refused(showing(authority, "client", "gone")).startswith("ssl.key.location: ")
    assert refused(showing(authority, "client", "other")) == (
        "ssl.certificate.location with ssl.key.location: the key is not the certificate's; name a "
        "pair that belongs together"
    )
    assert refused(showing(authority, "authority")) == (
        "ssl.certificate.location with ssl.key.location: there is no key or certificate in PEM "
        "form; correct the files"
    )
    alone = showing(authority, "client")
    del alone["ssl.key.location"]
    assert "ssl.certificate.* is set without ssl.key.*" in refused(alone)


def test_keys_with_a_password(authority: Authority):
    locked = showing(authority, "locked")
    assert refused(locked).endswith("the key has a password; set ssl.key.password")
    assert refused(locked | {"ssl.key.password": "secret"}).endswith(
        "the password does not open the key; correct ssl.key.password"
    )
    assert wire_options(locked | {"ssl.key.password": "sesame"})["has_certificate"]


def test_the_principal_of_a_login(authority: Authority, monkeypatch: pytest.MonkeyPatch):
    """Kafka's own name for it; how kgitops logs in where only the brokers know the name."""
    shown = showing(authority, "client")
    assert wire_options(SASL)["principal"] == "User:alice"
    assert wire_options(shown)["principal"] == "User:CN=client"
    text = Path(shown["ssl.certificate.location"]).read_text("utf-8")
    pasted = {"security.protocol": "ssl", "ssl.certificate.pem": text, "ssl.key.pem": text}
    assert wire_options(pasted)["principal"] == "User:CN=client"
    both = shown | SASL | {"security.protocol": "sasl_ssl"}
    assert wire_options(both)["principal"] == "User:alice"
    logged_in = "kgitops (logged in with the token of sasl.oauthbearer.client.id)"
    assert wire_options(OIDC)["principal"] == logged_in
    monkeypatch.setattr(tls, "_CERTIFICATE", re.compile("-----BEGIN OTHER-----"))
    assert wire_options(shown)["principal"] == "kgitops (logged in with its TLS certificate)"


def test_no_login_has_kafkas_principal_for_that():
    for configs in ({}, {"security.protocol": "ssl"}):
        wire = Wire(["broker:9092"], wire_options(configs))
        assert wire.principal == "kgitops (User:ANONYMOUS, as it does not log in)"
        wire.close()


def test_sentences_without_secrets():
    said = without_secrets("alice may not: s3cret-1", {"sasl.password": "s3cret-1"})
    assert said == "alice may not: (sasl.password)"
    assert without_secrets("unchanged", SASL) == "unchanged"
