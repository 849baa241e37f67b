"""A client that does not read the gateway's own answers: they do not pile up."""

import asyncio
from collections import deque

from gateway.connections.stand_ins import ANSWERED, FORWARDED, StandInBroker, request, running
from patience import eventually_async


async def test_answers_that_are_not_read_stop_the_requests() -> None:
    """The broker sees none of these requests, so it can't slow the client down."""
    async with running(StandInBroker()) as run:
        client = await run.connect()
        assert await client.ask(FORWARDED, 1) == b"\0\0\0\1"
        client.writer.transport.pause_reading()
        client.writer.transport.set_write_buffer_limits(high=1 << 30)
        count, body = 20_000, bytes(1000)
        client.send(request(ANSWERED, 2, body) * count)
        last: deque[int] = deque(maxlen=20)

        def answered() -> list[int]:
            last.append(run.gateway.counts.answered)
            return [*last]

        await eventually_async(
            answered,
            lambda counts: len(counts) == last.maxlen and len({*counts}) == 1,
            what="no more is answered",
        )
        assert 0 < last[-1] < count
        client.writer.transport.resume_reading()
        async with asyncio.timeout(60):
            await client.reader.readexactly(count * (len(body) + 22))
        assert run.gateway.counts.answered == count
