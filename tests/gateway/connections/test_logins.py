"""Logins, which the broker alone decides: whose connection it is, and from when on."""

import base64
import json
from collections.abc import Sequence

import pytest
from gateway.connections.stand_ins import (
    AUTHENTICATE,
    FORWARDED,
    HANDSHAKE,
    Client,
    StandInBroker,
    StandInRewriter,
    StandInTables,
    echo,
    request,
    running,
    tables_of,
)

from kgitops.wire import messages
from kgitops.wire.codec import write

NO, YES = 58, 0
SASL_FAILED = 58


def handshake(number: int, mechanism: str, version: int = 1) -> bytes:
    name = mechanism.encode()
    frame = request(HANDSHAKE, number, len(name).to_bytes(2, "big") + name)
    return frame[:6] + version.to_bytes(2, "big") + frame[8:]


def authenticate(number: int, message: bytes) -> bytes:
    return request(AUTHENTICATE, number, len(message).to_bytes(4, "big") + message)


class LoginBroker(StandInBroker):
    """Answers logins by what a test tells it: an error code and bytes, each time."""

    def __init__(self, answers: Sequence[tuple[int, bytes]]) -> None:
        super().__init__(self.answer)
        self.answers = list(answers)

    def answer(self, frame: bytes) -> bytes | None:
        key = int.from_bytes(frame[:2], "big")
        if key == HANDSHAKE:
            made = messages.SaslHandshakeResponse(mechanisms=["PLAIN"])
        elif key == AUTHENTICATE:
            code, data = self.answers.pop(0)
            made = messages.SaslAuthenticateResponse(
                error_code=code, error_message=None, auth_bytes=data
            )
        else:
            return echo(frame)
        return frame[4:8] + bytes(write(made, 1))


def tenants() -> StandInTables:
    return StandInTables(tables_of(sales=("User:alice",), audit=("User:bob",)))


async def log_in(client: Client, mechanism: str, *sent: bytes) -> None:
    client.send(handshake(1, mechanism))
    await client.receive()
    for number, message in enumerate(sent, 2):
        client.send(authenticate(number, message))
        await client.receive()


def token(**claims: str) -> bytes:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer aaaa." + payload + b".cccc\x01\x01"


def place() -> str | None:
    """The virtual cluster of the newest request."""
    table = StandInRewriter.tables[-1]
    return table.virtual_cluster if table else None


LOGINS: list[tuple[str, list[bytes], list[tuple[int, bytes]]]] = [
    ("PLAIN", [b"\0alice\0secret"], [(YES, b"")]),
    ("PLAIN", [b"alice\0alice\0secret"], [(YES, b"")]),
    ("SCRAM-SHA-512", [b"n,,n=alice,r=abc", b"c=biws,r=abcd,p=xx"], [(YES, b"r="), (YES, b"v=x")]),
    ("OAUTHBEARER", [token(sub="alice")], [(YES, b"")]),
]


@pytest.mark.parametrize(("mechanism", "sent", "answers"), LOGINS)
async def test_who_logs_in_is_in_their_virtual_cluster_from_then_on(
    mechanism: str, sent: list[bytes], answers: list[tuple[int, bytes]]
) -> None:
    async with running(LoginBroker(answers), sasl=True, tables=tenants()) as run:
        client = await run.connect()
        await log_in(client, mechanism, *sent)
        assert StandInRewriter.tables == [None] * (1 + len(sent))
        await client.ask(FORWARDED, 9)
        assert place() == "sales"
        assert b"secret" not in b"".join(run.log)


@pytest.mark.parametrize(
    ("mechanism", "sent", "answers"),
    [
        ("PLAIN", [b"\0alice\0wrong"], [(NO, b"")]),
        ("SCRAM-SHA-256", [b"n,,n=alice,r=abc"], [(YES, b"r=abcd,s=x,i=4096")]),
        ("SCRAM-SHA-256", [b"n,,n=alice,r=abc", b"c=biws"], [(YES, b"r="), (NO, b"")]),
        ("OAUTHBEARER", [token(sub="alice")], [(YES, b'{"status":"invalid_token"}')]),
    ],
)
async def test_a_name_counts_only_once_the_broker_has_said_yes(
    mechanism: str, sent: list[bytes], answers: list[tuple[int, bytes]]
) -> None:
    async with running(LoginBroker(answers), sasl=True, tables=tenants()) as run:
        client = await run.connect()
        await log_in(client, mechanism, *sent)
        client.send(request(FORWARDED, 9))
        assert await client.rest() == b""
        (refusal,) = run.refusals
        assert (refusal["reason"], refusal["principal"]) == ("login", None)
        assert refusal["sentence"] == "it did not log in before its first request"


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("PLAIN", b"bob\0alice\0secret"),
        ("PLAIN", b"alice"),
        ("PLAIN", b"\0\0secret"),
        ("PLAIN", b"\0\xff\0secret"),
        ("PLAIN", b"\0alice\0secret\0"),
        ("SCRAM-SHA-256", b"n,a=bob,n=alice,r=abc"),
        ("SCRAM-SHA-256", b"n,,n=al=ice,r=abc"),
        ("SCRAM-SHA-256", b"n,,n=token,r=abc,tokenauth=true"),
        ("SCRAM-SHA-256", b"p=tls-unique,,n=alice,r=abc"),
        ("OAUTHBEARER", token(scope="all")),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer opaque\x01\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.e30.c\x01auth=Bearer a.e30.c\x01\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.!!!.c\x01\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.bnVsbA.c\x01\x01"),
    ],
)
async def test_a_login_that_does_not_tell_its_user_is_refused(
    mechanism: str, message: bytes
) -> None:
    broker = LoginBroker([(YES, b"")])
    async with running(broker, sasl=True, tables=tenants()) as run:
        client = await run.connect()
        await log_in(client, mechanism)
        client.send(authenticate(2, message))
        assert await client.rest() == b""
        assert run.refusals[0]["reason"] == "login"
        assert len(broker.frames) == 1
        assert b"secret" not in b"".join(run.log)
        assert b"opaque" not in b"".join(run.log)


async def test_names_are_unescaped_as_brokers_do_it() -> None:
    tables = StandInTables(tables_of(sales=("User:a,b=c",)))
    async with running(LoginBroker([(YES, b"r="), (YES, b"v=")]), sasl=True, tables=tables) as run:
        client = await run.connect()
        await log_in(client, "SCRAM-SHA-256", b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=x", b"c=biws")
        await client.ask(FORWARDED, 9)
        assert place() == "sales"


async def test_saslhandshake_0_is_refused() -> None:
    async with running(LoginBroker([]), sasl=True) as run:
        refusal = await run.refused(handshake(1, "PLAIN", version=0))
        assert "SaslHandshake 0" in str(refusal["sentence"])
        assert run.brokers[0].frames == []


async def test_a_mechanism_that_tells_no_user_is_answered_with_those_that_do() -> None:
    async with running(LoginBroker([]), sasl=True) as run:
        client = await run.connect()
        client.send(handshake(7, "GSSAPI"))
        answer = await client.receive()
        assert answer[:6] == b"\0\0\0\x07\0\x21"
        assert b"SCRAM-SHA-512" in answer
        assert run.brokers[0].frames == []


async def test_a_login_in_one_piece_is_refused() -> None:
    async with running(LoginBroker([(YES, b"")]), sasl=True, tables=tenants()) as run:
        client = await run.connect()
        client.send(handshake(1, "PLAIN"), authenticate(2, b"\0alice\0x"))
        await client.rest()
        sentence = "it did not wait for the answer to its login"
        assert run.refusals[0]["sentence"] == sentence


async def test_logging_in_again_has_to_be_as_the_same_user() -> None:
    answers = [(YES, b"")] * 3
    async with running(LoginBroker(answers), sasl=True, tables=tenants()) as run:
        client = await run.connect()
        await log_in(client, "PLAIN", b"\0alice\0x")
        await log_in(client, "PLAIN", b"\0alice\0x")
        await client.ask(FORWARDED, 9)
        assert place() == "sales"
        client.send(handshake(10, "PLAIN"))
        await client.receive()
        client.send(authenticate(11, b"\0bob\0x"))
        assert await client.rest() == b""
        (refusal,) = run.refusals
        assert refusal["sentence"] == "it logged in again as another user"


async def test_before_the_login_frames_are_small() -> None:
    async with running(LoginBroker([(YES, b"")]), sasl=True, tables=tenants()) as run:
        big, client = await run.connect(), await run.connect()
        big.send(request(FORWARDED, 1, bytes(600 * 1024)))
        assert await big.rest() == b""
        assert "the limit is 524288" in str(run.refusals[0]["sentence"])
        await log_in(client, "PLAIN", b"\0alice\0x")
        assert len(await client.ask(FORWARDED, 2, bytes(600 * 1024))) == 4 + 600 * 1024
