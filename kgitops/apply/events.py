"""What an apply tells while it runs; whoever renders them sees frozen values only."""

from dataclasses import dataclass
from enum import StrEnum

from kgitops.model.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyStarted:
    """The lock is held and nothing was sent yet; ``earlier`` steps were done before a resume."""

    run_id: str
    project: str
    planned: int
    earlier: int = 0
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step's intent is in the journal; its request goes out now, if the lock still holds."""

    step: str
    address: str
    api: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """A step's result is visible on the cluster and in the journal."""

    step: str
    address: str
    api: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed:
    """A step was refused, or nobody knows what became of it; the sentence says which."""

    step: str
    address: str
    api: str
    sentence: str


class WaitReason(StrEnum):
    """Why an apply waits."""

    LOCK = "lock"
    RETRY = "retry"
    VISIBLE = "visible"
    MOVING = "moving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The apply waits and says for what: a dead holder's lock, a retry, visibility, or data."""

    reason: WaitReason
    sentence: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something about a step that is as it should be, and that a person may want to know."""

    step: str
    address: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyFinished:
    """The end: ``done + failed + not_attempted`` is what was planned."""

    run_id: str
    done: int
    failed: int
    not_attempted: int
    verdict: Verdict


Event = ApplyStarted | StepStarted | StepDone | StepFailed | Waiting | Noted | ApplyFinished
