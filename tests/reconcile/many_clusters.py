"""Many embedded clusters and some whose sockets take connections and never answer, in one loop."""

import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cli.projects import as_yaml, topic
from patience import eventually
from reconcile.looping import JumpingClock

from kgitops.model.registry import Json
from kgitops.reconcile.looping.backoff import Pace
from kgitops.reconcile.looping.board import TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.loop import LoopSettings, LoopTarget, ReconcileLoop
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.folder import FolderSource
from kgitops.reconcile.status import TurnResult
from kgitops.workflow.project.selection import Selection


@contextmanager
def silent_servers(count: int) -> Iterator[list[int]]:
    """Ports that take connections and never answer: the system takes them, and nobody else."""
    with ExitStack() as opened:
        servers = [socket.create_server(("127.0.0.1", 0), backlog=1024) for _ in range(count)]
        yield [opened.enter_context(server).getsockname()[1] for server in servers]


def write_project(folder: Path, healthy: int, ports: list[int], **configs: Json) -> list[str]:
    """A project on so many clusters, of which those at the ports come first; all their names.

    Those have these configs.
    """
    clusters: dict[str, Json] = {
        f"silent-{number}": {"url": f"kafka://127.0.0.1:{port}", "configs": configs}
        for number, port in enumerate(ports)
    }
    clusters |= {
        f"good-{number:03}": {"url": f"embedded:{folder}/good-{number:03}.db", "brokers": 3}
        for number in range(healthy)
    }
    project = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "many", "uid": "many-clusters"},
        "spec": {
            "manifests": ["manifests"],
            "reconcile": {"mode": "converge"},
            "clusters": clusters,
        },
    }
    (folder / "manifests").mkdir(parents=True)
    (folder / "kgitops.yaml").write_text(json.dumps(project))
    (folder / "manifests" / "all.yaml").write_text(as_yaml([topic()]))
    return list(clusters)


class WatchedFeed(RevisionFeed):
    """The source of one target, which is in use for as long as a turn of it lasts."""

    def __init__(self, folder: Path, clock: JumpingClock) -> None:
        super().__init__(FolderSource(folder), clock, fresh_s=1e9, in_place=True)
        self.at_once = 0
        self.most = 0

    @contextmanager
    def revision(self) -> Iterator[Revision]:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            with super().revision() as found:
                yield found
        finally:
            self.at_once -= 1


class ManyClusters:
    """A loop over all clusters of a project, by a clock on which intervals pass at once."""

    def __init__(self, folder: Path, names: list[str], **settings: object) -> None:
        self.clock = JumpingClock()
        self.feeds = {name: WatchedFeed(folder, self.clock) for name in names}
        self.ended: Counter[str] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.failed: list[TurnResult] = []
        """Of healthy clusters."""

        def target(name: str) -> LoopTarget:
            def selection(revision: Revision) -> Selection:
                return Selection(paths=(revision.folder,), cluster=name, environ={})

            return LoopTarget(
                key=TargetKey("many", name), feed=self.feeds[name], selection=selection
            )

        self.loop = ReconcileLoop(
            [target(name) for name in names],
            LoopSettings(pace=Pace(interval_s=300, jitter=0), **settings),  # type: ignore[arg-type]
            clock=self.clock,
            on_turn=self._note,
        )

    def take_round(self, rounds: int) -> None:
        """Let turns be taken until every healthy cluster has had so many."""
        healthy = [name for name in self.feeds if name.startswith("good")]

        def step() -> dict[str, int]:
            self.loop.step()
            return {name: self.ended[name] for name in healthy}

        eventually(
            step,
            lambda ended: min(ended.values()) >= rounds,
            what=f"{rounds} turns of each cluster",
        )

    def _note(self, result: TurnResult) -> None:
        self.ended[result.cluster] += 1
        kind, outcome = result.cluster.partition("-")[0], str(result.outcome)
        self.outcomes[(kind, outcome)] += 1
        if (kind, outcome) == ("good", "failed"):
            self.failed.append(result)
