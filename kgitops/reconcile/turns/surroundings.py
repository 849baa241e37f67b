"""The surroundings of a turn, and the memory that it hands to the next one."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from msgspec import Struct, field

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.secrets import PasswordSettings
from kgitops.cluster.port import Cluster
from kgitops.model.clock import Clock, SystemClock
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.suspension import SeenSuspension
from kgitops.reconcile.turns.fights import HealHistory
from kgitops.reconcile.turns.identity import KnownCluster
from kgitops.reconcile.turns.shelf import PlanShelf
from kgitops.reconcile.turns.unfinished import SeenClaim
from kgitops.workflow.project.selection import Workspace


class TurnMemory(Struct, frozen=True, kw_only=True):
    """The knowledge that a turn hands to the next one of the same project and cluster.

    ``loaded`` is the newest revision that could be loaded, whatever became of it then. ``history``
    is None until a turn has looked what an earlier process kept. ``suspensions`` held in the last
    turn, and ``lock`` was held in it by somebody else. ``known`` is the cluster of the
    name ``known_as``, as ``history``.
    """

    number: int = 0
    loaded: Revision | None = None
    history: HealHistory | None = None
    pending_changes: str = ""
    pending_since: str = ""
    suspensions: tuple[SeenSuspension, ...] = ()
    lock: SeenClaim | None = None
    known: KnownCluster | None = None
    known_as: str = ""


class TurnContext(Struct, frozen=True, kw_only=True):
    """The surroundings of a turn: where plans wait, the clock, and who may stop it.

    ``interrupted`` returns the number of the signal that asks it to end, or None. ``is_current``
    tells whether the manifests are still those of the revision: a folder may change meanwhile.
    ``is_copy``: the revision's folder is a copy, so its files are named from there. ``alone`` is
    held while the turn is on the cluster of the workspace, which ``on_workspace`` is told of.
    """

    plans: Path | None = None
    clock: Clock = field(default_factory=SystemClock)
    interrupted: Callable[[], int | None] = lambda: None
    is_current: Callable[[Revision], bool] = lambda _: True
    is_copy: bool = False
    on_stage: Callable[[str], None] = lambda _: None
    on_event: Callable[[object], None] = lambda _: None
    on_workspace: Callable[[Workspace], None] = lambda _: None
    alone: Callable[[Workspace], AbstractContextManager[object]] = nullcontext
    parallelism: int = 10
    timeout_ms: int = ApplySettings().timeout_ms

    def shelf(self, project: str, cluster: str) -> PlanShelf | None:
        """The folder of what waits of a project on a cluster; None where nothing is kept."""
        return None if self.plans is None else PlanShelf(self.plans, project, cluster)

    def of_apply(self, workspace: Workspace, cluster: Cluster, *, may_act: bool) -> ApplyContext:
        """The surroundings of an apply in the turn; ``may_act`` lets it run programs."""
        return ApplyContext(
            cluster=cluster,
            cluster_name=workspace.target_name,
            settings=ApplySettings(
                parallelism=self.parallelism,
                timeout_ms=self.timeout_ms,
                lease_ms=2 * self.timeout_ms,
            ),
            clock=self.clock,
            on_event=self.on_event,
            interrupted=self.interrupted,
            passwords=PasswordSettings(base=workspace.base, may_act=may_act),
        )
