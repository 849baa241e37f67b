"""Brokers at addresses that do not work from here: named, and waited for once, all together."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from cluster.kafka.fakes import silent_port
from cluster.kafka.lying_broker import LyingBroker, advertise, advertise_too, lying_broker
from ports import first_port

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model.errors import UnreachableError

_SHORT_MS = 2_000
"""Where a broker is silent, and the test waits for it."""
_LONG_MS = 30_000
"""Where it refuses at once, which a busy machine may say late."""


def places(count: int, port: int) -> list[tuple[int, str, int]]:
    """So many brokers, each at an address of this machine."""
    return [(10 + number, f"127.0.1.{number + 1}", port) for number in range(count)]


@contextmanager
def reading(fake: LyingBroker, setup_ms: int) -> Iterator[KafkaCluster]:
    configs = {"socket.connection.setup.timeout.ms": str(setup_ms)}
    with closing(boot(fake.server, configs)) as cluster:
        yield cluster


def refusal(fake: LyingBroker, setup_ms: int = _LONG_MS) -> str:
    with reading(fake, setup_ms) as cluster, pytest.raises(UnreachableError) as error:
        cluster.read_state()
    return str(error.value)


def test_an_advertised_name_without_an_address_is_named():
    with lying_broker(changes={"Metadata": advertise((1, "kafka-1.invalid", 9092))}) as fake:
        sentence = refusal(fake)
        assert fake.seen.count("Metadata") < 20  # no round after round of reading
    assert sentence.startswith(
        f"{fake.server} answers, but broker 1 advertises kafka-1.invalid:9092: the host "
    )
    assert sentence.endswith(
        "let advertised.listeners of broker 1 name a host that has an address on this machine, or "
        "give kafka-1.invalid one here"
    )


def test_an_advertised_port_that_refuses_is_named():
    port = first_port()
    with lying_broker(changes={"Metadata": advertise((1, "127.0.0.1", port))}) as fake:
        assert refusal(fake) == (
            f"{fake.server} answers, but broker 1 advertises 127.0.0.1:{port}, which can't be "
            "reached: connection refused; check that broker 1 runs, and that the address in its "
            "advertised.listeners can be reached from this machine"
        )


def test_an_advertised_port_that_is_silent_is_named():
    with silent_port() as server:
        host, _, port = server.rpartition(":")
        with lying_broker(changes={"Metadata": advertise((1, host, int(port)))}) as fake:
            assert f"broker 1 advertises {server}, which accepts connections but" in refusal(
                fake, _SHORT_MS
            )


def test_all_of_many_are_counted():
    with lying_broker(changes={"Metadata": advertise(*places(40, first_port()))}) as fake:
        assert refusal(fake).startswith("none of the cluster's 40 brokers can be reached: ")


@pytest.mark.parametrize("silent", [False, True], ids=["refusing", "silent"])
def test_others_are_waited_for_once_and_together(silent: bool, monkeypatch: pytest.MonkeyPatch):
    """A hundred of them: the one that works is read, and each other is dialled a few times."""
    dialled: list[object] = []
    setup_ms = _SHORT_MS if silent else _LONG_MS
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))  # noqa: S104 (of all loopback addresses)
        if silent:
            listening.listen(500)
        port = listening.getsockname()[1]
        changes = {"Metadata": advertise_too(places(100, port))}
        with lying_broker(changes=changes) as fake, reading(fake, setup_ms) as cluster:
            connections = cluster.wire._connections
            open_ = connections._open
            monkeypatch.setattr(
                connections,
                "_open",
                lambda server, deadline: (dialled.append(server), open_(server, deadline))[1],
            )
            begun = time.monotonic()
            assert cluster.read_state().topics == {}
            assert cluster.read_state().topics == {}
            took = time.monotonic() - begun
    assert took < 60, "a hang guard: one after the other they take minutes"
    most = 1 if silent else 12
    assert max(dialled.count(server) for server in set(dialled)) <= most
