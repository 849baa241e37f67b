"""Requests and responses through the gateway: their order, and what comes of each."""

import asyncio

from gateway.connections.stand_ins import (
    ANSWERED,
    BROKEN,
    FORWARDED,
    SILENT,
    UNKNOWN,
    LateBroker,
    StandInBroker,
    request,
    running,
)
from patience import eventually_async


async def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    async with running(StandInBroker()) as run:
        client = await run.connect()
        client.send(*(request(FORWARDED, number) for number in range(500)))
        for number in range(500):
            assert int.from_bytes((await client.receive())[:4], "big") == number


async def test_a_request_in_single_bytes_is_one_request() -> None:
    async with running(StandInBroker()) as run:
        client = await run.connect()
        for byte in request(FORWARDED, 7, b"hello") + request(FORWARDED, 8, b"again"):
            client.send(bytes((byte,)))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await client.receive() == b"\0\0\0\x07hello"
        assert await client.receive() == b"\0\0\0\x08again"
        whole = [request(FORWARDED, 7, b"hello"), request(FORWARDED, 8, b"again")]
        assert run.brokers[0].frames == [frame[4:] for frame in whole]


async def test_an_answer_of_the_gateway_waits_for_earlier_responses() -> None:
    broker = LateBroker()
    async with running(broker) as run:
        client = await run.connect()
        client.send(
            request(FORWARDED, 1),
            request(ANSWERED, 2),
            request(ANSWERED, 3),
            request(FORWARDED, 4),
            request(ANSWERED, 5),
        )
        await eventually_async(
            lambda: (len(run.brokers[0].frames), run.gateway.counts.answered),
            lambda found: found[0] >= 1 and found[1] >= 3,
            what="a frame reaches the broker, and three are answered",
        )
        assert run.gateway.counts.sent == 0
        broker.may_answer.set()
        numbers = [int.from_bytes((await client.receive())[:4], "big") for _ in range(5)]
        assert numbers == [1, 2, 3, 4, 5]


async def test_a_request_without_response_holds_nothing_up() -> None:
    async with running(StandInBroker()) as run:
        client = await run.connect()
        client.send(*(request(SILENT, number) for number in range(300)))
        assert await client.ask(FORWARDED, 300, b"end") == b"\0\0\x01\x2cend"
        assert len(run.brokers[0].frames) == 301
        assert run.gateway.counts.requests == {SILENT: 300, FORWARDED: 1}


async def test_large_frames_pass_whole() -> None:
    body = bytes(range(256)) * 50_000

    async with running(StandInBroker()) as run:
        client = await run.connect()
        client.send(request(FORWARDED, 1, body), request(FORWARDED, 2, body[:300_000]))
        assert await client.receive() == b"\0\0\0\x01" + body
        assert await client.receive() == b"\0\0\0\x02" + body[:300_000]


async def test_a_request_that_is_not_understood_closes_the_connection() -> None:
    async with running(StandInBroker()) as run:
        client = await run.connect()
        await client.ask(FORWARDED, 1)
        client.send(request(UNKNOWN, 2), request(FORWARDED, 3))
        assert await client.rest() == b""
        (refusal,) = run.refusals
        assert refusal["reason"] == "api"
        assert refusal["sentence"] == "API 22 is not understood"
        assert refusal["principal"] == "User:ANONYMOUS"
        assert refusal["address"] == "127.0.0.1"
        assert len(run.brokers[0].frames) == 1


async def test_a_fault_of_the_rewriting_costs_one_connection_and_tells_no_content() -> None:
    async with running(StandInBroker()) as run:
        other = await run.connect()
        await other.ask(FORWARDED, 1)
        refusal = await run.refused(request(BROKEN, 2, b"a secret"))
        assert await other.ask(FORWARDED, 3, b"on") == b"\0\0\0\x03on"
        assert refusal["reason"] == "bug"
        assert "KeyError" in str(refusal["sentence"])
        assert b"secret" not in b"".join(run.log)
