"""What a killed kgitops changed is told as its own doing, and not as somebody else's."""

import json
import signal
from collections.abc import Callable
from contextlib import closing

import pytest
from cli.conftest import Kgitops
from cli.processes import PausedApply
from cli.projects import Document, Project, acl, quota, topic
from cluster_contract.contract import alteration

from kgitops.model.registry import Json
from kgitops.model.requests import AlterStep

BEFORE = topic("orders", replicationFactor=1, configs={"retention.ms": 1000})
CHANGED: dict[str, tuple[Document, str]] = {
    "replicationFactor": (
        topic("orders", replicationFactor=2, configs={"retention.ms": 1000}),
        "replicationFactor",
    ),
    "a config": (
        topic("orders", replicationFactor=1, configs={"retention.ms": 2000}),
        "configs.retention.ms",
    ),
}


def drift(kgitops: Kgitops, *words: object) -> list[Json]:
    return json.loads(kgitops(*words, "--format", "json").out)["drift"]


@pytest.mark.parametrize(("after", "path"), CHANGED.values(), ids=CHANGED)
def test_what_an_unfinished_run_changed_is_its_own_doing(
    project: Project,
    kgitops: Kgitops,
    paused: Callable[..., PausedApply],
    after: Document,
    path: str,
) -> None:
    """Killed before its outcome was written: the journal knows what it had begun."""
    project.write(BEFORE, acl(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(after, acl(), quota())
    # Else the first change is the throttle around the move.
    project.write_file(safety={"replicationThrottle": 0})
    killed = paused("apply", project.folder, "--auto-approve")
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()

    rows = drift(kgitops, "plan", project.folder)
    assert [(row["path"], row["rule"]) for row in rows] == [(path, "unfinished")]
    text = kgitops("plan", project.folder).out
    assert "changed by a run of this project that did not finish" in text
    assert "outside of kgitops" not in text
    rows = drift(kgitops, "drift", project.folder)
    assert [(row["path"], row["rule"]) for row in rows] == [(path, "unfinished")]


def test_what_others_changed_since_is_theirs(
    project: Project, kgitops: Kgitops, paused: Callable[..., PausedApply]
) -> None:
    """Beside it, and over it."""
    project.write(BEFORE, acl(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(CHANGED["a config"][0], acl(), quota())
    killed = paused("apply", project.folder, "--auto-approve")
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()
    with closing(project.connect()) as cluster:
        found = cluster.read_state().topics["orders"]
    project.change_behind(alteration(found, AlterStep.CONFIGS, configs={"retention.ms": "3000"}))
    (row,) = drift(kgitops, "plan", project.folder)
    assert (row["path"], row["found"], row["rule"]) == ("configs.retention.ms", "3000", "restored")
