"""The JSON of a plan (contract §6) as classes, and the way from a plan to it and back.

Only what differs from the values in ``plan.py`` has a class here; sources, findings, owners and so
on are their own JSON. Derived values (summary, verdict, ``reason``, ``api``) are written for
readers: kgitops derives them again when it reads a plan, and compares.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct
from msgspec.structs import asdict, replace

from kgitops import __version__
from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.cluster_state import Validator
from kgitops.model.json.canonical import plain_json
from kgitops.model.json.codec import Count, FormatVersion, Moment, decode, from_json, to_json
from kgitops.model.json.objects import like
from kgitops.model.json.requests import request_body, request_from_json
from kgitops.model.json.strict import ShapeError
from kgitops.model.lowered import LoweringLine
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import api_name
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import Reason, Verdict
from kgitops.plan.document.plan import (
    NEVER_EMPTY,
    AccessLoss,
    Action,
    Base,
    Basis,
    Change,
    Desired,
    Drift,
    FieldChange,
    Kept,
    LoadedPolicy,
    Plan,
    PlannedRequest,
    PlanTarget,
    PolicyResult,
    Precondition,
    Takeover,
)
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.policy.evaluate.bundle import Level, Outcome

FORMAT_VERSION = "1.0"
PLAN_KIND: Literal["kgitops.plan"] = "kgitops.plan"

_AtLeastOne = Meta(min_length=1, description="an array of at least one item")
_WITH_ALL_COUNTS = Meta(extra_json_schema={"required": [*Action, "kept", "drift", "denied"]})
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$", description="a SHA-256 digest")]


class ToolDocument(Struct, frozen=True, kw_only=True):
    """``tool``: the kgitops that made the plan."""

    version: str


class ReasonDocument(Struct, frozen=True, kw_only=True):
    """``reason`` of a change: its worst risk."""

    code: Risk
    level: RiskLevel
    because: str


class OwnershipDocument(Struct, frozen=True, kw_only=True):
    """``ownership`` of a change: the registry's record before and after."""

    before: Owner | None
    after: Owner | None


class RequestDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of a change's ``requests``; ``api`` says what ``body`` is."""

    id: str
    api: str
    depends_on: tuple[str, ...]
    undoes: str | None
    body: Json
    physical: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    expects: Precondition
    validated: Validator


class PassedDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of a change's ``policies`` that passed: no more than the contract asks for."""

    policy: str
    level: Level
    outcome: Outcome
    message: str


class ChangeDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of ``changes``."""

    address: str
    kind: Kind
    actions: Annotated[tuple[Action, ...], _AtLeastOne]
    derived_from: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    labels: Annotated[Mapping[str, str], Meta(extra_json_schema={"minProperties": 1})] = {}
    origins: Annotated[Mapping[str, ValueOrigin], Meta(extra_json_schema={"minProperties": 1})] = {}
    reason: ReasonDocument
    risks: Annotated[tuple[Risk, ...], _AtLeastOne]
    source: Source | None
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    fields: tuple[FieldChange, ...]
    impact: Mapping[str, Json]
    basis: Basis | None = None
    ownership: OwnershipDocument
    preconditions: tuple[Precondition, ...]
    requests: tuple[RequestDocument, ...]
    policies: tuple[Json, ...]


class RunToResume(Struct, frozen=True, kw_only=True):
    """A run of the project that had not finished when it was planned; it is no part of the plan.

    ``done`` counts its steps that are done. ``locked_by`` is the holder of the lock, who may still
    be at work on it; ``resume`` is the command that finishes it, for a shell.
    """

    run_id: str
    started: Moment
    holder: str
    done: Count
    locked_by: str | None
    resume: str


class EnvelopeDocument(Struct, frozen=True, kw_only=True):
    """``envelope``, which only a saved plan has; ``digest`` covers all the rest of the file."""

    captured_at: str = ""
    created: Moment = ""
    expires: Moment = ""
    nonce: str = ""
    digest: Digest = ""


class PlanDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole plan, each of its changes already encoded; a file adds digest and envelope."""

    format_version: FormatVersion
    kind: Literal["kgitops.plan"]
    tool: ToolDocument
    target: PlanTarget
    desired: Desired
    base: Base
    principal: str
    policies_loaded: tuple[LoadedPolicy, ...]
    changes: tuple[Raw, ...]
    access_losses: tuple[AccessLoss, ...]
    drift: tuple[Drift, ...]
    kept: tuple[Kept, ...]
    lowering: tuple[LoweringLine, ...]
    warnings: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    refusals: tuple[Reason, ...]
    partial: bool
    allow_deletes: Mapping[str, Count]
    allow_empty_folders: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    allow_takeover: Annotated[tuple[str, ...], NEVER_EMPTY] = ()
    takeovers: Annotated[tuple[Takeover, ...], NEVER_EMPTY] = ()
    managed_counts: Mapping[str, Count]
    summary: Annotated[Mapping[str, Count], _WITH_ALL_COUNTS]
    verdict: Verdict
    plan_digest: Digest = ""
    unfinished_run: RunToResume | None = None
    envelope: EnvelopeDocument | None = None


_BESIDE = ("plan_digest", "unfinished_run", "envelope")
PLAN_KEYS = tuple(key for key in PlanDocument.__struct_fields__ if key not in _BESIDE)
"""The keys of a plan in their order; a file adds digest and envelope."""
OPTIONAL_KEYS = ("allow_empty_folders", "allow_takeover", "takeovers", "unfinished_run")
"""The keys that are left out, of digests too, where they are empty: older plans have none."""


def written_keys(keys: Iterable[str], has_value: Callable[[str], object]) -> tuple[str, ...]:
    """Return the ``keys`` that are written: all but optional ones without a value."""
    return tuple(key for key in keys if key not in OPTIONAL_KEYS or has_value(key))


def plan_document(plan: Plan) -> PlanDocument:
    """Return the document of a plan without its changes, which may be many."""
    return like(
        PlanDocument,
        plan,
        format_version=FORMAT_VERSION,
        kind=PLAN_KIND,
        tool=ToolDocument(version=__version__),
        changes=(),
        summary=summary(plan),
        plan_digest="",
        unfinished_run=None,
        envelope=None,
    )


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """Return the JSON of a plan and its changes, without digests and envelope."""
    changes = tuple(map(change_document, plan.changes))
    written: dict[str, Json] = to_json(replace(plan_document(plan), changes=changes))
    return written


def summary(plan: Plan) -> dict[str, int]:
    """Count the changes, for the summary sentence, the JSON and the comment."""
    return {
        **{str(action): plan.count(action) for action in Action},
        "kept": len(plan.kept),
        "drift": len(plan.drift),
        "denied": sum(change.denied for change in plan.changes),
    }


def read_plan_document(document: PlanDocument, *, exactly: bool = True) -> Plan:
    """Return the plan that the document was written from; ``exactly`` as in ``codec.decode``.

    Raises:
        ShapeError: the body of a request is not one.
    """
    return like(
        Plan,
        document,
        changes=tuple(
            read_change(bytes(change), f"changes[{at}]", exactly=exactly)
            for at, change in enumerate(document.changes)
        ),
    )


def change_document(change: Change) -> ChangeDocument:
    """Return the document of one change.

    Raises:
        ValueError: the change holds what canonical JSON can't carry exactly.
    """
    return like(
        ChangeDocument,
        change,
        reason=ReasonDocument(code=change.risk, level=change.level, because=change.because),
        before=plain_json(change.before),
        after=plain_json(change.after),
        impact=plain_json(change.impact),
        ownership=OwnershipDocument(
            before=_owner_document(change.owner_before), after=_owner_document(change.owner_after)
        ),
        preconditions=tuple(map(_precondition_document, change.preconditions)),
        requests=tuple(map(_request_document, change.requests)),
        policies=tuple(map(_result_document, change.policies)),
    )


def _owner_document(owner: Owner | None) -> Owner | None:
    return owner and replace(owner, last_applied=plain_json(owner.last_applied))


def _precondition_document(precondition: Precondition) -> Precondition:
    return replace(precondition, fields=dict(sorted(precondition.fields.items())))


def _request_document(planned: PlannedRequest) -> RequestDocument:
    return like(
        RequestDocument,
        planned,
        api=api_name(planned.request),
        body=request_body(planned.request),
        expects=_precondition_document(planned.expects),
    )


def _result_document(result: PolicyResult) -> PassedDocument | PolicyResult:
    if result.outcome is not Outcome.PASSED:
        return result
    return _passed(result.policy, result.level, result.message)


@lru_cache(maxsize=1024)
def _passed(policy: str, level: Level, message: str) -> PassedDocument:
    """Nearly all rows are of policies that passed: one object for all changes."""
    return PassedDocument(policy=policy, level=level, outcome=Outcome.PASSED, message=message)


def read_change(encoded: bytes, path: str, *, exactly: bool = True) -> Change:
    """Return the change that was written to this JSON; ``exactly`` as in ``codec.decode``.

    Raises:
        ShapeError: it is of another shape.
    """
    document = decode(ChangeDocument, encoded, path, exactly=exactly)
    change = like(
        Change,
        document,
        because=document.reason.because,
        requests=tuple(
            _read_request(request, f"{path}.requests[{at}]", exactly)
            for at, request in enumerate(document.requests)
        ),
        owner_before=document.ownership.before,
        owner_after=document.ownership.after,
        policies=tuple(
            _read_result(row, f"{path}.policies[{at}]") for at, row in enumerate(document.policies)
        ),
    )
    return change.with_labels(document.labels)


def _read_request(document: RequestDocument, path: str, exactly: bool) -> PlannedRequest:
    try:
        request = request_from_json(document.api, document.body, exactly=exactly)
    except ShapeError as error:
        raise ShapeError(f"{path}.{error}") from None
    return like(PlannedRequest, document, request=request)


def _read_result(row: Json, path: str) -> PolicyResult:
    if not isinstance(row, dict) or row.get("outcome") != Outcome.PASSED:
        return from_json(PolicyResult, row, path)
    passed = from_json(PassedDocument, row, path)
    return PolicyResult(**asdict(passed))
