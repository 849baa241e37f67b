"""A client that does not read the gateway's own answers: they do not pile up."""

import asyncio

from gateway.connections.stand_ins import ANSWERED, FORWARDED, StandInBroker, request, running


def test_answers_that_are_not_read_stop_the_requests() -> None:
    """The broker sees none of these requests, so it can't slow the client down."""

    async def course() -> None:
        async with running(StandInBroker()) as run:
            client = await run.connect()
            assert await client.ask(FORWARDED, 1) == b"\0\0\0\1"
            client.writer.transport.pause_reading()
            client.writer.transport.set_write_buffer_limits(high=1 << 30)
            count = 400_000
            client.send(*(request(ANSWERED, 2) for _ in range(count)))
            before = -1
            while before != run.gateway.counts.answered:
                before = run.gateway.counts.answered
                await asyncio.sleep(0.5)
            assert 0 < before < count
            client.writer.transport.resume_reading()
            async with asyncio.timeout(60):
                await client.reader.readexactly(count * len(b"\0\0\0\x12\0\0\0\2by the gateway"))
            assert run.gateway.counts.answered == count

    asyncio.run(course())
