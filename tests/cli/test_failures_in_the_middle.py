"""Where kgitops itself fails in the middle of an apply, the exit code does not say "unchanged"."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from apply.faults import FaultyCluster
from cli.conftest import Kgitops
from cli.projects import Project, acl, topic

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
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
