"""A plan: every change with its reason, its preconditions and the exact requests it takes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgitops.model.cluster_state import Validator
from kgitops.model.lowered import LoweringLine
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.plan.document.policies import LoadedPolicy, PolicyResult, denial_sentence
from kgitops.plan.document.risks import Risk, RiskLevel


class Action(StrEnum):
    """What happens to an object; a topic is never replaced."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    ADOPT = "adopt"
    FORGET = "forget"


class Kind(StrEnum):
    """The kinds of object that can be planned."""

    TOPIC = "Topic"
    ACL = "Acl"
    QUOTA = "ClientQuota"
    BROKER = "Broker"
    VIRTUAL_CLUSTER = "VirtualCluster"
    LINK = "TopicLink"
    BINDING = "VirtualClusterBinding"
    GROUP = "ConsumerGroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field before and after, as text; None where it is absent.

    ``risk`` says why a reviewer should care; ``note`` where the value that will apply comes from
    (``cluster default``), or that only the registry changes.
    """

    path: str
    before: str | None
    after: str | None
    risk: Risk | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """What must still hold: only the fields that the change reads or writes, and the owner.

    ``owner`` is the project identity in the registry, None when nobody manages the object.
    ``fields`` maps a field's path to its text, None for one that must be absent.
    """

    object: str
    exists: bool
    topic_id: str | None = None
    owner: str | None = None
    fields: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """One logical request, what must be done before it, and the state it expects to find.

    ``undoes`` names an earlier request that only helps what it depends on: it is taken back once
    that has ended, also where it failed, and only if it was sent and is still as it was left.
    ``physical`` says what is done for it on a Kafka without virtual clusters, a line each (VC-411).
    """

    id: str
    request: Request
    depends_on: tuple[str, ...] = ()
    undoes: str | None = None
    validated: Validator = Validator.CLIENT
    physical: tuple[str, ...] = ()
    expects: Precondition


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is going to happen to one object.

    ``risks`` is never empty and its first is the worst. ``owner_before`` and ``owner_after`` are
    the registry's record before and after; None where nobody manages the object.
    ``impact`` holds what is known of the blast radius: partitions, and as text bytes and records.
    ``derived_from`` are the addresses of what is declared, where this is not itself (VC-407).
    ``labels`` are those of the document; its requests carry the same, for policies.
    """

    address: str
    kind: Kind
    actions: tuple[Action, ...]
    risks: tuple[Risk, ...]
    because: str
    source: Source | None
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    fields: tuple[FieldChange, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    requests: tuple[PlannedRequest, ...] = ()
    owner_before: Owner | None = None
    owner_after: Owner | None = None
    impact: Mapping[str, Json] = field(default_factory=dict)
    policies: tuple[PolicyResult, ...] = ()
    derived_from: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def denied(self) -> bool:
        """Whether a policy stops this change."""
        return any(result.stops for result in self.policies)

    @property
    def risk(self) -> Risk:
        """The worst of this change's risks: its ``reason.code``."""
        return self.risks[0]

    @property
    def level(self) -> RiskLevel:
        """How bad the worst of it is."""
        return self.risk.level


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A field that someone else changed since the last apply.

    ``rule``: ``restored`` by this plan, ``accepted`` because the manifests now say the same,
    ``undeclared`` and left alone, or ``missing`` for a whole object that is gone; ``unfinished``
    where it was a run of this project that did not come to its end. Of the command
    drift alone: ``recreated`` for a topic made anew, ``stays`` for what can't be undone. ``by``
    whom and when (``at``) is only known on clusters that keep a record of it.
    """

    address: str
    path: str
    last_applied: str | None
    found: str | None
    rule: str
    by: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An object that is left alone, and the rule that says so."""

    address: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLoss:
    """What a principal can no longer do once the plan is applied."""

    principal: str
    operation: str
    resource: str
    requester: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTarget:
    """The cluster a plan is for."""

    name: str
    backend: str
    cluster_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """The declared side a plan was made from."""

    project: str
    identity: str
    digest: str
    git_sha: str | None = None
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The cluster's side a plan was made from; registry fields are None before there is one."""

    digest: str
    registry_topic_id: str | None = None
    registry_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The reviewed document that an apply executes, whole or not at all.

    ``reasons`` are the refusals found while planning; the verdict adds whether there are changes.
    ``allow_deletes`` records the override of the safety limits that was asked for.
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
    managed_counts: Mapping[str, int] = field(default_factory=dict)
    lowering: tuple[LoweringLine, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The sentence, the exit code and the JSON verdict all come from here."""
        reasons = [Reason(exit=ExitCode.ERROR, sentence=str(finding)) for finding in self.findings]
        denied = denials(self.changes, self.policies_loaded)
        return decide([*reasons, *denied, *self.refusals], changes=bool(self.changes))

    @property
    def requests(self) -> tuple[PlannedRequest, ...]:
        """All requests in the order of the changes."""
        return tuple(request for change in self.changes for request in change.requests)

    def count(self, action: Action) -> int:
        """How many changes include this action."""
        return sum(action in change.actions for change in self.changes)


def denials(changes: Iterable[Change], policies: Iterable[LoadedPolicy]) -> Iterator[Reason]:
    """A reason for each violation that stops a change."""
    remediations = {policy.name: policy.remediation for policy in policies}
    for change in changes:
        for result in change.policies:
            if result.stops:
                sentence = denial_sentence(
                    change.address,
                    result.source or change.source,
                    result,
                    remediations.get(result.policy, ""),
                )
                yield Reason(exit=ExitCode.DENIED, sentence=sentence)
