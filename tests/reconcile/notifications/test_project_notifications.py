"""``spec.reconcile.notifications``: what may be written, and the sinks it becomes."""

import threading
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError
from reconcile.notifications.receivers import event

from kgitops.manifests.project_document import EventName, NotificationDocument
from kgitops.model.errors import UsageError
from kgitops.reconcile.events import EventKind
from kgitops.reconcile.notifications.notifying import subscriptions_of
from kgitops.reconcile.notifications.routing import NotificationRouter

STATUS = {
    "name": "commits",
    "githubStatus": {"repository": "org/repo", "token": {"env": "TOKEN"}},
}


def document(written: dict[str, object]) -> NotificationDocument:
    return TypeAdapter(NotificationDocument).validate_python(written)


def test_the_project_file_names_every_kind_of_event():
    assert set(get_args(EventName)) == set(EventKind)


class SlowEnvironment(dict[str, str]):
    """Fault injection: a project whose settings are not checked before ``release`` is set."""

    def __init__(self) -> None:
        self.asked, self.release = threading.Event(), threading.Event()

    def get(self, key, default=None):
        self.asked.set()
        self.release.wait(60)
        return "secret-token"


def test_a_project_whose_settings_take_long_delays_no_other(tmp_path):
    environ = SlowEnvironment()
    router = NotificationRouter(environ, print)
    settings = ("slow", (document(STATUS),), tmp_path)
    slow = threading.Thread(target=router.configure, args=settings)
    other = threading.Thread(target=router.notify, args=(event(),))
    slow.start()
    assert environ.asked.wait(60)
    other.start()
    other.join(20)  # a guard against a hang; notifying takes no time
    delayed = other.is_alive()
    environ.release.set()
    slow.join()
    assert not delayed
    assert [sink.name for sink in router.counts()["slow"]] == ["commits"]
    router.close()


@pytest.mark.parametrize("value", [None, "", "  ", "two\nlines", "ä"])
def test_a_secret_that_is_missing_is_told_by_its_name(tmp_path, value):
    environ = {} if value is None else {"TOKEN": value}
    with pytest.raises(UsageError, match="'commits' needs the environment variable TOKEN"):
        subscriptions_of([document(STATUS)], tmp_path, environ)


@pytest.mark.parametrize(
    "written",
    [
        {"name": "x"},
        {"name": "x", "webhook": {"url": {"env": "A"}}, "githubStatus": STATUS["githubStatus"]},
        {"name": "x", "webhook": {"url": "https://hooks.example.com/secret"}},
        {"name": "x", "webhook": {"url": {"env": "A"}, "headers": {"X-Key": "secret"}}},
        {"name": "x", "webhook": {"url": {"env": "A"}}, "events": ["all"]},
        {"name": "x", "githubStatus": {"repository": "org/repo", "token": "secret"}},
    ],
)
def test_what_must_not_be_written(written):
    with pytest.raises(ValidationError):
        document(written)
