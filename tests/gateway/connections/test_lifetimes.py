"""The ends of connections: their age, idleness, logins that never come, and the gateway's end."""

import asyncio
import socket

import pytest
from gateway.connections.stand_ins import (
    FORWARDED,
    SILENT,
    LateBroker,
    StandInBroker,
    echo,
    request,
    running,
)
from patience import eventually_async

from kgitops.gateway.sockets.limits import GatewayLimits

LOOKED_S = 0.2
"""Time enough to look at them again."""

pytestmark = pytest.mark.usefixtures("soon")


async def test_requests_under_way_are_answered_before_the_gateway_ends() -> None:
    broker = LateBroker()
    async with running(broker) as run:
        client, idle = await run.connect(), await run.connect()
        client.send(request(FORWARDED, 1, b"one"), request(FORWARDED, 2, b"two"))
        await run.until_forwarded(2)
        ending = asyncio.create_task(run.gateway.stop())
        assert await idle.rest() == b""
        with pytest.raises(ConnectionRefusedError):
            await run.connect()
        client.send(request(FORWARDED, 3))
        assert not ending.done()
        broker.may_answer.set()
        assert await client.receive() == b"\0\0\0\1one"
        assert await client.receive() == b"\0\0\0\2two"
        assert await client.rest() == b""
        await ending
        assert [frame[4:8] for frame in run.brokers[0].frames] == [b"\0\0\0\1", b"\0\0\0\2"]
        assert run.told == []


@pytest.mark.parametrize("ends", ["before the answer", "while it is fetched"])
async def test_a_large_answer_is_fetched_whole_before_the_gateway_ends(ends: str) -> None:
    """The client takes little at a time, so that most of it waits in the gateway."""
    answer, may_answer = bytes(range(256)) * 32_768, asyncio.Event()

    async def late(frame: bytes) -> bytes | None:
        await may_answer.wait()
        return frame[4:8] + answer

    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.setblocking(False)
        async with running(StandInBroker(late)) as run, asyncio.timeout(60):
            await loop.sock_connect(client, ("127.0.0.1", run.port))
            await loop.sock_sendall(client, request(FORWARDED, 1))
            await run.until_forwarded(1)
            if ends == "before the answer":
                ending = asyncio.create_task(run.gateway.stop())
                await asyncio.sleep(0.1)
                may_answer.set()
            else:
                may_answer.set()
                await eventually_async(
                    lambda: run.gateway.counts.sent,
                    lambda sent: sent >= len(answer),
                    what="the whole answer is sent",
                )
                ending = asyncio.create_task(run.gateway.stop())
                await asyncio.sleep(0.1)
            data = b""
            while more := await loop.sock_recv(client, 1 << 20):
                data += more
            assert data[4:] == b"\0\0\0\1" + answer
            await ending
            assert run.told == []


async def test_the_time_for_that_is_limited() -> None:
    async def never(frame: bytes) -> bytes | None:
        del frame
        await asyncio.Event().wait()
        return None

    async with running(StandInBroker(never), limits=GatewayLimits(drain_s=600)) as run:
        client = await run.connect()
        client.send(request(FORWARDED, 1))
        await eventually_async(lambda: run.brokers[0].frames, what="the broker has a frame")
        ending = asyncio.create_task(run.gateway.stop())
        await asyncio.sleep(LOOKED_S)
        assert not ending.done()
        run.clock.ahead = 600
        await ending
        assert await client.rest() == b""
        assert run.told == ["1 connections were cut off with requests in flight"]


async def test_an_old_connection_is_closed_between_two_requests() -> None:
    old = 21

    async def slowly(frame: bytes) -> bytes | None:
        await asyncio.sleep(0.02)
        return echo(frame)

    async with running(StandInBroker(slowly), limits=GatewayLimits(age_s=600)) as run:
        client = await run.connect()
        number = 0
        async with asyncio.timeout(20):
            while True:
                number += 1
                client.send(request(FORWARDED, number), request(FORWARDED, number + 1))
                if number == old:
                    run.clock.ahead = 600
                try:
                    assert int.from_bytes((await client.receive())[:4], "big") == number
                    number += 1
                    assert int.from_bytes((await client.receive())[:4], "big") == number
                except (asyncio.IncompleteReadError, ConnectionResetError):
                    break
        assert number >= old
        answered = run.brokers[0].frames
        assert run.gateway.counts.requests[FORWARDED] == len(answered)
        assert run.refusals == []


async def test_an_idle_connection_is_closed_and_one_that_waits_is_not() -> None:
    broker = LateBroker()
    async with running(broker, limits=GatewayLimits(idle_s=600)) as run:
        idle, waiting = await run.connect(), await run.connect()
        idle.send(request(SILENT, 1))
        waiting.send(request(FORWARDED, 1, b"one"))
        frames = run.brokers[0].frames
        await eventually_async(lambda: len(frames) == 2, what="the broker has both")
        run.clock.ahead = 500
        await asyncio.sleep(LOOKED_S)
        assert len(run.gateway.connections) == 2
        run.clock.ahead = 600
        assert await idle.rest() == b""
        broker.may_answer.set()
        assert await waiting.receive() == b"\0\0\0\1one"
        assert run.gateway.counts.refusals == {"idle": 1}
        assert run.refusals == []


async def test_who_fetches_nothing_is_closed_though_more_is_to_come() -> None:
    """It would hold what it was sent for ever."""
    broker = StandInBroker(lambda frame: frame[4:8] + bytes(8 << 20))
    async with running(broker, limits=GatewayLimits(idle_s=600)) as run:
        client = await run.connect()
        client.writer.transport.pause_reading()
        client.send(request(FORWARDED, 1), request(FORWARDED, 2))
        await run.until_forwarded(2)

        def later() -> int:
            run.clock.ahead += 600  # once more: what is on its way makes it active
            return len(run.gateway.connections)

        await eventually_async(later, lambda left: left == 0, what="the connection is closed")
        assert run.gateway.counts.refusals == {"idle": 1}


async def test_who_does_not_log_in_in_time_is_refused() -> None:
    limits = GatewayLimits(login_s=600)
    async with running(StandInBroker(), sasl=True, limits=limits) as run:
        client = await run.connect()
        run.clock.ahead = 500
        await asyncio.sleep(LOOKED_S)
        assert run.refusals == []
        run.clock.ahead = 600
        assert await client.rest() == b""
        assert run.refusals[0]["sentence"] == "it has not logged in for 600 s"


async def test_one_connection_too_many_is_refused() -> None:
    async with running(StandInBroker(), limits=GatewayLimits(connections=2)) as run:
        clients = [await run.connect() for _ in range(2)]
        for client in clients:
            await client.ask(FORWARDED, 1)
        assert (await run.refused())["reason"] == "connections"
        clients[0].close()
        await run.until_closed(1)
        await (await run.connect()).ask(FORWARDED, 1)


async def test_names_that_are_too_old_take_no_new_connection_and_keep_the_others() -> None:
    async with running(StandInBroker()) as run:
        before = await run.connect()
        await before.ask(FORWARDED, 1)
        run.tables.too_old = "the registry was last read 400 s ago"
        refusal = await run.refused()
        assert (refusal["reason"], refusal["sentence"]) == ("stale", run.tables.too_old)
        await before.ask(FORWARDED, 2)
        run.tables.too_old = None
        await (await run.connect()).ask(FORWARDED, 1)
