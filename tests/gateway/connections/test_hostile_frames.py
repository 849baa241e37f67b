"""Bytes that are no frames, from either end, cost their connection and nothing else."""

import asyncio

import psutil
import pytest
from gateway.connections.stand_ins import FORWARDED, StandInBroker, framed, request, running

from kgitops.gateway.sockets.limits import GatewayLimits


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\0\0\0\0", "it announced 0 bytes; the limit is 104857600"),
        (b"\xff\xff\xff\xff", "it announced -1 bytes; the limit is 104857600"),
        (b"\x7f\xff\xff\xff", "it announced 2147483647 bytes; the limit is 104857600"),
        (b"GET / HTTP/1.1\r\n\r\n", "it sent HTTP to a listener for Kafka clients"),
        (b"\x16\x03\x01\x02\0\1\0", "it spoke TLS, this listener does not"),
        (framed(b"\0\1\0\0\0\0\0"), "a request of 7 bytes has no header"),
        (b"PROXY TCP4 6.6.6.6 1.1.1.1 1 2\r\n", "it sent a PROXY header, but its address is not"),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12), "it sent a PROXY header, but"),
    ],
)
async def test_bytes_that_are_no_request_close_the_connection(data: bytes, sentence: str) -> None:
    async with running(StandInBroker()) as run:
        other = await run.connect()
        refusal = await run.refused(data)
        assert refusal["reason"] == "malformed"
        assert str(refusal["sentence"]).startswith(sentence)
        assert run.brokers[0].frames == []
        assert await other.ask(FORWARDED, 1) == b"\0\0\0\1"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"\0\0\0\x63other", "the broker sent a response that matches no request"),
        (b"\0\0", "the broker sent a response that matches no request"),
    ],
)
async def test_a_response_that_nobody_asked_for_never_reaches_the_client(
    answer: bytes, sentence: str
) -> None:
    async with running(StandInBroker(lambda _: answer)) as run:
        refusal = await run.refused(request(FORWARDED, 1))
        assert refusal["sentence"] == sentence


async def test_a_length_from_the_broker_that_is_beyond_the_limit_closes_the_connection() -> None:
    limits = GatewayLimits(response_bytes=1000)
    broker = StandInBroker(lambda frame: frame[4:8] + bytes(2000))
    async with running(broker, limits=limits) as run:
        refusal = await run.refused(request(FORWARDED, 1))
        assert "it announced 2004 bytes" in str(refusal["sentence"])


async def test_announced_bytes_take_no_memory_before_they_come() -> None:
    async with running(StandInBroker()) as run:
        clients = [await run.connect() for _ in range(50)]
        for client in clients:
            await client.ask(FORWARDED, 1)
        before = psutil.Process().memory_info().rss
        for client in clients:
            client.send((100 * 1024 * 1024).to_bytes(4, "big") + bytes(1000))
        await asyncio.sleep(0.5)
        assert len(run.gateway.connections) == 50
        assert psutil.Process().memory_info().rss - before < 30 * 1024 * 1024
