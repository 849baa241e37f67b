"""Events of a running apply, as frozen values for renderers."""

from enum import StrEnum

from msgspec import Struct

from kgitops.model.verdict import Verdict


class ApplyStarted(Struct, frozen=True, kw_only=True):
    """The lock is held and nothing was sent yet; a resume had ``earlier`` steps done before."""

    run_id: str
    project: str
    planned: int
    earlier: int = 0
    resumed: bool = False


class StepStarted(Struct, frozen=True, kw_only=True):
    """A step's intent is in the journal; its request is sent next, if the lock is still held."""

    step: str
    address: str
    api: str


class StepDone(Struct, frozen=True, kw_only=True):
    """A step's result is visible on the cluster and in the journal."""

    step: str
    address: str
    api: str


class StepFailed(Struct, frozen=True, kw_only=True):
    """A step was refused or its outcome is unknown, as the sentence says."""

    step: str
    address: str
    api: str
    sentence: str


class WaitReason(StrEnum):
    """The reasons for which an apply waits."""

    LOCK = "lock"
    RETRY = "retry"
    VISIBLE = "visible"
    MOVING = "moving"


class Waiting(Struct, frozen=True, kw_only=True):
    """The apply waits: for a dead holder's lock, a retry, visibility, or data to be copied."""

    reason: WaitReason
    sentence: str
    steps: tuple[str, ...] = ()


class Noted(Struct, frozen=True, kw_only=True):
    """A note about a step that is done, for the user's information."""

    step: str
    address: str
    sentence: str


class RegistryUpgraded(Struct, frozen=True, kw_only=True):
    """The registry's schema version has been raised by the first write of this kgitops."""

    before: int
    after: int
    sentence: str


class ApplyFinished(Struct, frozen=True, kw_only=True):
    """The end of the run; ``done + failed + not_attempted`` is the number of planned steps."""

    run_id: str
    done: int
    failed: int
    not_attempted: int
    verdict: Verdict


Event = (
    ApplyStarted
    | StepStarted
    | StepDone
    | StepFailed
    | Waiting
    | Noted
    | RegistryUpgraded
    | ApplyFinished
)
