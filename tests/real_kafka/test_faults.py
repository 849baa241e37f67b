"""Brokers, controllers, clients and connections that die in the middle of an apply, for real.

Three brokers; every fault ends in the desired state after a resume, with nothing done twice and
nothing lost (issue 4). The cluster is wrapped in a fake only to choose the moment of the fault.
"""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from apply.faults import FaultyCluster
from real_kafka.rounds import Rounds

from kgitops.cluster.port import Cluster
from kgitops.model.requests import Request
from kgitops.model.verdict import ExitCode
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka("faults")

TESTS = Path(__file__).parents[1]
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


class Once:
    """Does something the nth time that it is called, and never again."""

    def __init__(self, nth: int, action: Callable[[], None]) -> None:
        self._left = nth
        self._action = action
        self.done = False

    def __call__(self, _: Sequence[Request]) -> None:
        self._left -= 1
        if self._left == 0:
            self.done = True
            self._action()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("victim", ["controller", "another broker"])
def test_a_broker_that_dies_during_an_apply_loses_nothing(
    kafka: Sandbox, kafka_cluster: Cluster, victim: str, moment: str
) -> None:
    """A4-102: no answer is no outcome; the next look tells."""
    assert Rounds(cluster=kafka_cluster).apply(0).verdict.exit is ExitCode.SUCCESS
    kept = Rounds(cluster=kafka_cluster).ids()["orders"]
    controller = _controller(kafka)
    others = (id_ for id_ in kafka.broker_ids if id_ != controller)
    broker = controller if victim == "controller" else next(others)
    fault = Once(2, lambda: kafka.kill(broker))
    faulty = FaultyCluster(
        kafka_cluster,
        before_send=fault if moment == "before" else _nothing,
        after_send=fault if moment == "after" else _nothing,
    )
    result = Rounds(cluster=faulty).apply(1)
    assert fault.done
    assert result.verdict.exit in {ExitCode.SUCCESS, ExitCode.PARTIAL}
    rounds = Rounds(cluster=kafka_cluster)
    rounds.resume()
    rounds.assert_done(1)
    assert rounds.ids()["orders"] == kept
    kafka.start_broker(broker)
    rounds.assert_done(1)


def test_a_connection_cut_while_requests_are_on_their_way_loses_nothing(
    kafka: Sandbox, kafka_cluster: Cluster
) -> None:
    """The brokers stand still, take the request, and can't answer; then they carry it out."""
    assert Rounds(cluster=kafka_cluster).apply(0).verdict.exit is ExitCode.SUCCESS
    ports = {int(server.rpartition(":")[2]) for server in kafka.servers.split(",")}
    pids = [broker.process.pid for broker in kafka._brokers.values() if broker.process]
    cuts = 0

    def cut_soon() -> None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        def cut() -> None:
            nonlocal cuts
            cuts = sum(map(_cut, _connections_to(ports)))
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

        threading.Timer(0.5, cut).start()

    fault = Once(1, cut_soon)
    result = Rounds(cluster=FaultyCluster(kafka_cluster, before_send=fault)).apply(1)
    assert fault.done
    assert cuts > 0
    assert result.verdict.exit in {ExitCode.SUCCESS, ExitCode.PARTIAL}
    rounds = Rounds(cluster=kafka_cluster)
    rounds.resume()
    rounds.assert_done(1)


def test_a_client_killed_at_every_boundary_is_resumed_to_the_same_end(
    kafka: Sandbox, kafka_cluster: Cluster
) -> None:
    """SIGKILL around each wire request and each append to the journal (kill_driver.py)."""
    assert Rounds(cluster=kafka_cluster).apply(0).verdict.exit is ExitCode.SUCCESS
    kept = Rounds(cluster=kafka_cluster).ids()["orders"]
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("kill_driver.py"), kafka.servers],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    boundaries = int(done.stdout.split()[-1])
    assert boundaries > 15
    rounds = Rounds(cluster=kafka_cluster)
    rounds.assert_done(boundaries + 1)
    assert rounds.ids()["orders"] == kept


def _nothing(_: Sequence[Request]) -> None:
    pass


def _controller(kafka: Sandbox) -> int:
    found = re.search(r"LeaderId:\s+(\d+)", kafka.tool(QUORUM, "describe", "--status"))
    assert found
    return int(found[1])


def _connections_to(ports: set[int]) -> Iterator[socket.socket]:
    """This process's own TCP connections to these ports, those of C libraries too."""
    for entry in list(Path("/dev/fd").iterdir()):
        try:
            is_socket = stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode)
        except OSError:  # the one that listed them
            continue
        if not is_socket:
            continue
        with socket.socket(fileno=os.dup(int(entry.name))) as connection:
            try:
                port = connection.getpeername()[1]
            except (OSError, IndexError):
                continue
            if port in ports:
                yield connection


def _cut(connection: socket.socket) -> bool:
    connection.shutdown(socket.SHUT_RDWR)
    return True
