"""One project on two clusters: on brokers that know virtual clusters, and on some that know none.

Everything goes through the pipeline of the commands, from documents in a folder to an apply.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from laws.fleet_documents import PASSWORD
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState, GroupOffsets, Validator
from kgitops.model.requests import Request
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Base, Plan, PlanTarget
from kgitops.report.text.plan import render_text
from kgitops.workflow.execution import execute_plan
from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.)")
NOT_FOR_BOTH = ("clients of ", "GROUP_NAME_COLLISION: ")
"""How warnings begin of what is different: the names that clients use, and whose offsets are there
under the physical id of a group that has left, which only brokers of virtual clusters know."""
BROKER_REFUSES = "the broker refuses "
_NO_LIMITS = dict.fromkeys(("Topic", "Acl", "ClientQuota", "VirtualCluster", "User"), 999)


@dataclass(slots=True)
class Twin:
    """One of the two clusters; ``names`` says what its own ids are called in both.

    ``commit`` lets a physical group have read so far.
    """

    cluster: Cluster
    commit: Callable[[str, GroupOffsets], None]
    names: dict[str, str] = field(default_factory=dict)

    @property
    def physical(self) -> Cluster:
        return self.cluster.physical if isinstance(self.cluster, LoweredCluster) else self.cluster

    def reopened(self) -> "Twin":
        """The same cluster as another process sees it, which remembers nothing of it."""
        if not isinstance(self.cluster, LoweredCluster):
            return self
        return Twin(LoweredCluster(self.physical), self.commit, self.names)

    def ask(self, request: Request, *, only_validate: bool = False) -> bool:
        """Whether it does, or would do, what somebody asks for with another tool."""
        (result,) = self.cluster.execute(
            [request], validate_only=only_validate, principal="User:someone"
        )
        return result.ok

    def plan(self, workspace: Workspace) -> SealedPlan:
        """What `kgitops plan` plans."""
        with loaded(workspace) as declared:
            return plan_against(self.cluster, declared, workspace)

    def apply(self, sealed: SealedPlan, workspace: Workspace) -> None:
        """What `kgitops apply PLAN` does, to its end."""
        context = ApplyContext(
            cluster=self.cluster,
            settings=ApplySettings(),
            on_event=lambda _: None,
            interrupted=lambda: None,
        )
        with loaded(workspace) as declared:
            result = execute_plan(sealed, workspace, declared.policies, context)
        assert result.verdict.exit is ExitCode.SUCCESS, result

    def learn(self, turn: int) -> ClusterState:
        """Its state; what it has named by chance is called by the first link that led there."""
        state = self.cluster.read_state()
        links = sorted(
            (vc.name, link.name, link.topic)
            for vc in state.virtual_clusters.values()
            for link in vc.links.values()
        )
        for at, link, topic in links:
            if uuid := _UUID.match(topic):
                self.names.setdefault(uuid[0], f"<uuid of {at} {link} {turn}>")
        for topic in state.topics.values():
            if topic.topic_id and topic.topic_id not in self.names:
                self.names[topic.topic_id] = f"<id of {self.spelt(topic.name)}>"
        return state

    def spelt(self, text: str) -> str:
        """The text with the names that both have."""
        for own in sorted(self.names, key=len, reverse=True):
            text = text.replace(own, self.names[own])
        return text

    def logical(self, plan: Plan) -> str:
        """The plan without what is lowered or physical, as JSON and as text.

        Where a plan stops anyway, what brokers refuse ahead is told in addition, and only brokers
        that know virtual clusters are asked about them.
        """
        own = tuple(it for it in plan.findings if not it.problem.startswith(BROKER_REFUSES))
        logical = replace(
            plan,
            lowering=(),
            findings=own or plan.findings,
            warnings=tuple(it for it in plan.warnings if not it.problem.startswith(NOT_FOR_BOTH)),
            kept=tuple(sorted(plan.kept, key=lambda kept: self.spelt(kept.address))),
            changes=tuple(
                replace(
                    change,
                    requests=tuple(replace(planned, physical=()) for planned in change.requests),
                )
                for change in plan.changes
            ),
        )
        return self.whole(logical)

    def whole(self, plan: Plan) -> str:
        """The plan without whose it is and what is checked ahead, as JSON and as text.

        What is sorted by ids of chance is sorted by what both call them.
        """
        plan = replace(
            plan,
            target=PlanTarget(name="local", backend="either", cluster_id="either"),
            base=Base(digest="either", registry=None),
            lowering=tuple(sorted(plan.lowering, key=lambda line: self.spelt(repr(line)))),
            changes=tuple(
                replace(
                    change,
                    requests=tuple(
                        replace(
                            planned,
                            physical=tuple(sorted(planned.physical, key=self.spelt)),
                            validated=Validator.CLIENT,
                        )
                        for planned in change.requests
                    ),
                )
                for change in plan.changes
            ),
        )
        content = msgspec.json.decode(self.spelt(json.dumps(plan_to_json(plan))))
        # Python's own json takes a fifth of the laws' time to indent.
        lines = msgspec.json.format(msgspec.json.encode(content, order="sorted"), indent=1)
        return f"{lines.decode()}\n{self.spelt(render_text(plan, full=True))}"


@contextmanager
def twins(folder: Path) -> Iterator[tuple[Twin, Twin]]:
    """A native cluster and a lowered one, both empty."""
    with embedded(folder, "1") as native, embedded(folder, "lowered") as lowered:
        yield native, lowered


@contextmanager
def embedded(folder: Path, virtual_clusters: str, brokers: int = 3) -> Iterator[Twin]:
    """An empty embedded cluster; ``virtual_clusters`` is the option of its URL.

    Its users' passwords are in the environment meanwhile.
    """
    url = f"embedded:?virtual.clusters={virtual_clusters}"
    cluster = connect(url, brokers=brokers, base=folder)
    physical = cluster.physical if isinstance(cluster, LoweredCluster) else cluster
    assert isinstance(physical, EmbeddedCluster)
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv(PASSWORD, "a password")
            yield Twin(cluster, physical.commit)
    finally:
        cluster.close()


def workspace_of(folder: Path) -> Workspace:
    """The project in the folder, with no limits on deletions: they have tests of their own."""
    return open_workspace(Selection(paths=(folder,), allow_deletes=_NO_LIMITS))
