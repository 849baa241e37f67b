"""No byte of a change leaves once the lease has ended that it was made under."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from unittest.mock import patch

import pytest
from cluster.kafka.fakes import CREATE_TOPICS, METADATA, proxy
from cluster.kafka.many_listeners import ManyListeners, login
from cluster.kafka.transport.test_wire import ask_for, connected, create, exists, some_name
from patience import eventually

from kgitops.cluster.kafka.configs.client_configs import wire_options
from kgitops.cluster.kafka.transport.connection import BrokerConnection
from kgitops.cluster.kafka.transport.lease import GuardedSocket, is_over, ticks
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import KgitopsError, LockedError, UnreachableError

WAYS: dict[str, Callable[[ManyListeners], dict[str, str]]] = {
    "PLAINTEXT": lambda many: {},
    "SSL": lambda many: many.trusting(),
    "SASLSSL": lambda many: login("SCRAM-SHA-256") | many.trusting("SASL_SSL"),
}
LEASE_S = 0.4


@pytest.fixture(params=WAYS)
def wire(many: ManyListeners, request: pytest.FixtureRequest) -> Iterator[Wire]:
    options = wire_options(WAYS[request.param](many))
    with connected(many.server(request.param), options=options) as opened:
        opened.send(ask_for("a"))
        yield opened


@contextmanager
def standing_still(at: type, method: str, *, first: int | None = None) -> Iterator[None]:
    """Each call waits until the lease is over; of bytes, ``first`` ones may go before."""
    real = getattr(at, method)

    def late(self: object, *given: object) -> object:
        if first is not None and given[0]:
            if real(self, given[0][:first]) == first:  # type: ignore[index]
                time.sleep(1.5 * LEASE_S)
            return first
        time.sleep(1.5 * LEASE_S)
        return real(self, *given)

    with patch.object(at, method, late):
        yield


def test_a_change_within_the_lease_is_sent(wire: Wire):
    name = some_name()
    assert wire.until(ticks() + 20).send(create(name)).topics[0].error_code == 0
    eventually(lambda: exists(wire, name), what=f"the broker hears of {name}")


def test_a_change_after_the_lease_is_not_sent(wire: Wire):
    name = some_name()
    with pytest.raises(LockedError) as error:
        wire.until(ticks()).send(create(name))
    assert str(error.value) == (
        "the lock's lease expired before CreateTopics was sent, so nothing was sent; run "
        "`kgitops apply --resume` or make a new plan"
    )
    assert wire.sent["CreateTopics"] == 0
    assert not exists(wire, name)


def test_what_only_reads_or_validates_may_go_on(wire: Wire):
    over = wire.until(ticks() - 1)
    name = some_name()
    assert not exists(over, name)
    only = create(name, validate_only=True)
    assert over.send(only, may_repeat=True).topics[0].error_code == 0


STANDING: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "before the connection's own thread has it": lambda: standing_still(BrokerConnection, "post"),
    "between the last look and the socket": lambda: standing_still(GuardedSocket, "send"),
    "after its first bytes": lambda: standing_still(GuardedSocket, "send", first=9),
}


@pytest.mark.parametrize("place", STANDING)
def test_a_change_that_stood_still_changes_nothing(wire: Wire, place: str):
    name = some_name()
    with STANDING[place](), pytest.raises((LockedError, UnreachableError)):
        wire.until(ticks() + LEASE_S).send(create(name))
    assert not exists(wire, name)
    assert wire.send(create(name)).topics[0].error_code == 0  # the wire is of use still


@pytest.mark.parametrize("place", ["between the last look and the socket", "after its first bytes"])
def test_without_the_look_at_the_socket_it_would_change_something(
    many: ManyListeners, monkeypatch: pytest.MonkeyPatch, place: str
):
    """The mutant that the test above catches."""
    name = some_name()
    with connected(many.server("PLAINTEXT")) as wire:
        wire.send(ask_for("a"))
        monkeypatch.setattr(GuardedSocket, "guard", lambda *_: None)
        with STANDING[place](), suppress(UnreachableError):
            wire.until(ticks() + LEASE_S).send(create(name))
        eventually(lambda: exists(wire, name), what=f"the broker hears of {name}")


def test_a_change_that_is_tried_elsewhere_is_held_to_the_same_lease(many: ManyListeners):
    """The connection was lost before a byte had left; the next one is there after the lease."""
    name = some_name()
    with proxy(many.server("PLAINTEXT")) as between, closing(Wire([between.server])) as wire:
        wire.connect()
        between.cut_before = {METADATA}
        wire.send(ask_for("a"))
        real = Wire._connect

        def slow(self: Wire, flight: object) -> BrokerConnection:
            time.sleep(LEASE_S)
            return real(self, flight)  # type: ignore[arg-type]

        with patch.object(Wire, "_connect", slow), pytest.raises(LockedError):
            wire.until(ticks() + LEASE_S).send(create(name))
        assert CREATE_TOPICS not in between.seen
        assert not exists(wire, name)


def test_a_change_waits_for_its_answer_no_longer_than_the_lease_lasts(many: ManyListeners):
    server = many.server("PLAINTEXT")
    with (
        proxy(server, hold={CREATE_TOPICS}) as between,
        connected(between.server) as wire,
        pytest.raises(UnreachableError, match="no answer came in time"),
    ):
        wire.until(ticks() + LEASE_S).send(create(some_name()), timeout_ms=60_000)


class Recorder:
    """A fake socket, for fault injection only: it takes a few bytes at a time."""

    def __init__(self) -> None:
        self.taken = b""

    def send(self, data: bytes) -> int:
        self.taken += bytes(data[:3])
        return min(3, len(data))


def test_a_guard_lasts_until_there_is_an_answer():
    sock = GuardedSocket(Recorder())  # type: ignore[arg-type]
    late: Future[None] = Future()
    early: Future[None] = Future()
    sock.guard(ticks() + 60, late)
    sock.guard(ticks() - 1, early)
    with pytest.raises(Exception, match="lease has ended"):
        sock.send(b"abcdef")
    early.set_exception(KgitopsError("given up"))
    assert sock.send(b"abcdef") == 3
    late.set_result(None)
    assert sock.send(b"def") == 3
    assert sock.taken == b"abcdef"
    assert sock._ends == []


def test_the_clock_of_leases_goes_on_while_the_machine_sleeps():
    """On Linux; elsewhere the monotonic clock is what there is."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before = time.clock_gettime(clock)
    now = ticks()
    assert before <= now <= time.clock_gettime(clock)
    assert is_over(now)
    assert not is_over(now + 60)
    assert not is_over(None)
