"""A plan: all changes with their reasons, preconditions and exact requests."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from kgitops.desired.claims import ClaimKind
from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.cluster_state import Validator
from kgitops.model.json.codec import WholeNumberText
from kgitops.model.lowered import LoweringLine
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request, with_labels
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.policy.evaluate.bundle import Level, Outcome


class LoadedPolicy(Struct, frozen=True, kw_only=True):
    """A policy that judged the plan, at the level it has on the plan's cluster.

    ``digest`` covers the rule itself; the other fields describe it in reports.
    """

    name: str
    level: Level
    digest: str
    description: str = ""
    remediation: str = ""
    source: Source | None = None


class WaiverUse(Struct, frozen=True, kw_only=True):
    """The waiver that lifted a denial; ``expires`` is its last UTC day, as ``2026-12-31``."""

    name: str
    owner: str
    reason: str
    ticket: str
    expires: str


class PolicyResult(Struct, frozen=True, kw_only=True):
    """A policy's result for a change: one row if it passed, else one for each violation.

    ``request`` is the id of the judged request, ``field`` the part of the object that is wrong and
    ``source`` its place in the manifests; all three are None if the policy passed.
    """

    policy: str
    level: Level
    outcome: Outcome
    message: str = ""
    request: str | None = None
    field: str | None = None
    source: Source | None = None
    fingerprint: str | None = None
    waiver: WaiverUse | None = None

    @property
    def stops(self) -> bool:
        """True if this result forbids applying the plan."""
        return self.outcome is Outcome.DENIED and self.level.denies


def _denial_sentence(
    address: str, place: Source | None, result: PolicyResult, remediation: str = ""
) -> str:
    """Write a denial on one line: the place, the policy, the problem and the next step."""
    why = " ".join(result.message.split())
    denies = f"the {result.level} policy {result.policy} denies {address}"
    if result.fingerprint is None:  # the policy failed, and its message explains it
        sentence = why or f"{denies}; correct the policy"
    else:
        sentence = _joined(f"{denies}: {why}" if why else denies, _next_step(result, remediation))
    return f"{place}: {sentence}" if place else sentence


def _joined(problem: str, advice: str) -> str:
    """Join into one sentence, or two if the policy's message ends with a full stop."""
    if problem.endswith("."):
        return f"{problem} {advice[:1].upper()}{advice[1:]}"
    shouts = advice[1:2].isupper()
    return f"{problem}; {advice if shouts else advice[:1].lower() + advice[1:]}"


def _next_step(result: PolicyResult, remediation: str) -> str:
    step = " ".join(remediation.split()).rstrip(".") or "change the document"
    if result.level is Level.SOFT:
        return f"{step}, or waive it: `kgitops policy explain {result.policy}` shows how"
    return step if remediation else f"{step}, or see `kgitops policy explain {result.policy}`"


NEVER_EMPTY = Meta(extra_json_schema={"minItems": 1})
"""For an array that is left out when it is empty."""


class Action(StrEnum):
    """An action on an object; a topic is never replaced."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    ADOPT = "adopt"
    FORGET = "forget"


class FieldChange(Struct, frozen=True, kw_only=True):
    """One field before and after, as text; None where it is absent.

    ``risk`` tells why a reviewer should care; ``note`` tells where the effective value comes from
    (``cluster default``), or that only the registry changes.
    """

    path: str
    before: str | None
    after: str | None
    risk: Risk | None = field(default=None, name="code")
    note: str | None = None


class Precondition(Struct, frozen=True, kw_only=True):
    """Facts that must still hold: the fields that the change reads or writes, and the owner.

    ``owner`` is the project identity in the registry, None if no project manages the object.
    ``fields`` maps a field's path to its text, None for one that must be absent.
    """

    object: str
    exists: bool
    topic_id: str | None = None
    owner: str | None = None
    fields: Mapping[str, str | None] = field(default_factory=dict)


class PlannedRequest(Struct, frozen=True, kw_only=True):
    """One logical request, the requests it depends on, and the state it expects.

    ``undoes`` names an earlier temporary request, such as a throttle. It is undone after the
    requests that this one depends on, even if they failed, but only if it was sent and nobody has
    changed its result. ``physical`` has a line for each request that stands for it on a Kafka
    without virtual clusters (VC-411).
    """

    id: str
    request: Request
    depends_on: tuple[str, ...] = ()
    undoes: str | None = None
    validated: Validator = Validator.CLIENT
    physical: tuple[str, ...] = ()
    expects: Precondition


class Measured(Struct, frozen=True, kw_only=True):
    """The data of a topic when it was planned, an item a partition, as text; None if unknown."""

    log_start_offsets: tuple[str | None, ...]
    high_watermarks: tuple[str | None, ...]
    size_bytes: tuple[str | None, ...]
    active_groups: tuple[str, ...] | None


class NamedTombstone(Struct, frozen=True, kw_only=True):
    """The Tombstone that removes an object, and its reason."""

    name: str
    reason: str


class Basis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts that a change shows, or its risks rest on, beyond ``before``, requests and records.

    ``affects`` are other links to the topic; ``still_allowed`` the ACLs that a leaving member
    keeps; ``taken_from`` is the name of the project that owns the object now. ``first_acl``: no
    ACL guards the existing resource yet. ``in_part``: the object exists, or parts of it, though
    ``before`` does not show that. ``handed_over``: a TopicLink takes the name of the topic.
    """

    tombstone: NamedTombstone | None = None
    measured: Measured | None = None
    affects: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    still_allowed: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    taken_from: str | None = None
    first_acl: bool = False
    in_part: bool = False
    handed_over: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """The planned change of one object.

    ``risks`` is never empty and its first is the worst. ``owner_before`` and ``owner_after`` are
    the registry's record before and after; None if no project manages the object.
    ``impact`` is the known blast radius: partitions, and as text bytes and records.
    ``derived_from`` are the addresses of the declared objects that cause it, if it is not declared
    itself (VC-407). ``labels`` are those of the document; its requests have the same, for policies.
    ``origins`` are those of the declared values that its document does not hold itself, by path.
    Actions, ``after``, ``fields``, ``risks``, ``because`` and ``impact`` follow from the rest,
    ``basis`` included: planners leave them to ``plan.shown``.
    """

    address: str
    kind: Kind
    actions: tuple[Action, ...] = ()
    risks: tuple[Risk, ...] = ()
    because: str = ""
    source: Source | None
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None = None
    fields: tuple[FieldChange, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    requests: tuple[PlannedRequest, ...] = ()
    owner_before: Owner | None = None
    owner_after: Owner | None = None
    impact: Mapping[str, Json] = field(default_factory=dict)
    policies: tuple[PolicyResult, ...] = ()
    derived_from: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    basis: Basis | None = None

    def with_labels(self, labels: Mapping[str, str]) -> "Change":
        """Return the change with these labels, which its requests get as well where they can."""
        if not labels:
            return self
        requests = tuple(
            replace(planned, request=with_labels(planned.request, labels))
            for planned in self.requests
        )
        return replace(self, labels=labels, requests=requests)

    @property
    def denied(self) -> bool:
        """True if a policy stops this change."""
        return any(result.stops for result in self.policies)

    @property
    def risk(self) -> Risk:
        """The worst of this change's risks, its ``reason.code``."""
        return self.risks[0]

    @property
    def level(self) -> RiskLevel:
        """The level of the worst risk."""
        return self.risk.level


class Drift(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field that someone else changed since the last apply.

    ``rule``: ``restored`` by this plan, ``accepted`` because the manifests now declare the same,
    ``undeclared`` and left alone, or ``missing`` for a whole object that is gone; ``unfinished``
    if a run of this project made it and did not finish; ``stays`` for a change that can't be
    undone. Only in the command drift: ``recreated`` for a topic that was re-created.
    ``by`` (whom) and ``at`` (when) are only known on clusters that record them.
    """

    address: str
    path: str
    last_applied: str | None
    found: str | None
    rule: str
    by: str | None = None
    at: str | None = None


class Kept(Struct, frozen=True, kw_only=True):
    """An object that is left alone, with the rule that is the reason."""

    address: str
    rule: str


class AccessLoss(Struct, frozen=True, kw_only=True):
    """An operation that a principal can no longer do once the plan is applied."""

    principal: str
    operation: str
    resource: str
    requester: bool = False


class LastRun(Struct, frozen=True, kw_only=True):
    """The newest apply of a project: who ran it, and when it began."""

    id: str
    started: str
    holder: str


class Takeover(Struct, frozen=True, kw_only=True):
    """Another project that this plan takes objects from, as the registry knew it.

    ``identity`` is its uid, else its name; ``identities`` are all that the records of its objects
    have. ``objects`` counts what it owns. ``released``: it lets this project take them.
    """

    kind: ClaimKind
    identity: str
    name: str
    identities: tuple[str, ...]
    objects: int
    released: bool
    last_run: LastRun | None

    @property
    def label(self) -> str:
        """``the project 'payments' (6f1c…)``; a project without a uid has its name only."""
        uid = f" ({self.identity})" if self.identity != self.name else ""
        return f"the project {self.name!r}{uid}"


class PlanTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cluster a plan is for.

    ``unpinned`` is the place of its url in a project file that could pin it by its id.
    """

    name: str
    backend: str
    cluster_id: str
    unpinned: Source | None = None


class Desired(Struct, frozen=True, kw_only=True):
    """The project and the declarations that a plan was made from."""

    project: str
    identity: str
    digest: str
    git_sha: str | None = None
    dirty: bool = False


class RegistryEnd(Struct, frozen=True, kw_only=True):
    """The topic of a cluster's registry, and its end."""

    topic_id: str
    offset: WholeNumberText


class Base(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cluster's state that a plan was made from; ``registry`` is None where it has none.

    ``defaults`` are the brokers' defaults of the topic configs that the plan's changes show.
    """

    digest: str
    registry: RegistryEnd | None
    defaults: Annotated[Mapping[str, str], Meta(extra_json_schema={"minProperties": 1})] = {}


class Plan(Struct, frozen=True, kw_only=True):
    """The reviewed document that an apply executes, whole or not at all.

    ``findings`` and ``refusals`` stop it; the verdict combines them with denials by policies.
    ``allow_deletes`` records the requested override of the safety limits,
    ``allow_empty_folders`` the folders below the manifests that were allowed to be empty, and
    ``allow_takeover`` the projects that may be taken over without their release. A plan with
    ``takeovers`` changes the owners of objects, and nothing else.
    """

    target: PlanTarget
    desired: Desired
    base: Base
    principal: str
    policies_loaded: tuple[LoadedPolicy, ...] = ()
    changes: tuple[Change, ...] = ()
    drift: tuple[Drift, ...] = ()
    kept: tuple[Kept, ...] = ()
    access_losses: tuple[AccessLoss, ...] = ()
    warnings: tuple[Finding, ...] = ()
    findings: tuple[Finding, ...] = ()
    refusals: tuple[Reason, ...] = ()
    partial: bool = False
    allow_deletes: Mapping[str, int] = field(default_factory=dict)
    allow_empty_folders: tuple[str, ...] = ()
    allow_takeover: tuple[str, ...] = ()
    takeovers: tuple[Takeover, ...] = ()
    managed_counts: Mapping[str, int] = field(default_factory=dict)
    lowering: tuple[LoweringLine, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict from which the sentence, the exit code and the JSON are derived."""
        reasons = [Reason(exit=ExitCode.ERROR, sentence=str(finding)) for finding in self.findings]
        denied = denials(self.changes, self.policies_loaded)
        return decide([*reasons, *denied, *self.refusals], changes=bool(self.changes))

    @property
    def requests(self) -> tuple[PlannedRequest, ...]:
        """All requests in the order of the changes."""
        return tuple(request for change in self.changes for request in change.requests)

    def count(self, action: Action) -> int:
        """Count the changes that include this action."""
        return sum(action in change.actions for change in self.changes)


def denials(changes: Iterable[Change], policies: Iterable[LoadedPolicy]) -> Iterator[Reason]:
    """Yield a reason for each violation that stops a change."""
    remediations = {policy.name: policy.remediation for policy in policies}
    for change in changes:
        for result in change.policies:
            if result.stops:
                sentence = _denial_sentence(
                    change.address,
                    result.source or change.source,
                    result,
                    remediations.get(result.policy, ""),
                )
                yield Reason(exit=ExitCode.DENIED, sentence=sentence)
