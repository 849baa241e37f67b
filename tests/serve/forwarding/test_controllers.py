"""Controllers that move, stop and start while requests are forwarded to them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import eventually
from serve.forwarding.requests import with_an_item
from serve.login.logging_in import SASL
from serve.login.logging_in import served as served_with_logins
from serve.raw_client import raw_client
from serve.served import ServedCluster, served
from serve.topic_requests import created, creating

from kgitops.model.results import ErrorCode
from kgitops.serve.answers.table import ANSWERS, WAITING
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.audit import item_results
from kgitops.wire.apis import apis, keys

ANSWERED = sorted(FORWARDED & {*ANSWERS, *WAITING})


@contextmanager
def later(brokers: ServedCluster, do: str, **fields: object) -> Iterator[None]:
    """Give a command once a broker has tried to forward something."""

    def give() -> None:
        eventually(
            lambda: (
                any(item.queued for item in brokers.server.forwarding_metrics.values())
                or brokers.redirected() != before
            ),
            what="a broker tries to forward something",
        )
        time.sleep(0.03)
        brokers.done(do, **fields)

    before = brokers.redirected()
    thread = threading.Thread(target=give)
    thread.start()
    yield
    thread.join()


def test_another_controller_goes_on_where_one_ended() -> None:
    """F590-03, A4-105: it has all that was acknowledged, and clients see no error."""
    with served(controllers=3) as brokers, brokers.client(1) as client:
        assert created(client, "one") == {"one": 0}
        brokers.done("stop", node=3000)
        assert brokers.done("status")["active_controller"] == 3001
        assert created(client, "two", "one") == {"two": 0, "one": ErrorCode.TOPIC_ALREADY_EXISTS}
        brokers.done("move-controller", controller=3002)
        assert created(client, "three") == {"three": 0}
        assert brokers.topics() == ["one", "three", "two"]


def test_a_moved_controller_is_found() -> None:
    """F590-20, F590-21, F590-11, F590-12: its 41 is for the broker, which tries again."""
    with served(controllers=3) as brokers, brokers.client(1) as client:
        created(client, "one")
        before = brokers.redirected()
        brokers.done("move-controller", controller=3001)
        assert created(client, "two") == {"two": 0}
        assert brokers.redirected() == before + 2


def test_a_request_waits_for_a_controller() -> None:
    """F590-20: none is active for a moment."""
    with served() as brokers, brokers.client(1) as client:
        created(client, "one")
        brokers.done("move-controller")
        with later(brokers, "move-controller", controller=3000):
            assert created(client, "two") == {"two": 0}


def test_a_request_waits_for_a_controller_that_is_down() -> None:
    """F590-20: its listener is closed, and connections to it are refused."""
    with served() as brokers, brokers.client(1) as client:
        created(client, "one")
        brokers.done("stop", node=3000)
        assert brokers.done("status")["active_controller"] is None
        with later(brokers, "start", node=3000):
            assert created(client, "two") == {"two": 0}


def test_a_lost_connection_is_opened_again() -> None:
    """F590-20: as after a 41."""
    with served() as brokers, brokers.client(1) as client:
        created(client, "one")
        brokers.done("drop-connections", node=3000)
        assert created(client, "two") == {"two": 0}


def test_a_controller_that_moves_while_a_request_waits_for_it() -> None:
    """F590-21: what is decided is asked of the controller that is active then."""
    with served(controllers=3) as brokers, brokers.client(1) as client:
        created(client, "one")
        controller = brokers.embedded.controller
        with controller._turn:
            # The decision before this one takes its time.
            first = threading.Thread(target=lambda: created(client, "two"))
            first.start()
            with brokers.client(2) as other:
                other.send("CreateTopics", 7, creating("three"))
                eventually(
                    brokers.redirected, lambda count: count >= 3, what="the requests are forwarded"
                )
                brokers.done("move-controller", controller=3002)
        first.join()
        assert "two" in brokers.topics()


def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    """F590-03: the store is the truth, for the controllers of another process too."""
    store = tmp_path / "store"
    with served(store=store) as brokers, brokers.client(2) as client:
        assert created(client, "orders") == {"orders": 0}
        # As it is at this moment, with the server still running.
        copied = tmp_path / "copied"
        for file in tmp_path.glob("store*"):
            (tmp_path / file.name.replace("store", "copied")).write_bytes(file.read_bytes())
    with served(store=copied) as brokers:
        assert brokers.topics() == ["orders"]


def test_nobody_decides_at_a_controller_without_a_login_that_is_asked_for() -> None:
    """F590-17: with logins and without ACLs, a login is all that gives rights."""
    configs = {**SASL, "authorizer.class.name": ""}
    with served_with_logins(configs) as server:
        endpoint = server.cluster.nodes[3000].endpoint
        with raw_client(endpoint) as client, pytest.raises(ConnectionResetError):
            created(client, "orders")
        assert not server.cluster.view().topics.by_name


@pytest.mark.parametrize("api", ANSWERED)
def test_without_a_controller_each_item_times_out(api: str) -> None:
    """F590-12, F590-20: REQUEST_TIMED_OUT within the request's own time, in every version."""
    with served(timeout_ms=60) as brokers, brokers.client(1) as client:
        brokers.done("move-controller")
        for version in apis()[keys()[api]].readable:
            answer = client.ask(api, version, with_an_item(api, version, timeout_ms=60))
            found = {code for _, code in item_results(answer)}
            assert found - {ErrorCode.NONE} == {ErrorCode.REQUEST_TIMED_OUT}, (version, answer)
