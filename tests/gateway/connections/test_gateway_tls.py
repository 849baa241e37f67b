"""TLS on both sides, host names that tell brokers apart, and certificates that change."""

import asyncio
import shutil
import ssl
from pathlib import Path

import pytest
from gateway.connections.stand_ins import (
    FORWARDED,
    Client,
    Running,
    StandInBroker,
    request,
    running,
)
from patience import eventually_async

from kgitops.gateway.listening import certificates as listening_certificates
from kgitops.gateway.listening.certificates import ServerCertificate
from kgitops.gateway.settings import Entrance
from kgitops.gateway.sockets.limits import GatewayLimits
from kgitops.model.errors import KgitopsError
from kgitops.sandbox.certificates import Certificates, issue_certificates

SNI = Entrance(
    host="127.0.0.1",
    port=0,
    advertised_host="kafka.example",
    advertised_port=443,
    sni="broker-$(id).kafka.example",
)


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("issued"), [])


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("others"), [])


def trusting(issued: Certificates, *, names: bool = True) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(issued.authority))
    context.check_hostname = names
    return context


def serving(issued: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.broker)
    return context


async def connected(run: Running, issued: Certificates, name: str | None = None) -> Client:
    context = trusting(issued, names=name is None)
    return await run.connect(ssl=context, server_hostname=name or "127.0.0.1")


async def test_frames_of_any_size_pass_encrypted_on_both_sides(issued: Certificates) -> None:
    broker = StandInBroker(tls=serving(issued))
    pair = (issued.broker, issued.broker)
    async with running(broker, certificate=pair, upstream_tls=trusting(issued)) as run:
        client = await connected(run, issued)
        for number, size in enumerate((0, 1, 16_384, 70_000, 300_000, 5_000_000)):
            body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
            assert (await client.ask(FORWARDED, number, body))[4:] == body
        client.send(*(request(FORWARDED, number, bytes(3000)) for number in range(500)))
        for number in range(500):
            assert (await client.receive())[:4] == number.to_bytes(4, "big")


async def test_who_speaks_no_tls_is_told_in_the_log(issued: Certificates) -> None:
    async with running(StandInBroker(), certificate=(issued.broker, issued.broker)) as run:
        for data, sentence in (
            (request(FORWARDED, 1), "it does not speak TLS, this listener does"),
            (b"GET / HTTP/1.1\r\n\r\n", "it sent HTTP"),
        ):
            client = await run.connect()
            client.send(data)
            await client.rest()
            assert str(run.refusals[-1]["sentence"]).startswith(sentence)
            assert run.refusals[-1]["reason"] == "tls"


async def test_a_handshake_that_is_not_ended_is_given_up(issued: Certificates) -> None:
    limits = GatewayLimits(login_s=600)
    pair = (issued.broker, issued.broker)
    async with running(StandInBroker(), certificate=pair, limits=limits) as run:
        client = await run.connect()
        client.send(b"\x16\x03\x01")
        connections = run.gateway.connections
        await eventually_async(lambda: len(connections) == 1, what="it is connected")
        run.clock.ahead = 600
        assert await client.rest() == b""
        assert run.refusals[0]["reason"] == "login"


async def test_a_broker_with_a_certificate_of_nobody_gets_nothing(
    issued: Certificates, others: Certificates
) -> None:
    broker = StandInBroker(tls=serving(others))
    async with running(broker, upstream_tls=trusting(issued)) as run:
        refusal = await run.refused(request(FORWARDED, 1, b"secret"))
        assert refusal["reason"] == "broker"
        assert "CERTIFICATE_VERIFY_FAILED" in str(refusal["sentence"])
        assert broker.frames == []


async def test_a_proxy_header_comes_before_tls(issued: Certificates) -> None:
    pair = (issued.broker, issued.broker)
    async with running(StandInBroker(), certificate=pair, load_balancers=("127.0.0.0/8",)) as run:
        reader, writer = await asyncio.open_connection("127.0.0.1", run.port)
        writer.write(b"PROXY TCP4 203.0.113.9 10.0.0.1 1 2\r\n")
        await writer.start_tls(trusting(issued), server_hostname="127.0.0.1")
        client = Client(reader, writer)
        run.clients.append(client)
        assert await client.ask(FORWARDED, 1, b"one") == b"\0\0\0\1one"
        (connection,) = run.gateway.connections._open
        assert connection.client.address == "203.0.113.9"


async def test_host_names_tell_brokers_apart_on_one_port(issued: Certificates) -> None:
    brokers = [StandInBroker(), StandInBroker()]
    pair = (issued.broker, issued.broker)
    async with running(*brokers, certificate=pair, entrances=(SNI,)) as run:
        assert run.gateway.url == "kafka://kafka.example:443"
        (listener,) = run.gateway._listeners
        told = listener.addresses.advertise(1, b"127.0.0.1", brokers[1].port)
        assert told == (b"broker-1.kafka.example", 443)

        async def ask(name: str) -> bytes:
            context = trusting(issued, names=False)
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", listener.port, ssl=context, server_hostname=name
            )
            client = Client(reader, writer)
            run.clients.append(client)
            client.send(request(FORWARDED, 5))
            return await client.rest() if "7" in name else await client.receive()

        for name in ("broker-1.kafka.example", "BROKER-1.kafka.example", "kafka.example"):
            await ask(name)
        assert len(brokers[1].frames) >= 2
        assert len(brokers[0].frames) + len(brokers[1].frames) == 3
        assert await ask("broker-7.kafka.example") == b""
        assert run.refusals[0]["reason"] == "sni"
        assert "'broker-7.kafka.example'" in str(run.refusals[0]["sentence"])


@pytest.mark.usefixtures("soon")
async def test_a_new_certificate_is_for_new_connections_and_a_broken_one_for_none(
    issued: Certificates, others: Certificates, tmp_path: Path
) -> None:
    file = tmp_path / "server.pem"
    shutil.copy(issued.broker, file)

    async with running(StandInBroker(), certificate=(file, file)) as run:
        before = await connected(run, issued)
        shutil.copy(others.broker, file)
        await eventually_async(lambda: run.told, what="the gateway reports the new certificate")
        assert run.told == [f"the certificate {file} was read again"]
        await (await connected(run, others)).ask(FORWARDED, 1)
        with pytest.raises(ssl.SSLError):
            await connected(run, issued)
        file.write_text("nonsense")
        await eventually_async(
            lambda: run.told,
            lambda told: len(told) > 1,
            what="the gateway reports the nonsense",
        )
        assert run.told[1].endswith("; the certificate before it goes on")
        await (await connected(run, others)).ask(FORWARDED, 2)
        await before.ask(FORWARDED, 3)


@pytest.mark.parametrize(
    ("certificate", "key", "sentence"),
    [
        ("missing.pem", "server.pem", "--tls-cert {folder}/missing.pem: no such file"),
        ("server.pem", "missing.pem", "--tls-key {folder}/missing.pem: no such file"),
        ("server.pem", "other.pem", "can't be used (key values mismatch)"),
        ("nonsense.pem", "server.pem", "can't be used"),
    ],
)
def test_files_that_cant_be_used_are_named(
    certificate: str,
    key: str,
    sentence: str,
    issued: Certificates,
    others: Certificates,
    tmp_path: Path,
) -> None:
    shutil.copy(issued.broker, tmp_path / "server.pem")
    shutil.copy(others.broker, tmp_path / "other.pem")
    (tmp_path / "nonsense.pem").write_text("nonsense")
    with pytest.raises(KgitopsError) as refused:
        ServerCertificate(tmp_path / certificate, tmp_path / key)
    assert sentence.format(folder=tmp_path) in str(refused.value)


def test_tls_1_1_is_too_old(issued: Certificates) -> None:
    context = listening_certificates.ServerCertificate(issued.broker, issued.broker).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
