"""Turns of a project on its embedded cluster, taken in this process."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cli.projects import UID, Document, Project

from kgitops.model import clock as moments
from kgitops.model.registry import Json
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import Suspension, TurnResult
from kgitops.reconcile.suspension import suspension_record
from kgitops.reconcile.turns.surroundings import TurnContext, TurnMemory
from kgitops.reconcile.turns.turn import take_turn
from kgitops.workflow.project.selection import Selection


class FakeClock:
    """A clock that goes on when it is told to, and when somebody sleeps."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC).replace(microsecond=0)
        self.ticks = 1_000.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.ticks

    def sleep(self, seconds: float) -> None:
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self.ticks += seconds


class Turns:
    """A project, its settings, and the turns that were taken of it so far."""

    def __init__(self, folder: Path, plans: Path | None = None, **reconcile: Json) -> None:
        self.project = Project(folder)
        self.reconcile = {"mode": "converge", **reconcile}
        self.clock = FakeClock()
        self.plans = plans
        self.memory = TurnMemory()
        self.signal: int | None = None
        self.on_event: Callable[[object], None] = lambda _: None
        self.revision = 0

    def declare(self, *documents: Document, **spec: Json) -> "Turns":
        """Let the project consist of these documents, as its next revision."""
        self.project.write(*documents).write_file(reconcile=self.reconcile, **spec)
        self.revision += 1
        return self

    def take(self) -> TurnResult:
        """Take a turn."""
        context = TurnContext(
            plans=self.plans,
            clock=self.clock,
            interrupted=lambda: self.signal,
            on_event=self.on_event,
        )
        selection = Selection(paths=(self.project.folder,), environ={})
        revision = Revision(name=str(self.revision), folder=self.project.folder)
        result, self.memory = take_turn(selection, revision, self.memory, context)
        return result

    def set_behind(self, topic: str, **configs: str | None) -> None:
        """Set configs of a topic as somebody else would; None takes one away."""
        with closing(self.project.connect()) as cluster:
            state = cluster.read_state().topics[topic]
            news = {key.replace("_", "."): value for key, value in configs.items()}
            wanted = {k: v for k, v in {**state.configs, **news}.items() if v is not None}
        self.project.change_behind(
            AlterTopicRequest(
                topic=topic,
                topic_id=state.topic_id,
                step=AlterStep.CONFIGS,
                requested_state=RequestedTopicState(
                    name=topic,
                    topic_id=state.topic_id,
                    assignment=state.assignment,
                    configs=wanted,
                    requested_configs=wanted,
                ),
            )
        )

    def suspend(self, until: datetime) -> None:
        """Suspend the project's reconciliation until then, as another process would."""
        suspension = Suspension(
            by="ops", since="", reason="moving brokers", project=UID, until=moments.to_text(until)
        )
        with closing(self.project.connect()) as cluster:
            cluster.registry.append([suspension_record(suspension)])

    def configs(self, topic: str):
        with closing(self.project.connect()) as cluster:
            return cluster.read_state().topics[topic].configs

    def topics(self) -> set[str]:
        with closing(self.project.connect()) as cluster:
            return set(cluster.read_state().topics)

    def records(self) -> int:
        """How many entries the registry's log has ever had."""
        with closing(self.project.connect()) as cluster:
            entries = cluster.registry.read()
            return entries[-1].offset + 1 if entries else 0
