"""A plan as steps with their records, batched in an order that respects their dependencies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from kgitops.apply.context import ApplySettings
from kgitops.apply.objects import credentials_name, local_name, same_object, topic_name
from kgitops.model import requests as req
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.resources.virtual_clusters import LocalName, physical_id
from kgitops.model.results import RequestResult
from kgitops.plan.document.plan import Change, Plan, PlannedRequest, Precondition
from kgitops.plan.phases import WireKind, by_wire_kind, wire_kind
from kgitops.plan.takeovers import takes_over
from kgitops.plan.usage import WITHOUT_RECORDS

REGISTRY_API = "Registry"
"""The ``api`` of a batch that changes the registry only."""


class RunStatus(StrEnum):
    """The status of a run; open and failed runs are unfinished."""

    OPEN = "open"
    FAILED = "failed"
    DONE = "done"
    SUPERSEDED = "superseded"


class RecordedOutcome(StrEnum):
    """The outcome of a step; ``open`` means that only its intent is known."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


class StepRecord(Struct, frozen=True, kw_only=True):
    """One step in the journal; ``lookup`` is the finding of a lookup on the cluster, if any."""

    outcome: RecordedOutcome
    reply: RequestResult | None = None
    lookup: str | None = None


class Batch(Struct, frozen=True, kw_only=True):
    """One wire batch: an intent while ``results`` is empty."""

    number: int
    api: str
    requests: tuple[str, ...]
    results: Mapping[str, StepRecord] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``intent`` until every step's outcome is known, then ``done`` or ``failed``."""
        outcomes = {self.outcome(step) for step in self.requests}
        if RecordedOutcome.OPEN in outcomes:
            return "intent"
        return "failed" if RecordedOutcome.FAILED in outcomes else "done"

    def outcome(self, step: str) -> RecordedOutcome:
        known = self.results.get(step)
        return known.outcome if known else RecordedOutcome.OPEN


class RunHeader(Struct, frozen=True, kw_only=True):
    """The record ``run/<id>``."""

    status: RunStatus
    project: str
    plan_digest: str
    nonce: str
    pieces: int
    started: str
    holder: str


class Run(RunHeader, frozen=True, kw_only=True):
    """One apply: its header, and its batches in order."""

    id: str
    batches: tuple[Batch, ...] = ()

    @property
    def unfinished(self) -> bool:
        """True if a resume can continue the run."""
        return self.status in (RunStatus.OPEN, RunStatus.FAILED)

    @property
    def steps(self) -> Mapping[str, StepRecord]:
        """The latest record of every step that was begun."""
        return {
            step: batch.results.get(step, StepRecord(outcome=RecordedOutcome.OPEN))
            for batch in self.batches
            for step in batch.requests
        }

    @property
    def next_number(self) -> int:
        """The number of the next batch."""
        return self.batches[-1].number + 1 if self.batches else 1


class Step(Struct, frozen=True, kw_only=True):
    """One request of a change, or a change that only the registry records (``planned`` None)."""

    id: str
    change: Change
    planned: PlannedRequest | None

    @property
    def address(self) -> str:
        """The object that changes."""
        return self.change.address

    @property
    def request(self) -> req.Request | None:
        """The request; None where only the registry records the change."""
        return self.planned.request if self.planned else None

    @property
    def api(self) -> str:
        """The request's api, or ``REGISTRY_API`` without a request."""
        return req.api_name(self.request) if self.request else REGISTRY_API

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The steps that must be done before."""
        return self.planned.depends_on if self.planned else ()

    @property
    def undoes(self) -> str | None:
        return self.planned.undoes if self.planned else None

    @property
    def expects(self) -> tuple[Precondition, ...]:
        """The preconditions that must hold right before this step."""
        return (self.planned.expects,) if self.planned else self.change.preconditions


def build_steps(plan: Plan) -> Mapping[str, Step]:
    """Build every step by its id, in the plan's order.

    Raises:
        UntrustedPlanError: ids are used twice, unknown, or depend on each other in a circle; or a
            request is for another object than its change or than it expects.
    """
    steps: dict[str, Step] = {}
    for change in plan.changes:
        for step in _steps_of(change):
            if step.id in steps:
                raise UntrustedPlanError(f"the plan has two steps named {step.id}; make a new plan")
            steps[step.id] = step
    for step in steps.values():
        _check_objects(step)
        named = [*step.depends_on, *([step.undoes] if step.undoes else [])]
        unknown = [name for name in named if name not in steps]
        if unknown:
            raise UntrustedPlanError(
                f"the plan's step {step.id} depends on {unknown[0]}, which is not in the plan; "
                "make a new plan"
            )
    _check_no_circle(steps)
    return steps


def batches(steps: Iterable[Step], settings: ApplySettings) -> Iterator[tuple[Step, ...]]:
    """Split the steps into wire batches of one api and kind, with no object twice in a batch.

    Deletions come last, so that new objects exist before old ones go.
    """
    for group in by_wire_kind(steps, _wire_kind):
        yield from _split(group, settings)


def topics_of(steps: Iterable[Step]) -> frozenset[str]:
    """Return the physical topics to read for these steps, without those that links lead to."""
    steps = tuple(steps)
    names = {topic_name(item.object) for step in steps for item in step.expects}
    # A topic of a virtual cluster is changed by its physical name, whatever its link leads to.
    for request in (step.request for step in steps):
        if isinstance(request, req.ExistingTopicRequest):
            names.add(request.topic)
    # A topic that has lost its link is found by its topic id, if it is read at all.
    for change in (step.change for step in steps):
        if change.before is not None and local_name(change.address):
            names.add(change.before.get("name"))
    return frozenset(name for name in names if isinstance(name, str))


def links_of(steps: Iterable[Step]) -> frozenset[LocalName]:
    """Return the links whose topics must be read for these steps."""
    names = {local_name(item.object) for step in steps for item in step.expects}
    return frozenset(name for name in names if name is not None)


def emptied_topics(steps: Iterable[Step]) -> frozenset[str]:
    """Return the physical topics that these steps delete only if they hold no records."""
    return frozenset(
        step.request.topic
        for step in steps
        if isinstance(step.request, req.DeleteTopicRequest)
        and any(WITHOUT_RECORDS.keys() & item.fields.keys() for item in step.expects)
    )


def users_of(steps: Iterable[Step]) -> frozenset[str]:
    """Return the users whose credentials must be read for these steps."""
    names = {credentials_name(item.object) for step in steps for item in step.expects}
    return frozenset(name for name in names if name is not None)


def groups_of(steps: Iterable[Step]) -> frozenset[str]:
    """Return the groups, by physical id, whose offsets must be read for these steps."""
    groups: set[str] = set()
    for request in (step.request for step in steps):
        if isinstance(request, req.GroupRequest):
            groups.add(physical_id(request.virtual_cluster, request.group))
        if isinstance(request, req.CopyGroupOffsetsRequest):
            groups.add(request.source)
    return frozenset(groups)


def _steps_of(change: Change) -> Sequence[Step]:
    if not change.requests:
        return [Step(id=change.address, change=change, planned=None)]
    return [Step(id=planned.id, change=change, planned=planned) for planned in change.requests]


def _check_objects(step: Step) -> None:
    """Check that a step is about the object its change names: a review sees only that name."""
    address = same_object(step.address)
    changed = same_object(req.request_address(step.request)) if step.request else address
    checked = {same_object(precondition.object) for precondition in step.expects}
    # A topic of a virtual cluster is reviewed by its local name, and changed by its own.
    request = step.request
    other = (
        isinstance(request, req.ExistingTopicRequest)
        and request.local is not None
        and any(item.topic_id != request.topic_id for item in step.expects)
    )
    # The record alone changes then, which is compared as a whole (``rights.takeovers``).
    unchecked = address not in checked and not takes_over(step.change)
    if changed != address or unchecked or other:
        raise UntrustedPlanError(
            f"the plan's step {step.id} is about {step.address} but checks or changes something "
            "else; make a new plan"
        )


def _check_no_circle(steps: Mapping[str, Step]) -> None:
    done: set[str] = set()
    left = list(steps.values())
    while left:
        later = [step for step in left if not done.issuperset(step.depends_on)]
        if len(later) == len(left):
            raise UntrustedPlanError(
                f"the plan's step {left[0].id} depends on itself in a circle; make a new plan"
            )
        done |= {step.id for step in left} - {step.id for step in later}
        left = later


def _wire_kind(step: Step) -> WireKind:
    return wire_kind(step.request) if step.request else (step.api,)


def _split(steps: Sequence[Step], settings: ApplySettings) -> Iterator[tuple[Step, ...]]:
    batch: dict[str, Step] = {}
    capacity = settings.batch_records * settings.batch_requests
    size = 0
    for step in steps:
        weight = _weight(step, settings)
        if batch and (size + weight > capacity or step.address in batch):
            yield tuple(batch.values())
            batch, size = {}, 0
        batch[step.address] = step
        size += weight
    if batch:
        yield tuple(batch.values())


def _weight(step: Step, settings: ApplySettings) -> int:
    """Return the step's share of a batch's capacity, which is records times requests.

    A controller refuses too many metadata records at once, and new topics come by the thousand;
    everything else is also limited by the number of requests.
    """
    match step.request:
        case req.CreateTopicRequest(requested_state=state):
            return (2 + state.num_partitions + len(state.configs)) * settings.batch_requests
        case req.AlterTopicRequest(requested_state=state):
            records = state.num_partitions + len(state.requested_configs)
            return max(records * settings.batch_requests, settings.batch_records)
        case _:
            return settings.batch_records
