"""The time in which a process that stands still could still send a change under a lock it has lost.

It is the time between the last look at the lease and the moment when the kernel has the bytes,
measured at each call that hands bytes over, on a sandbox of one broker that this script starts and
removes. The requests only validate, but are held to a lease as changes are. (-P: the
kafka.py beside this file is not kafka-python.)

    uv run python -P benchmarks/lease_gap.py               # 5,000 requests of one topic each
    uv run python -P benchmarks/lease_gap.py --topics 500
"""

import argparse
import socket
import statistics
import tempfile
import time
from pathlib import Path

from kafka.protocol.admin import CreateTopicsRequest

from kgitops.cluster.kafka.transport import lease
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.sandbox.sandbox import start

LEASE_S = 3600


class Timed:
    """A socket that notes when it was asked and when the kernel had the bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.left: list[int] = []

    def send(self, data: bytes) -> int:
        sent = self._sock.send(data)
        self.left.append(time.perf_counter_ns())
        return sent

    def __getattr__(self, name: str) -> object:
        return getattr(self._sock, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--topics", type=int, default=1, help="in each request")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as home,
        start(Path(home), brokers=1) as sandbox,
    ):
        gaps = sorted(measure(sandbox.servers, given.requests, given.topics))
    shares = {"median": 0.5, "99 %": 0.99, "99.9 %": 0.999}
    for name, share in shares.items():
        print(f"{name:8} {gaps[int(share * len(gaps))] / 1000:8.1f} µs")
    print(f"{'most':8} {gaps[-1] / 1000:8.1f} µs")
    print(f"{'mean':8} {statistics.fmean(gaps) / 1000:8.1f} µs of {len(gaps):,} calls")


def measure(servers: str, requests: int, topics: int) -> list[int]:
    """The gap of each call, in ns."""
    looks: list[int] = []
    real_ticks = lease.ticks
    socks: list[Timed] = []

    def ticks() -> float:
        looks.append(time.perf_counter_ns())
        return real_ticks()

    def timed(self: lease.GuardedSocket, sock: socket.socket) -> None:
        socks.append(Timed(sock))
        real_init(self, socks[-1])

    real_init = lease.GuardedSocket.__init__
    lease.GuardedSocket.__init__ = timed  # type: ignore[method-assign]
    wire = Wire([servers])
    wire.connect()
    lease.ticks = ticks
    gaps: list[int] = []
    topic = CreateTopicsRequest.CreatableTopic
    try:
        for number in range(requests):
            looks.clear()
            for sock in socks:
                sock.left.clear()
            wire.until(real_ticks() + LEASE_S).send(
                CreateTopicsRequest(
                    topics=[
                        topic(
                            name=f"t-{number}-{i}",
                            num_partitions=1,
                            replication_factor=1,
                            assignments=[],
                            configs=[],
                        )
                        for i in range(topics)
                    ],
                    timeout_ms=10_000,
                    validate_only=True,
                )
            )
            moments = [moment for sock in socks for moment in sock.left]
            gaps += [left - max(look for look in looks if look < left) for left in moments]
    finally:
        wire.close()
    return gaps


if __name__ == "__main__":
    main()
