"""The time that large requests of some leave to others: they are read and changed in turn."""

import asyncio
import gc

import pytest
from gateway.connections.stand_ins import FORWARDED, StandInBroker, running
from gateway.rewriting.frames import Rewriter, api_of, table_of

from kgitops.gateway.connections.long_frames import LongFrames
from kgitops.gateway.rewriting.exchange import Forward, read_header
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.limits import SCRATCH_BYTES, TURN_BYTES
from kgitops.wire import messages
from kgitops.wire.frames import request_frame

MIB = 1024 * 1024
CLIENTS = 20


async def test_large_frames_are_read_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn of the event loop is spent with the frames of one, or of many."""
    pieces, turns = [0], [0]
    updated = FramedSocket.buffer_updated

    def update(self: FramedSocket, nbytes: int) -> None:
        pieces.append(nbytes)
        turns[-1] += nbytes
        updated(self, nbytes)

    async def count_turns() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    async with running(StandInBroker(lambda frame: frame[4:8])) as run:
        clients = [await run.connect() for _ in range(CLIENTS)]
        for client in clients:
            await client.ask(FORWARDED, 1)
        counting = asyncio.create_task(count_turns())
        monkeypatch.setattr(FramedSocket, "buffer_updated", update)
        body = bytes(4 * MIB)
        answers = await asyncio.gather(
            *(client.ask(FORWARDED, number, body) for number, client in enumerate(clients))
        )
        counting.cancel()
        assert answers == [number.to_bytes(4, "big") for number in range(CLIENTS)]
    assert max(pieces) <= SCRATCH_BYTES
    # Each connection is read once before it has to wait for its turn.
    crowded = [size for size in turns if size > TURN_BYTES + 2 * SCRATCH_BYTES]
    assert sum(crowded) <= 2 * CLIENTS * SCRATCH_BYTES
    assert sum(turns) > CLIENTS * 4 * MIB


async def test_no_garbage_is_looked_for_in_the_middle_of_a_long_frame() -> None:
    """It would stop all threads to look at each of the frame's values."""
    kind = messages.ConsumerGroupHeartbeatRequest
    owned = [kind.TopicPartitions(topic_id=bytes(16), partitions=[1]) for _ in range(20_000)]
    message = kind(group_id="g", member_id="m", topic_partitions=owned)
    frame = bytearray(request_frame(api_of(message), 1, 7, "c", message)[4:])
    client = Rewriter(table_of())
    del message, owned
    inside = False
    collections: list[int] = []

    def collecting(phase: str, info: dict[str, int]) -> None:
        if inside and phase == "start":
            collections.append(info["generation"])

    def work() -> object:
        nonlocal inside
        inside = True
        try:
            return rewrite_request(frame, read_header(frame), client.table, client.connection)
        finally:
            inside = False

    done = asyncio.Event()
    results: list[object] = []
    gc.callbacks.append(collecting)
    try:
        LongFrames().run("a", work, lambda future: (results.append(future.result()), done.set()))
        async with asyncio.timeout(60):
            await done.wait()
    finally:
        gc.callbacks.remove(collecting)
    assert isinstance(results[0], Forward)
    assert collections == []
    assert gc.isenabled()
