"""Clients that log in by a certificate: who they are, and the gateway's login in their place."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cluster.kafka.certificates import Authority
from gateway.connections.stand_ins import (
    AUTHENTICATE,
    FORWARDED,
    HANDSHAKE,
    Client,
    Running,
    StandInBroker,
    StandInRewriter,
    StandInTables,
    echo,
    request,
    running,
    tables_of,
)
from patience import eventually_async

from kgitops.gateway.connections.certificate_logins import CertificateLogin
from kgitops.gateway.connections.refusals import RefusedError
from kgitops.gateway.credentials.credentials_file import CredentialsFile
from kgitops.gateway.credentials.reading import CredentialsSource
from kgitops.serve.listening.settings import PrincipalRule
from kgitops.wire import messages
from kgitops.wire.codec import write

HOST = "127.0.0.1"
PASSWORD = "alice-4711"  # noqa: S105 (a test's)
FAILED = 58
PLAIN = "{sasl.mechanism: PLAIN, sasl.username: alice, sasl.password: %s}"
CLUSTER = {"security.protocol": "sasl_plaintext"}

pytestmark = pytest.mark.usefixtures("soon")


class Setting:
    """Authorities, certificates, and a broker that lets alice in by her password."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder, "authority")
        self.server = self.authority.signs("gateway", host=HOST)
        self.credentials = folder / "clients.yaml"
        self.lifetime_ms = 0
        self.logins: list[bytes] = []

    def write(self, **by_name: str) -> None:
        lines = [f"User:CN={name}: {configs}" for name, configs in by_name.items()]
        self.credentials.write_text("\n".join(lines))

    def answer(self, frame: bytes) -> bytes | None:
        key = int.from_bytes(frame[:2], "big")
        if key == HANDSHAKE:
            made = messages.SaslHandshakeResponse(mechanisms=["PLAIN"])
        elif key == AUTHENTICATE:
            self.logins.append(frame)
            right = frame.endswith(f"\0alice\0{PASSWORD}".encode())
            made = messages.SaslAuthenticateResponse(
                error_code=0 if right else FAILED,
                error_message=None if right else "Authentication failed: invalid credentials",
                session_lifetime_ms=self.lifetime_ms,
            )
        else:
            return echo(frame)
        return frame[4:8] + bytes(write(made, 1))

    def context(self, certificate: Path | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.file))
        if certificate is not None:
            context.load_cert_chain(certificate)
        return context


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("made"))


@pytest.fixture
def setting(made: Setting) -> Setting:
    made.write(orders=PLAIN % PASSWORD)
    made.logins, made.lifetime_ms = [], 0
    return made


@asynccontextmanager
async def before(setting: Setting) -> AsyncIterator[Running]:
    """A gateway before a broker that asks for logins."""
    source = CredentialsSource(setting.credentials, CLUSTER, {}, (PrincipalRule(),))
    async with running(
        StandInBroker(setting.answer),
        sasl=True,
        tables=StandInTables(tables_of(sales=("User:alice",))),
        certificate=(setting.server, setting.server),
        client_ca=setting.authority.file,
        credentials=CredentialsFile(source),
    ) as run:
        yield run


async def connected(run: Running, setting: Setting, name: str = "orders") -> Client:
    certificate = setting.folder / f"{name}.pem"
    if not certificate.exists():
        setting.authority.signs(name)
    return await run.connect(ssl=setting.context(certificate), server_hostname=HOST)


async def test_the_gateway_logs_in_for_who_shows_a_certificate(setting: Setting) -> None:
    """Its virtual cluster is that of the user whom brokers see, who is let in first."""
    async with before(setting) as run:
        client = await connected(run, setting)
        client.send(*(request(FORWARDED, number, b"x" * 70_000) for number in range(3)))
        for number in range(3):
            assert await client.receive() == number.to_bytes(4, "big") + b"x" * 70_000
        keys = [int.from_bytes(frame[:2], "big") for frame in run.brokers[0].frames]
        assert keys == [HANDSHAKE, AUTHENTICATE, *[FORWARDED] * 3]
        assert [table and table.virtual_cluster for table in StandInRewriter.tables] == [
            "sales"
        ] * 3
        assert not run.log


async def test_who_has_no_credential_is_refused(setting: Setting) -> None:
    """Before anything of it goes to a broker; others are as they were."""
    async with before(setting) as run:
        client = await connected(run, setting, "stranger")
        client.send(request(FORWARDED, 1))
        assert not await client.rest()
        assert not run.brokers[0].connections
        (line,) = run.refusals
        assert line["reason"] == "certificate"
        assert line["sentence"] == "there is no credential for User:CN=stranger; add one"
        other = await connected(run, setting)
        assert await other.ask(FORWARDED, 2)


async def refused(run: Running, setting: Setting, certificate: Path | None) -> str | None:
    """The sentence about a client that TLS does not let in."""
    before = len(run.log)
    try:
        context = setting.context(certificate)
        client = await run.connect(ssl=context, server_hostname=HOST)
        client.send(request(FORWARDED, 1))
        assert not await client.rest()
    except ssl.SSLError:
        pass  # with TLS 1.3 a client learns it when it reads
    await run.until_closed()
    (line,) = run.refusals[before:]
    assert line["reason"] == "tls"
    return line["sentence"]


async def test_certificates_that_are_not_trusted(setting: Setting, tmp_path: Path) -> None:
    """None, one that has ended, one of another authority that has the name of one with a login."""
    async with before(setting) as run:
        told = await refused(run, setting, None)
        assert told == "it shows no certificate, and clients log in by certificates here"
        ended = setting.authority.signs("ended", days=-1)
        told = await refused(run, setting, ended)
        assert told == "its certificate is not trusted: certificate has expired"
        others = Authority(tmp_path, "others").signs("orders")
        told = await refused(run, setting, others)
        assert told
        assert told.startswith("its certificate is not trusted: ")
        assert not run.brokers[0].connections


async def test_a_credential_that_brokers_refuse(setting: Setting) -> None:
    """The log says why, without the password."""
    setting.write(orders=PLAIN % "wrong-4711")
    async with before(setting) as run:
        client = await connected(run, setting)
        client.send(request(FORWARDED, 1))
        assert not await client.rest()
        (line,) = run.refusals
        assert (line["reason"], line["principal"]) == ("certificate", "User:alice")
        assert line["sentence"] == (
            "its credential: the broker refuses it: Authentication failed: invalid credentials"
        )
        assert b"4711" not in b"".join(run.log)
        assert FORWARDED not in [int.from_bytes(f[:2], "big") for f in run.brokers[0].frames]


@pytest.mark.parametrize("key", [HANDSHAKE, AUTHENTICATE])
async def test_who_shows_a_certificate_can_not_log_in_as_another(
    setting: Setting, key: int
) -> None:
    async with before(setting) as run:
        client = await connected(run, setting)
        await client.ask(FORWARDED, 1)
        client.send(request(key, 2, b"\x00\x00\x00\x0a\x00bob\x00secret"))
        assert not await client.rest()
        assert run.refusals[0]["reason"] == "login"
        assert len(setting.logins) == 1


async def test_who_is_taken_out_of_the_file_is_locked_out(setting: Setting) -> None:
    setting.write(orders=PLAIN % PASSWORD, billing=PLAIN % PASSWORD)
    async with before(setting) as run:
        orders, billing = await connected(run, setting), await connected(run, setting, "billing")
        for client in (orders, billing):
            await client.ask(FORWARDED, 1)
        setting.write(billing=PLAIN % PASSWORD)
        assert not await orders.rest()
        assert run.refusals[0]["reason"] == "certificate"
        assert await billing.ask(FORWARDED, 2)
        assert any("were read again" in sentence for sentence in run.told)


async def read_again(run: Running) -> None:
    """Wait until the gateway has the credentials that were just written."""
    before = len(run.told)
    await eventually_async(
        lambda: run.told[before:],
        lambda told: any("were read again" in sentence for sentence in told),
        what="the credentials are read again",
    )


async def test_who_becomes_another_user_has_to_connect_again(setting: Setting) -> None:
    """What a connection reaches is its first user's; a new password of the same one is no other."""
    setting.write(orders=PLAIN % PASSWORD, billing=PLAIN % PASSWORD)
    async with before(setting) as run:
        orders, billing = await connected(run, setting), await connected(run, setting, "billing")
        for client in (orders, billing):
            await client.ask(FORWARDED, 1)
        bob = PLAIN.replace("alice", "bob") % PASSWORD
        setting.write(orders=bob, billing=PLAIN % "changed-4711")
        assert not await orders.rest()
        (line,) = run.refusals
        assert (line["reason"], line["principal"]) == ("certificate", "User:alice")
        told = "the credential of User:CN=orders is another one now, or none"
        assert line["sentence"] == told
        assert await billing.ask(FORWARDED, 2)


async def test_who_is_about_to_show_a_certificate_is_let_in(setting: Setting) -> None:
    """The credentials are read again before it says who it is."""
    async with before(setting) as run:
        client = await run.connect()
        setting.write(orders=PLAIN % PASSWORD, billing=PLAIN % PASSWORD)
        await read_again(run)
        context = setting.context(setting.authority.signs("orders"))
        await client.writer.start_tls(context, server_hostname=HOST)
        assert await client.ask(FORWARDED, 1)
        assert not run.log


def test_nothing_is_sent_before_a_certificate(setting: Setting) -> None:
    source = CredentialsSource(setting.credentials, CLUSTER, {}, (PrincipalRule(),))
    with pytest.raises(RefusedError, match="clients log in by their certificates here"):
        CertificateLogin(CredentialsFile(source)).request(bytearray(), FORWARDED)


async def test_a_connection_ends_before_the_login_of_its_broker_does(setting: Setting) -> None:
    """The client connects again, for which the gateway logs in again (KIP-368)."""
    setting.lifetime_ms = 1500
    async with before(setting) as run:
        client = await connected(run, setting)
        assert await client.ask(FORWARDED, 1)
        assert not await client.rest()
        assert not run.log
        again = await connected(run, setting)
        assert await again.ask(FORWARDED, 2)
        assert len(setting.logins) == 2
