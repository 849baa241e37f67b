"""Sinks that are slow, dead or wrong: nobody waits for them, and nothing of them is shown."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from patience import eventually
from reconcile.notifications.receivers import dripping, event, receiver, silent

from kgitops.reconcile.events import EventKind
from kgitops.reconcile.notifications.delivery import Delivery, Patience, SinkCounts
from kgitops.reconcile.notifications.notifying import Notifications, Subscription
from kgitops.reconcile.notifications.sending import Answer, send
from kgitops.reconcile.notifications.sinks import HttpPost, Webhook
from kgitops.reconcile.notifications.templates import open_template

QUICK = Patience(timeout=2, attempts=3, first_wait=0.01, longest_wait=0.02, waiting=5)


def webhook(url: str, folder) -> Webhook:
    return Webhook("chat", url, open_template("cloudevents", folder), {"X-Token": "secret-token"})


@contextmanager
def notifying(*sinks: Webhook, told: list[str], patience: Patience = QUICK) -> Iterator:
    notifications = Notifications(map(Subscription, sinks), told.append, patience)
    try:
        yield notifications
    finally:
        notifications.close()


def _ended(counts: SinkCounts) -> tuple[int, int]:
    return counts.delivered, counts.dropped


def test_an_event_arrives_with_its_headers(tmp_path):
    told = []
    with receiver() as chat, notifying(webhook(chat.url, tmp_path), told=told) as notifications:
        notifications.notify(event())
        chat.wait_for(1)
        assert json.loads(chat.bodies[0])["data"]["plan_digest"] == event().plan_digest
        assert chat.paths == ["/hooks/secret-path?key=secret-key"]
        assert chat.headers[0]["X-Token"] == "secret-token"
        assert chat.headers[0]["Content-Type"] == "application/cloudevents+json"
    (counts,) = notifications.counts()
    assert (counts.delivered, counts.failed, counts.dropped, told) == (1, 0, 0, [])


def test_what_fails_for_now_is_tried_again(tmp_path):
    with receiver(503, 429) as chat, notifying(webhook(chat.url, tmp_path), told=[]) as all_:
        all_.notify(event())
        chat.wait_for(3)
    assert len(set(chat.bodies)) == 1, "the same id each time, so that receivers can tell"
    assert all_.counts()[0].delivered == 1


def test_what_is_refused_is_not_tried_again(tmp_path):
    told = []
    with receiver(404, 404) as chat, notifying(webhook(chat.url, tmp_path), told=told) as all_:
        all_.notify(event())
        all_.notify(event(plan_digest="sha256:" + "2" * 64))
        chat.wait_for(2)
    assert all_.counts()[0].failed == 2
    assert told == [
        "the notification 'chat' was not delivered: it answered 404; check the receiver and its "
        "variable in the environment"
    ], "once, not for every event"


def test_redirects_are_not_followed(tmp_path):
    with receiver() as other, receiver(307, headers={"Location": other.url}) as chat:
        answer = send(HttpPost(chat.url, {"Authorization": "secret"}, b"{}"), 2)
    assert answer == Answer(
        "it answered 307: redirects are not followed, since they lead elsewhere"
    )
    assert other.bodies == []


@pytest.mark.parametrize("bad", [silent, dripping])
def test_who_never_answers_is_given_up(bad):
    with bad() as url:
        answer = send(HttpPost(url, {}, b"{}"), 0.5)
    assert answer == Answer("it did not answer within 0.5 s", again=True)


def test_a_dead_sink_delays_neither_the_loop_nor_other_sinks(tmp_path):
    told = []
    patient = Patience(timeout=600, waiting=5)
    with silent() as nowhere, receiver() as chat:
        sinks = webhook(nowhere, tmp_path), webhook(chat.url, tmp_path)
        notifications = Notifications(map(Subscription, sinks), told.append, patient)
        notifications.notify(event())
        eventually(
            notifications.counts,
            lambda counts: not any(each.waiting for each in counts),
            what="no notification waits",
        )
        for number in range(19):
            notifications.notify(event(plan_digest=f"sha256:{number}"))
        dead, _ = notifications.counts()
        # One is on its way, five wait, and of the others the oldest were dropped.
        assert (dead.delivered, dead.failed, dead.waiting, dead.dropped) == (0, 0, 5, 14)
        eventually(
            lambda: notifications.counts()[1],
            lambda counts: sum(_ended(counts)) == 20,
            what="20 notifications are delivered or dropped",
        )
        assert notifications.counts()[1].delivered >= 6
        notifications.close()
        assert told == []


def test_the_newest_events_are_kept(tmp_path):
    held, sent = threading.Event(), []

    def slow(post: HttpPost, _timeout: float) -> Answer:
        held.wait()
        sent.append(json.loads(post.body)["data"]["sentence"])
        return Answer()

    delivery = Delivery(webhook("http://x", tmp_path), QUICK, print, slow)
    delivery.put(event(sentence="first"))
    eventually(delivery.counts, lambda counts: not counts.waiting, what="no notification waits")
    for number in range(8):
        delivery.put(event(sentence=str(number)))
    assert delivery.counts().dropped == 3
    held.set()
    delivery.end()
    delivery.join(20)
    assert sent == ["first", "3", "4", "5", "6", "7"]


def test_the_end_delivers_what_waits(tmp_path):
    with receiver() as chat:
        notifications = Notifications([Subscription(webhook(chat.url, tmp_path))], print, QUICK)
        for number in range(3):
            notifications.notify(event(plan_digest=f"sha256:{number}"))
        notifications.close()
        assert len(chat.bodies) == 3
        notifications.notify(event(plan_digest="sha256:late"))
        assert notifications.counts()[0].waiting == 0


def test_a_sink_that_breaks_does_not_end_its_thread(tmp_path):
    told, sent = [], threading.Event()
    answers = iter([RuntimeError("secret"), Answer()])

    def breaking(_post: HttpPost, _timeout: float) -> Answer:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        sent.set()
        return answer

    delivery = Delivery(webhook("http://x", tmp_path), QUICK, told.append, breaking)
    delivery.put(event())
    delivery.put(event())
    assert sent.wait(20)
    delivery.end()
    delivery.join(20)
    assert "it failed: RuntimeError; check" in told[0]
    assert "secret" not in told[0]


def test_only_the_kinds_that_are_asked_for_are_sent(tmp_path):
    with receiver() as chat:
        wanted = Subscription(webhook(chat.url, tmp_path), frozenset({EventKind.FAILED}))
        notifications = Notifications([wanted], print, QUICK)
        notifications.notify(event(EventKind.PENDING))
        notifications.notify(event(EventKind.FAILED))
        notifications.close()
    assert [json.loads(body)["type"] for body in chat.bodies] == ["kgitops.reconcile.failed"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://secret/path", "its address is not https:// or http:// with a host"),
        ("secret", "its address is not https:// or http:// with a host"),
        ("http://127.0.0.1:1/secret", "it can't be reached: Connection refused"),
        ("http://secret.invalid/secret", "it can't be reached: "),
        ("http://127.0.0.1:99999/secret", "its address is not https:// or http:// with a host"),
        ("http://127.0.0.1:1/secret\r\nX: y", "it can't be reached: "),
    ],
)
def test_what_goes_wrong_shows_no_address(url, problem):
    answer = send(HttpPost(url, {}, b"{}"), 5)
    assert answer.problem.startswith(problem)
    assert "secret" not in answer.problem
    assert "secret" not in repr(HttpPost(url, {}, b"secret"))
