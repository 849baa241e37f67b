"""A served store whose process kills itself at a boundary of a write.

Boundaries are counted in one process: before each statement of SQLite that belongs to a write,
before and after each commit, before and after the store is closed or a new store's file gets its
name, and before and after each answer is handed to the network.
"""

import asyncio
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from serve.served import repeating

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.cluster.embedded.store import store as stores
from kgitops.serve import server as servers
from kgitops.serve.listening.protocol import KafkaProtocol
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.serve.store_lock import served_alone

OPTIONS = Options(authorizer=AuthorizerKind.ACLS, super_users=frozenset({"User:ANONYMOUS"}))
"""Of the served cluster: whoever comes may do all."""
SECONDS = 600
"""A served process ends by itself, whatever becomes of who started it."""
ACKNOWLEDGES_EARLY, WITHOUT_TRANSACTIONS = MUTANTS = ("acknowledges-early", "without-transactions")
"""Stores that break their promise: the first commits when the next transaction begins."""
_SNAPSHOT_CHARS = 3_000


class Boundaries:
    """Counts boundaries, and kills this process at the one of a number; None for at none."""

    def __init__(self, kill_at: int | None, said: int) -> None:
        self._left = kill_at
        self._said = said
        self._turn = threading.Lock()

    def say(self, line: str) -> None:
        """Tell the parent something."""
        os.write(self._said, f"{line}\n".encode())

    def reach(self, where: str) -> None:
        """Reach a boundary, in whatever thread."""
        with self._turn:
            if self._left is None:
                return
            if self._left == 0:
                self.say(f"killed {' '.join(where.split())}")
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1


class _Connection(sqlite3.Connection):
    """A connection to the store, whose writes have boundaries."""

    boundaries: Boundaries
    mutant: str | None = None
    _writing = _owes_commit = False

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            self._writing = True
        if not self._writing and not sql.startswith(("PRAGMA synchronous =", "PRAGMA journal")):
            return self._mutated(sql, *values)
        self.boundaries.reach(f"before {sql}")
        done = self._mutated(sql, *values)
        if sql == "COMMIT":
            self._writing = False
            self.boundaries.reach("after COMMIT")
        return done

    def executemany(self, sql: str, values: Sequence[object]) -> sqlite3.Cursor:
        self.boundaries.reach(f"before {sql}")
        return super().executemany(sql, values)

    def close(self) -> None:
        self.boundaries.reach("before close")
        super().close()
        self.boundaries.reach("after close")

    def _mutated(self, sql: str, *values: object) -> sqlite3.Cursor:
        ends = self._writing and sql == "COMMIT"
        if self.mutant == WITHOUT_TRANSACTIONS and (ends or sql == "BEGIN IMMEDIATE"):
            return self.cursor()
        if self.mutant == ACKNOWLEDGES_EARLY:
            if ends:
                self._owes_commit = True
                return self.cursor()
            if self._owes_commit and sql.startswith("PRAGMA synchronous"):
                return self.cursor()  # not possible before the commit
            if self._owes_commit and sql.startswith("BEGIN"):
                self._owes_commit = False
                super().execute("COMMIT")
        return super().execute(sql, *values)


class _Transport:
    """A transport, with a boundary before and after it takes an answer."""

    def __init__(self, transport: asyncio.BaseTransport, boundaries: Boundaries) -> None:
        self._transport = transport
        self._boundaries = boundaries

    def write(self, data: bytes) -> None:
        self._boundaries.reach("before an answer")
        self._transport.write(data)
        self._boundaries.reach("after an answer")

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)


def serve(store: Path, boundaries: Boundaries, *, first_id: int, mutant: str | None = None) -> None:
    """Serve a store, with an id for each topic that follows from ``first_id``, until SIGTERM.

    Only for a process that does nothing else: what is counted is replaced in the product.
    """
    signal.alarm(SECONDS)
    _Connection.boundaries = boundaries
    sqlite3.connect = partial(sqlite3.connect, factory=_Connection)
    os.link = partial(_link, boundaries, os.link)
    # Snapshots are to be among what a kill interrupts.
    stores._SNAPSHOT_MIN_CHARS, stores._SNAPSHOT_SHARE = _SNAPSHOT_CHARS, 1_000_000

    class Protocol(KafkaProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(_Transport(transport, boundaries))

    servers.KafkaProtocol = Protocol
    with served_alone(store):
        cluster = boot(store, brokers=1, options=OPTIONS, clock_and_ids=repeating(first_id))
        try:
            # The store is opened by then, by what is not mutated.
            _Connection.mutant = mutant
            asyncio.run(_until_told(KafkaServer(cluster, ServeOptions(port=0)), boundaries))
        finally:
            cluster.close()


async def _until_told(server: KafkaServer, boundaries: Boundaries) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await server.start()
    boundaries.say(f"ready {server.endpoints[0].port}")
    await ended.wait()
    await server.stop()


def _link(boundaries: Boundaries, link: Callable[..., None], *paths: Path) -> None:
    boundaries.reach("before link")
    link(*paths)
    boundaries.reach("after link")
