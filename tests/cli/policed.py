"""Projects with policies, and judging without a process of its own where that is not the matter."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli.projects import Document, Project, as_yaml, document, topic

from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.policy import evaluator
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules
from kgitops.workflow import policies
from kgitops.workflow.policy_tests import offered, testing

REPLICAS = "requested.replicationFactor >= 3"
TWO, THREE = topic(replicationFactor=2), topic(replicationFactor=3)

SetClock = Callable[[datetime], None]


def policy(
    name: str = "replicas", level: str = "hard", expression: str = REPLICAS, **spec: Json
) -> Document:
    """A document of a policy that wants three replicas, if nothing else is said."""
    validation = {"expression": expression}
    if expression == REPLICAS:
        message = "'replication factor ' + string(requested.replicationFactor)"
        validation |= {"messageExpression": message, "field": "replicationFactor"}
    plain = {"match": {"requests": ["CreateTopic", "AlterTopic"]}, "validations": [validation]}
    return document("Policy", name, **({"level": level} | plain | spec))


def waiver(name: str = "old", **spec: Json) -> Document:
    """A document that waives the policy replicas for the topic orders."""
    plain = {
        "policy": "replicas",
        "address": "topic/orders",
        "owner": "data",
        "reason": "a test topic",
        "ticket": "T-1",
        "expires": "2026-11-21",
    }
    return document("Waiver", name, **(plain | spec))


def write_policies(project: Project, *documents: Document, **spec: Json) -> None:
    """Let the project's policies consist of these documents, in a folder beside its manifests."""
    project.write_file(**({"policies": ["policies"]} | spec))
    folder = project.folder / "policies"
    folder.mkdir(exist_ok=True)
    (folder / "all.yaml").write_text(as_yaml(documents) or "# none")


def write_module(project: Project, name: str, text: str) -> Path:
    """A module of policies in Python in the project's folder."""
    file = project.folder / f"{name}.py"
    project.folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


class InThisProcess(InProcessEvaluator):
    """The same judge without a process of its own; it too loads its policies when it begins."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle: Bundle | None = bundle

    def begin(self, state: ClusterState, *, principal: str) -> None:
        if self._bundle is not None:
            super().__init__(load_rules(self._bundle.policies), self._bundle.waivers)
            self._bundle = None
        super().begin(state, principal=principal)

    def close(self) -> None:
        if self._bundle is None:
            super().close()


@contextmanager
def judging_in_process(folder: Path) -> Iterator[None]:
    """Judge without a process of its own in the block.

    The modules of the policies in ``folder`` are forgotten, and it is on the import path no
    longer, as with a process: processes that later tests start inherit the path.
    """
    path = [*sys.path]
    with pytest.MonkeyPatch.context() as patch:
        for module in (evaluator, policies, offered, testing):
            patch.setattr(module, "open_evaluator", InThisProcess)
        yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


@pytest.fixture
def in_process(tmp_path: Path) -> Iterator[None]:
    """Starting a process for each command of a long table takes long."""
    with judging_in_process(tmp_path):
        yield


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the moment that commands take for now; the waivers above hold until midnight."""

    def set_clock(moment: datetime) -> None:
        monkeypatch.setattr(SystemClock, "now", lambda _: moment)

    set_clock(datetime(2026, 11, 21, 12, tzinfo=UTC))
    return set_clock
