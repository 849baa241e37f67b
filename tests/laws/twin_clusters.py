"""One project on two clusters: on brokers that know virtual clusters, and on some that know none.

Everything goes through the pipeline of the commands, from documents in a folder to an apply.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgitops.apply.settings import ApplySettings
from kgitops.apply.surroundings import Surroundings
from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model.capabilities import Validation
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.model.verdict import ExitCode
from kgitops.plan.plan import Base, Plan, Target
from kgitops.plan.plan_file import SealedPlan
from kgitops.plan.plan_json import plan_to_json
from kgitops.report.render_text import render_text
from kgitops.workflow.execution import execute_plan
from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.selection import Selection, Workspace, open_workspace

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.)")
NOT_FOR_BOTH = ("clients of ", "GROUP_NAME_COLLISION: ")
"""How warnings begin of what is different: the names that clients use, and whose offsets are there
under the physical id of a group that has left, which only brokers of virtual clusters know."""
_NO_LIMITS = {"Topic": 999, "Acl": 999, "ClientQuota": 999, "VirtualCluster": 999}


@dataclass(slots=True)
class Twin:
    """One of the two clusters; ``names`` says what its own ids are called in both."""

    cluster: EmbeddedCluster | LoweredCluster
    names: dict[str, str] = field(default_factory=dict)

    @property
    def physical(self) -> EmbeddedCluster:
        found = self.cluster.physical if isinstance(self.cluster, LoweredCluster) else self.cluster
        assert isinstance(found, EmbeddedCluster)
        return found

    def reopened(self) -> "Twin":
        """The same cluster as another process sees it, which remembers nothing of it."""
        if isinstance(self.cluster, EmbeddedCluster):
            return self
        return Twin(LoweredCluster(self.physical), self.names)

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
        around = Surroundings(
            cluster=self.cluster,
            settings=ApplySettings(),
            on_event=lambda _: None,
            interrupted=lambda: None,
        )
        with loaded(workspace) as declared:
            result = execute_plan(sealed, workspace, declared.policies, around)
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
        """The plan without what is lowered, physical or checked ahead, as JSON and as text."""
        plan = replace(
            plan,
            target=Target(name="local", backend="either", cluster_id="either"),
            base=Base(digest="either"),
            lowering=(),
            warnings=tuple(it for it in plan.warnings if not it.problem.startswith(NOT_FOR_BOTH)),
            kept=tuple(sorted(plan.kept, key=lambda kept: self.spelt(kept.address))),
            changes=tuple(
                replace(
                    change,
                    requests=tuple(
                        replace(planned, physical=(), validated=Validation.CLIENT)
                        for planned in change.requests
                    ),
                )
                for change in plan.changes
            ),
        )
        return self.spelt(
            f"{json.dumps(plan_to_json(plan), indent=1)}\n{render_text(plan, full=True)}"
        )


@contextmanager
def twins(folder: Path) -> Iterator[tuple[Twin, Twin]]:
    """A native cluster and a lowered one, both empty."""
    opened = []
    try:
        for option in ("1", "lowered"):
            cluster = connect(f"embedded:?virtual.clusters={option}", brokers=3, base=folder)
            assert isinstance(cluster, EmbeddedCluster | LoweredCluster)
            opened.append(Twin(cluster))
        yield opened[0], opened[1]
    finally:
        for twin in opened:
            twin.cluster.close()


def workspace_of(folder: Path) -> Workspace:
    """The project in the folder, with no limits on deletions: they have tests of their own."""
    return open_workspace(Selection(paths=(folder,), allow_deletes=_NO_LIMITS))
