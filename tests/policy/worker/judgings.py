"""What the tests of the worker share: policies of ``project``, requests, limits that end soon."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.requests import CreateTopicRequest
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Level, PythonPolicy, RequestRulings, Ruling
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator

FOLDER = Path(__file__).parent / "project"
BROKERS = tuple(Broker(id=number) for number in (1, 2, 3))
SHORT = Limits(seconds=1.0, closing_seconds=1.0, memory=256 << 20)
STATE = ClusterState(
    cluster_id="test",
    backend="embedded",
    brokers=BROKERS,
    topics={
        "there": TopicState(
            name="there", topic_id="id", assignment=((1, 2),), configs={"retention.ms": "1000"}
        )
    },
)


def a_policy(
    class_: str,
    *,
    name: str = "",
    level: Level = Level.HARD,
    configs: Mapping[str, str] | None = None,
    folder: Path = FOLDER,
) -> PythonPolicy:
    return PythonPolicy(
        name=name or class_.partition(":")[2],
        level=level,
        digest="",
        class_=class_,
        source=Source("kgitops.yaml", 7, 3),
        folder=folder,
        configs=configs or {},
    )


def a_creation(name: str, partitions: int = 1, **configs: str) -> CreateTopicRequest:
    configs = {key.replace("_", "."): value for key, value in configs.items()}
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=((1, 2),) * partitions,
        configs=configs,
        requested_configs=configs,
        generated_replica_assignments=True,
    )
    return CreateTopicRequest(topic=name, requested_state=state)


@contextmanager
def judging(
    *policies: PythonPolicy, limits: Limits = SHORT, state: ClusterState = STATE
) -> Iterator[WorkerEvaluator]:
    """A worker that has begun, closed at the end."""
    worker = WorkerEvaluator(policies, limits=limits)
    try:
        worker.begin(state, principal="User:alice")
        yield worker
    finally:
        worker.close()


def outcomes(judgements: Sequence[RequestRulings]) -> list[dict[str, str]]:
    """Per request, policy to outcome; a crash is called one."""
    return [{ruling.policy: said(ruling) for ruling in item} for item in judgements]


def is_running(pid: int) -> bool:
    """Return whether the process is there, and no zombie that waits for a reaper."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def started() -> set[int]:
    """The processes that this one started, and those that they did."""
    below = psutil.Process().children(recursive=True)
    return {process.pid for process in below if is_running(process.pid)}


def said(ruling: Ruling) -> str:
    return "crashed" if ruling.crashed else str(ruling.outcome)
