"""One real broker with a listener for every way to connect, and for every way to fail."""

import logging
import os
from pathlib import Path

from cluster.kafka.certificates import Authority
from cluster.kafka.msk_verifier import (
    JAVA,
    JAVA_CLASS,
    JAVA_PROPERTY,
    PRINCIPAL,
    REGION,
    MskVerifier,
)
from cluster.kafka.token_endpoint import AUDIENCE, Provider
from java_classes import compile_java
from msgspec import Struct
from ports import first_port

from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jars import fetch_libs
from kgitops.sandbox.jvm import Jvm, find_java
from kgitops.sandbox.layout import CONTROLLER, HOST, Layout
from kgitops.sandbox.running import Sandbox

PASSWORD = "open sesame"  # noqa: S105
USERS = ("alice", "a=b,c")
_PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SASLSSL": "SASL_SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "MSK": "SASL_SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
}
_CERTIFICATES = {
    "SSL": "server",
    "MUTUAL": "server",
    "SASLSSL": "server",
    "MSK": "server",
    "EXPIRED": "expired",
    "ELSEWHERE": "elsewhere",
}


class ManyListeners(Struct, frozen=True):
    sandbox: Sandbox
    ports: dict[str, int]
    authority: Authority
    stranger: Path
    provider: Provider
    msk: MskVerifier

    def server(self, listener: str) -> str:
        return f"{HOST}:{self.ports[listener]}"

    def trusting(self, protocol: str = "SSL") -> dict[str, str]:
        """TLS that trusts the broker's authority."""
        return {"security.protocol": protocol, "ssl.ca.location": str(self.authority.file)}

    def storing(self) -> dict[str, str]:
        """The same with a PKCS#12 store, whose certificate another authority signed in between."""
        return self.trusting() | {
            "ssl.keystore.location": str(self.authority.folder / "stored.p12"),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": PASSWORD,
        }

    def on_msk(self) -> dict[str, str]:
        """A login as on Amazon MSK; the credentials come from the environment."""
        return self.trusting("SASL_SSL") | {
            "sasl.mechanism": "AWS_MSK_IAM",
            "sasl.oauthbearer.config": f"region={REGION}",
        }

    def with_provider(self, config: str, provider: str = "file") -> dict[str, str]:
        """A login with the token of a provider."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.provider": provider,
            "sasl.oauthbearer.config": config,
        }

    def showing(self, name: str) -> dict[str, str]:
        """The same with a client certificate."""
        file = str(self.authority.folder / f"{name}.pem")
        return self.trusting() | {"ssl.certificate.location": file, "ssl.key.location": file}


def login(
    mechanism: str, user: str = "alice", password: str = PASSWORD, protocol: str = "SASL_PLAINTEXT"
) -> dict[str, str]:
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def start(home: Path, provider: Provider, msk: MskVerifier) -> ManyListeners:
    """The broker, its certificates below ``home``, tokens signed by ``provider``, or of MSK."""
    home.mkdir(parents=True)
    authority, other = Authority(home, "authority"), Authority(home, "other")
    authority.signs("server", host=HOST)
    authority.signs("expired", host=HOST, days=-3)
    authority.signs("elsewhere", host="b1.example.com")
    authority.signs("client")
    authority.signs("locked", password=PASSWORD)
    Authority(home, "between", above=authority).signs_store("stored", PASSWORD)
    stranger = other.signs("stranger")
    keys = home / "keys.json"
    provider.write_keys(keys)
    ports = {name: first_port() for name in (*_PROTOCOLS, CONTROLLER)}
    layout = Layout(
        ports={1: {name: ports[name] for name in ("PLAINTEXT", CONTROLLER)}},
        properties=_listeners(ports) | _tls(authority) | _sasl() | _oauth(keys) | _msk(),
    )
    jvm = Jvm(
        java=find_java(),
        libs=fetch_libs(lambda _: None),
        class_path=[compile_java({JAVA_CLASS: JAVA}, home)],
        log4j2=home / "log4j2.properties",
    )
    sandbox = Sandbox(home / "kafka", layout, jvm, Guard())
    # Kafka reads keys from nowhere else, and java reads its options from here.
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
    os.environ["JAVA_TOOL_OPTIONS"] = f"{allowed} -D{JAVA_PROPERTY}={msk.url}"
    try:
        sandbox.boot()
        _add_scram_users(sandbox.servers)
    except BaseException:
        sandbox.kill_all()
        raise
    finally:
        del os.environ["JAVA_TOOL_OPTIONS"]
    return ManyListeners(sandbox, ports, authority, stranger, provider, msk)


def _listeners(ports: dict[str, int]) -> dict[str, str]:
    def urls(names: tuple[str, ...]) -> str:
        return ",".join(f"{name}://{HOST}:{ports[name]}" for name in names)

    protocols = _PROTOCOLS | {CONTROLLER: "PLAINTEXT"}
    return {
        "listeners": urls(tuple(ports)),
        "advertised.listeners": urls(tuple(_PROTOCOLS)),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        "super.users": (
            f"User:ANONYMOUS;User:alice;User:a=b,c;User:kgitops-client;User:CN=client;User:CN=stored;"
            f"User:{PRINCIPAL}"
        ),
    }


def _tls(authority: Authority) -> dict[str, str]:
    properties = {"listener.name.mutual.ssl.client.auth": "required"}
    for listener, name in _CERTIFICATES.items():
        prefix = f"listener.name.{listener.lower()}.ssl"
        properties |= {
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": str(authority.folder / f"{name}.pem"),
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": str(authority.file),
        }
    return properties


def _sasl() -> dict[str, str]:
    module = "org.apache.kafka.common.security"
    known = f'user_alice="{PASSWORD}"'
    properties = {}
    for listener in ("sasl", "saslssl"):
        prefix = f"listener.name.{listener}"
        properties |= {
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{prefix}.plain.sasl.jaas.config": (
                f"{module}.plain.PlainLoginModule required {known};"
            ),
        }
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            jaas = f"{module}.scram.ScramLoginModule required;"
            properties[f"{prefix}.{mechanism}.sasl.jaas.config"] = jaas
    return properties


def _oauth(keys: Path) -> dict[str, str]:
    module = "org.apache.kafka.common.security.oauthbearer"
    prefix = "listener.name.oauth.oauthbearer.sasl"
    return {
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.jaas.config": f"{module}.OAuthBearerLoginModule required;",
        f"{prefix}.server.callback.handler.class": (
            f"{module}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{prefix}.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.oauthbearer.expected.audience": AUDIENCE,
    }


def _msk() -> dict[str, str]:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    prefix = "listener.name.msk.oauthbearer.sasl"
    return {
        "listener.name.msk.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.jaas.config": f"{module} required;",
        f"{prefix}.server.callback.handler.class": JAVA_CLASS,
    }


def _add_scram_users(servers: str) -> None:
    from confluent_kafka.admin import (
        AdminClient,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    silent = logging.getLogger("silent")
    admin = AdminClient({"bootstrap.servers": servers}, logger=silent)
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        changes = [UserScramCredentialUpsertion(user, info, PASSWORD.encode()) for user in USERS]
        for done in admin.alter_user_scram_credentials(changes).values():
            done.result(30)
