"""Logins by the raw client, and the clusters that they are tried on."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster.clusters import admin
from patience import eventually
from serve.raw_client import RawClient
from serve.served import cluster_of
from serve.served import served as serve_cluster

from kgitops.cluster.embedded.controls.scram import ScramUpsertion
from kgitops.model.resources.users import ScramMechanism
from kgitops.sandbox.certificates import Certificates
from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.messages import Message

PASSWORD = 'alice\'s "secret"'  # noqa: S105
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_QUOTED = PASSWORD.replace('"', '\\"')
JAAS = f'{_MODULE} user_alice="{_QUOTED}" user_bob="bob\'s";'
SASL = {
    "listeners": "APP://127.0.0.1:0",
    "listener.security.protocol.map": "APP:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.app.plain.sasl.jaas.config": JAAS,
    "connection.failed.authentication.delay.ms": "0",
    "super.users": "User:alice",
}


def with_tls(
    configs: Mapping[str, str], certificates: Certificates, *, auth: str = "none"
) -> dict[str, str]:
    """The same configs with TLS."""
    pem = certificates.broker.read_text()
    return {
        **configs,
        "listener.security.protocol.map": "APP:SASL_SSL" if "sasl.enabled.mechanisms" in configs
        else "APP:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": pem[: pem.index("-----BEGIN CERT")],
        "ssl.keystore.certificate.chain": pem[pem.index("-----BEGIN CERT") :],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": certificates.authority.read_text(),
        "ssl.client.auth": auth,
    }  # fmt: skip


def upsertion(mechanism: ScramMechanism, user: str, password: str) -> ScramUpsertion:
    """A credential as a client makes it of a password."""
    salt = b"salt of " + user.encode()
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, 4096)
    return ScramUpsertion(
        user=user, mechanism=mechanism, iterations=4096, salt=salt, salted_password=salted
    )


@contextmanager
def served(
    configs: Mapping[str, str], store: Path | None = None, limits: ConnectionLimits | None = None
) -> Iterator[KafkaServer]:
    """A broker with these configs, on which alice and carol have both SCRAM mechanisms."""
    cluster = cluster_of(store, brokers=1, static_configs=configs)
    for mechanism in ScramMechanism:
        users = [upsertion(mechanism, user, PASSWORD) for user in ("alice", "carol")]
        results = admin(cluster).alter_user_scram_credentials(upsertions=users)
        assert all(result.ok for result in results.values())
    with serve_cluster(cluster, limits=limits) as started:
        yield started.server


def told(caplog: pytest.LogCaptureFixture) -> str:
    """The one line that is logged; a connection may be closed before it is written."""
    (record,) = eventually(lambda: [*caplog.records], what="a line is logged")
    return record.getMessage()


def shake_hands(client: RawClient, mechanism: str, version: int = 1) -> Message:
    """The answer to SaslHandshake."""
    return client.ask("SaslHandshake", version, messages.SaslHandshakeRequest(mechanism=mechanism))


def authenticate(client: RawClient, data: bytes, version: int = 2) -> Message:
    """The answer to SaslAuthenticate."""
    request = messages.SaslAuthenticateRequest(auth_bytes=data)
    return client.ask("SaslAuthenticate", version, request)


def log_in(client: RawClient, user: str = "alice", password: str = PASSWORD) -> Message:
    """Log in by PLAIN; the answer."""
    assert shake_hands(client, "PLAIN").error_code == 0
    return authenticate(client, f"\0{user}\0{password}".encode())


def scram_final(
    mechanism: ScramMechanism, password: str, first: str, server_first: str, *, header: str = "n,,"
) -> tuple[str, bytes]:
    """The client's final message, and the server's signature that it expects."""
    fields = dict(field.split("=", 1) for field in server_first.split(","))
    name = mechanism.hash_name
    salt = base64.b64decode(fields["s"])
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", name)
    stored = hashlib.new(name, client_key).digest()
    unsigned = f"c={base64.b64encode(header.encode()).decode()},r={fields['r']}"
    signed = f"{first.removeprefix(header)},{server_first},{unsigned}".encode()
    proof = bytes(a ^ b for a, b in zip(client_key, hmac.digest(stored, signed, name), strict=True))
    server_key = hmac.digest(salted, b"Server Key", name)
    return (
        f"{unsigned},p={base64.b64encode(proof).decode()}",
        b"v=" + base64.b64encode(hmac.digest(server_key, signed, name)),
    )
