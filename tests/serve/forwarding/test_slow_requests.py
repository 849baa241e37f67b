"""Requests that take long at the controller, and other clients' through the same broker.

A broker has one connection to the controller for all of them.
"""

import select
import threading

import pytest
from cluster.policing import Recorder, policed
from patience import eventually
from serve.raw_client import RawClient
from serve.served import ServedCluster, served
from serve.topic_requests import created, creating, new_topic

from kgitops.model.errors import LockedError
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.table import ANSWERS, ApiAnswer, Thread
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.frames import request_frame
from kgitops.wire.messages import Message


def is_waiting(client: RawClient) -> bool:
    """Tell if no answer has come yet."""
    return not select.select([client.socket], [], [], 0)[0]


def begin_slow(brokers: ServedCluster, client: RawClient) -> None:
    """Ask for a topic that gets no leaders, and go on once it is there."""
    brokers.embedded.faults.leaderless_topics = frozenset({"slow"})
    client.send("CreateTopics", 7, creating("slow"))
    until_there(brokers, "slow")


def until_there(brokers: ServedCluster, topic: str) -> None:
    eventually(brokers.topics, lambda names: topic in names, what=f"{topic} is there")


def slow_code(brokers: ServedCluster, client: RawClient) -> int:
    """The result of the slow request, which was not answered before and can be now."""
    assert is_waiting(client)
    brokers.embedded.release()
    (row,) = client.receive("CreateTopics", 7).topics
    return row.error_code


def test_a_request_that_waits_holds_no_other_client_up() -> None:
    """F590-14, A4-41: the answer to the later request comes first, over the same connection."""
    with served() as brokers, brokers.client(1) as waiting, brokers.client(1) as other:
        begin_slow(brokers, waiting)
        assert created(other, "quick") == {"quick": 0}
        assert brokers.redirected() == 2
        assert slow_code(brokers, waiting) == 0


def test_a_policy_that_takes_its_time_holds_no_other_client_up() -> None:
    """F590-26: what only reads is answered meanwhile; what is decided waits for its turn."""
    asked, may_go_on = threading.Event(), threading.Event()

    def say(_: object, __: object) -> None:
        asked.set()
        assert may_go_on.wait(60)

    with (
        served(policed(Recorder(says=say))) as brokers,
        brokers.client(1) as judged,
        brokers.client(1) as other,
    ):
        try:
            judged.send("CreateTopics", 7, creating("orders"))
            assert asked.wait(60)
            assert other.ask("ListPartitionReassignments", 0).error_code == 0
            assert brokers.redirected() == 2
            assert is_waiting(judged)
        finally:
            may_go_on.set()
        assert judged.receive("CreateTopics", 7).topics[0].error_code == 0


def test_a_client_is_asked_for_one_after_the_other() -> None:
    """F590-23: its next request is sent to the controller after the answer to the one before."""
    with served() as brokers, brokers.client(1) as client, brokers.client(1) as other:
        brokers.embedded.faults.leaderless_topics = frozenset({"slow"})
        client.socket.sendall(
            # In one piece, so that the broker has both when it sends the first.
            b"".join(
                request_frame(apis()[keys()["CreateTopics"]], 7, number, "one", creating(name))
                for number, name in enumerate(("slow", "next"))
            )
        )
        until_there(brokers, "slow")
        assert created(other, "quick") == {"quick": 0}
        assert brokers.redirected() == 2
        assert brokers.topics() == ["quick", "slow"]
        brokers.embedded.release()
        assert [client.receive_frame()[:4] for _ in range(2)] == [bytes(4), b"\0\0\0\1"]
        assert brokers.topics() == ["next", "quick", "slow"]


def test_what_a_controller_has_decided_it_answers_after_it_moved() -> None:
    """F590-20, F590-21: another client's 41 has nothing asked twice, which would be refused."""
    with (
        served(controllers=2) as brokers,
        brokers.client(1) as waiting,
        brokers.client(1) as other,
    ):
        begin_slow(brokers, waiting)
        brokers.done("move-controller", controller=3001)
        assert created(other, "quick") == {"quick": 0}
        assert brokers.redirected() == 3
        assert slow_code(brokers, waiting) == 0
        assert brokers.redirected() == 3


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LockedError("another process holds the store"), ErrorCode.REQUEST_TIMED_OUT),
        (ZeroDivisionError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_request_that_fails_costs_no_other_client(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: ErrorCode
) -> None:
    """F590-24: the connection to the controller stays, and nothing is asked twice."""

    def fail(_: ApiCall, __: Message) -> Message:
        raise error

    failing = ApiAnswer(fail, Thread.READ_IF_LARGE)
    with served() as brokers, brokers.client(1) as waiting, brokers.client(1) as other:
        begin_slow(brokers, waiting)
        monkeypatch.setitem(ANSWERS, "ElectLeaders", failing)  # type: ignore[arg-type]
        assert other.ask("ElectLeaders", 2, messages.ElectLeadersRequest()).error_code == code
        assert created(other, "quick") == {"quick": 0}
        assert slow_code(brokers, waiting) == 0
        assert brokers.redirected() == 3


def test_more_may_wait_than_are_asked_for_at_a_time() -> None:
    """F590-14: those beyond the connection's limit take their turn, and none is lost."""
    names = [f"slow-{number}" for number in range(80)]
    with served() as brokers, brokers.client(1) as first:
        brokers.embedded.faults.leaderless_topics = frozenset(names)
        clients = [RawClient(brokers.endpoint(1)) for _ in names]
        try:
            for client, name in zip(clients, names, strict=True):
                request = messages.CreateTopicsRequest([new_topic(name)], timeout_ms=60_000)
                client.send("CreateTopics", 7, request)
            eventually(brokers.topics, lambda names: len(names) >= 64, what="64 topics are there")
            brokers.embedded.release()
            for client in clients:
                assert client.receive("CreateTopics", 7).topics[0].error_code == 0
        finally:
            for client in clients:
                client.close()
        assert created(first, "quick") == {"quick": 0}
