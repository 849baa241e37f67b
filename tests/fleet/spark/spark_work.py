"""What tests let executors do; these run in Spark's Python workers."""

import os
import signal
import time
from pathlib import Path

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.requests import DeleteTopicRequest
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator

# Only executors are given this variable: who imports this before any work came.
if noted := os.environ.get("NOTE_IMPORT"):
    with Path(noted).open("a") as notes:
        notes.write(f"{os.getpid()}\n")

_called = 0
_judging: PolicyEvaluator | None = None


def echo(spec: str) -> str:
    return f"did {spec}"


def where(spec: str) -> str:
    """Which worker it ran in, and how often that has worked."""
    global _called  # noqa: PLW0603 (what lives as long as a worker)
    _called += 1
    time.sleep(0.1)
    return f"{os.getpid()} {_called}"


def variable(spec: str) -> str:
    return os.environ.get(spec, "")


def die_once(spec: str) -> str:
    """Is killed in the middle of the first attempt. ``spec`` is a file that remembers it."""
    marker = Path(spec)
    if not marker.exists():
        marker.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return f"did {marker.name}"


def die(spec: str) -> str:
    with Path(spec).open("a") as attempts:
        attempts.write("x")
    os.kill(os.getpid(), signal.SIGKILL)
    return spec


def refuse(spec: str) -> str:
    with Path(spec).open("a") as attempts:
        attempts.write("x")
    raise SafetyError(f"{Path(spec).name} is not fit; correct it")


def fail(spec: str) -> str:
    with Path(spec).open("a") as attempts:
        attempts.write("x")
    raise ValueError("this is\nunexpected")


def linger(spec: str) -> str:
    """Works until it is killed. ``spec`` is a file that says who it is."""
    Path(spec).write_text(str(os.getpid()))
    time.sleep(3600)
    return spec


def note_and_wait(spec: str) -> str:
    """Notes who does it, and ends once there is a file ``go`` beside ``spec``."""
    file = Path(spec)
    with file.open("a") as attempts:
        attempts.write(f"{os.getpid()}\n")
    while not file.with_name("go").exists():
        time.sleep(0.05)
    return f"did {file.name}"


def shout(spec: str) -> str:
    print("a policy that prints", flush=True)
    return spec


def judge(spec: str) -> str:
    """Asks a policy that this worker opened once. ``spec`` is where the policy keeps its diary."""
    global _judging  # noqa: PLW0603 (as above)
    if _judging is None:
        policy = PythonPolicy(
            name="diary",
            level=Level.HARD,
            digest="",
            class_="fleet.spark.diary_policy:Diary",
            folder=Path(__file__).parents[2],
            configs={"diary": spec},
        )
        _judging = open_evaluator(Bundle(policies=(policy,)))
        state = ClusterState(cluster_id="test", backend="embedded", brokers=(Broker(id=1),))
        _judging.begin(state, principal="User:kgitops")
    judgement = _judging.judge(DeleteTopicRequest(topic="orders", topic_id="1"))
    return str(judgement.stops)
