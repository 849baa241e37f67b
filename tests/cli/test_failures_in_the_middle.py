"""Where kgitops itself fails in the middle of an apply, the exit code does not say "unchanged"."""

import json
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest
from apply.faults import FaultyCluster
from cli.conftest import Kgitops
from cli.projects import Project, acl, topic

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.model.clock import SystemClock
from kgitops.model.errors import LockedError, UnreachableError
from kgitops.model.requests import CreateAclRequest, Request


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A fake that is there for its fault: a bug shows when an ACL is to be created."""

    def fail(requests: Sequence[Request]) -> None:
        if isinstance(requests[0], CreateAclRequest):
            raise ZeroDivisionError("by design")

    def faulty(url: str, **options: Any) -> Cluster:  # noqa: ANN401 (of connect)
        return FaultyCluster(connect(url, **options), before_send=fail)

    monkeypatch.setattr("kgitops.workflow.project.clusters.connect", faulty)
    return monkeypatch


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_bug_in_the_middle_is_exit_6_and_a_resume_goes_on(
    format_: str, project: Project, broken: pytest.MonkeyPatch, kgitops: Kgitops
) -> None:
    project.write(topic(), acl())
    ran = kgitops("apply", "payments", "--auto-approve", "--format", format_)
    assert ran.code == 6
    assert "kgitops failed where it should not (ZeroDivisionError: by design)" in ran.err
    assert "`kgitops apply --resume -c local payments` looks" in ran.err
    if format_ == "json":
        assert json.loads(ran.out.splitlines()[-1])["verdict"]["exit"] == 6
    broken.undo()
    broken.chdir(project.folder)
    resumed = kgitops("apply", "--resume")
    assert (resumed.code, "Applied: 2 done" in resumed.out) == (0, True)


def test_a_bug_before_the_first_request_is_exit_1(
    project: Project, monkeypatch: pytest.MonkeyPatch, kgitops: Kgitops
) -> None:
    def faulty(url: str, **options: Any) -> Cluster:  # noqa: ANN401 (of connect)
        return FaultyCluster(connect(url, **options), before_append=fail)

    def fail(_: object) -> None:
        raise ZeroDivisionError("by design")

    project.write(topic())
    monkeypatch.setattr("kgitops.workflow.project.clusters.connect", faulty)
    ran = kgitops("apply", "payments", "--auto-approve")
    assert (ran.code, "ZeroDivisionError" in ran.err) == (1, True)
    assert project.records() == []


class _Gone:
    """A fake of a cluster that goes away at a moment of an apply, and of a bug there."""

    def __init__(self, moment: str, error: Exception) -> None:
        self.moment = moment
        self.error = error
        self.intended = False

    def cluster(self, url: str, **options: Any) -> Cluster:  # noqa: ANN401 (of connect)
        real = connect(url, **options)
        faulty = FaultyCluster(real, after_append=self.appended, after_send=self.sent)
        self.faulty = faulty
        return faulty

    def appended(self, records: Sequence[tuple[str, object]]) -> None:
        self.intended = self.intended or any(re.match("run/.*/[0-9]+$", key) for key, _ in records)
        if self.intended and self.moment == "intent":
            self.go()

    def sent(self, _: Sequence[Request]) -> None:
        if self.intended and self.moment == "sent":
            self.go()

    def go(self) -> None:
        """From now on nothing answers."""

        def gone(*_: object) -> None:
            raise self.error

        self.faulty.before_read = self.faulty.before_append = self.faulty.before_send = gone
        self.faulty.real.registry.read = gone  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", ["unreachable", "locked", "bug"])
@pytest.mark.parametrize("moment", ["intent", "sent"])
def test_every_end_of_a_run_that_started_is_its_last_event(
    moment: str, kind: str, project: Project, monkeypatch: pytest.MonkeyPatch, kgitops: Kgitops
) -> None:
    """All brokers stand still, the lease is lost, a bug: after the intent, or after a request."""
    errors = {
        "unreachable": UnreachableError("no broker answers"),
        "locked": LockedError("another took the lock; run `kgitops apply --resume`"),
        "bug": ZeroDivisionError("by design"),
    }
    project.write(topic(), acl())
    fault = _Gone(moment, errors[kind])
    with monkeypatch.context() as patched:
        patched.setattr("kgitops.workflow.project.clusters.connect", fault.cluster)
        # Half a second of retries instead of half a minute.
        patched.setattr(SystemClock, "monotonic", lambda _: 60 * time.monotonic())
        ran = kgitops("apply", "payments", "--auto-approve", "--format", "json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert (kinds[-1], kinds.count("apply_finished"), "stopped" in kinds) == (
        "apply_finished",
        1,
        False,
    )
    last = events[-1]
    assert last["done"] + last["failed"] + last["not_attempted"] == 2
    nothing_sent = {"unreachable": 8, "locked": 7, "bug": 6}
    assert ran.code == last["verdict"]["exit"] == (nothing_sent[kind] if moment == "intent" else 6)
    assert "kgitops apply --resume" in ran.said
    assert ("failed where it should not" in ran.said) == (kind == "bug")
