"""A served cluster in a thread of this process, for tests."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.control import ControlSocket
from kgitops.serve.server import KafkaServer, ServeOptions

_TURNS = 10


@contextmanager
def serving(
    cluster: EmbeddedCluster, options: ServeOptions | None = None, *, control: Path | None = None
) -> Iterator[KafkaServer]:
    """Serve the cluster on free ports of loopback while the ``with`` statement lasts.

    ``control`` is the file of a control socket.

    Raises:
        UnreachableError: it can't listen.
    """
    server = KafkaServer(cluster, options or ServeOptions(port=0))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="kgitops serve", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        socket = None if control is None else ControlSocket(server, control)
        try:
            if socket is not None:
                asyncio.run_coroutine_threadsafe(socket.start(), loop).result()
            yield server
        finally:
            if socket is not None:
                asyncio.run_coroutine_threadsafe(socket.stop(), loop).result()
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(_let_connections_end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _let_connections_end() -> None:
    """Give connections that are closing the turns of the loop in which both of their ends learn it.

    One that is not told stays open until it is garbage, with a warning in whatever runs then.
    """
    for _ in range(_TURNS):
        await asyncio.sleep(0)
