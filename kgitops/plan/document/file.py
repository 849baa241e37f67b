"""The plan as a file: sealed with digests, an expiry and a nonce, and read back or refused.

The digests prove that nothing changed since the plan was written, not who wrote it
(``apply --expect-digest`` binds a plan to what was reviewed).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn

from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.layout import json_text
from kgitops.model.json.strict import ShapeError, members, parse_whole_numbers, text
from kgitops.model.registry import Json
from kgitops.plan.document.from_json import plan_from_json
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.to_json import FORMAT_VERSION, KEYS, PLAN_KIND, plan_to_json

_ENVELOPE_KEYS = ("captured_at", "created", "expires", "nonce", "digest")
_NEXT = "make a new plan"
_CLOCKS_DIFFER = timedelta(minutes=5)
"""Tolerance for the clock of the machine that applies, if it is behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPlan:
    """A plan and its envelope: when the cluster was read, when it was made, when it expires.

    ``plan_digest`` covers the plan, ``digest`` the whole file. The ``nonce`` prevents that it is
    applied twice.
    """

    plan: Plan
    plan_digest: str
    captured_at: str
    created: datetime
    expires: datetime
    nonce: str
    digest: str


def seal(
    plan: Plan, *, captured_at: str, created: datetime, expires: datetime, nonce: str
) -> SealedPlan:
    """Seal the plan with its digests. Times are truncated to seconds."""
    created_text, expires_text = clock.to_text(created), clock.to_text(expires)
    parts = _canonical_parts(plan_to_json(plan))
    plan_digest = _digest(parts)
    envelope = _envelope(captured_at, created_text, expires_text, nonce)
    return SealedPlan(
        plan=plan,
        plan_digest=plan_digest,
        captured_at=captured_at,
        created=clock.from_text(created_text),
        expires=clock.from_text(expires_text),
        nonce=nonce,
        digest=_file_digest(parts, plan_digest, envelope),
    )


def sealed_to_json(sealed: SealedPlan) -> dict[str, Json]:
    """Return the whole file as JSON: the plan, its digest, the envelope."""
    envelope = _envelope(
        sealed.captured_at,
        clock.to_text(sealed.created),
        clock.to_text(sealed.expires),
        sealed.nonce,
    )
    return {
        **plan_to_json(sealed.plan),
        "plan_digest": sealed.plan_digest,
        "envelope": {**envelope, "digest": sealed.digest},
    }


def plan_digest(plan: Plan) -> str:
    """Return the digest of everything but the envelope."""
    return _digest(_canonical_parts(plan_to_json(plan)))


def to_text(sealed: SealedPlan) -> str:
    """Return the file's text: indented, in the contract's order, the same for the same plan."""
    return json_text(sealed_to_json(sealed))


def read_plan(content: str, file: str) -> SealedPlan:
    """Read the sealed plan in ``content``; ``check_usable`` tells if it is still usable now.

    Raises:
        UntrustedPlanError: it is not a plan, is of an unknown version, or was changed.
    """
    document = _parse(content, file)
    _check_kind(document, file)
    try:
        given = members(document, "the file", (*KEYS, "plan_digest", "envelope"))
        envelope = members(given["envelope"], "envelope", _ENVELOPE_KEYS)
        sealed_parts = {key: text(envelope[key], f"envelope.{key}") for key in _ENVELOPE_KEYS}
        digest = text(given["plan_digest"], "plan_digest")
    except ShapeError as error:
        _refuse(file, f"is not a whole plan: {error}")
    body = {key: given[key] for key in KEYS}
    _check_digests(body, digest, sealed_parts, file)
    if json_text(document) != content:
        _refuse(file, "was reformatted since it was written", "use the file as kgitops wrote it")
    plan = _read_body(body, file)
    try:
        created, expires = (clock.from_text(sealed_parts[key]) for key in ("created", "expires"))
    except ValueError:
        _refuse(file, "says when it was made or expires in a form that is not a time")
    return SealedPlan(
        plan=plan,
        plan_digest=digest,
        captured_at=sealed_parts["captured_at"],
        created=created,
        expires=expires,
        nonce=sealed_parts["nonce"],
        digest=sealed_parts["digest"],
    )


def check_usable(sealed: SealedPlan, *, now: datetime) -> None:
    """Refuse a plan that has expired, or that was made in the future.

    Raises:
        UntrustedPlanError: the plan has expired, or its creation is yet to come.
    """
    if sealed.created > now + _CLOCKS_DIFFER:
        raise UntrustedPlanError(
            f"the plan says that it was made at {clock.to_text(sealed.created)}, which is in the "
            f"future here; set the clocks of both machines, and {_NEXT}"
        )
    if now >= sealed.expires:
        raise UntrustedPlanError(
            f"the plan expired at {clock.to_text(sealed.expires)}, and it is "
            f"{clock.to_text(now)}; {_NEXT} and have it reviewed"
        )


def _envelope(captured_at: str, created: str, expires: str, nonce: str) -> dict[str, str]:
    return {"captured_at": captured_at, "created": created, "expires": expires, "nonce": nonce}


def _canonical_parts(body: Mapping[str, Json]) -> dict[str, bytes]:
    """Return each member's canonical form, computed once for both digests: a plan may be large."""
    return {key: canonical_json(value) for key, value in body.items()}


def _digest(parts: Mapping[str, bytes]) -> str:
    # The members' names are ASCII, so their order is RFC 8785's.
    joined = b",".join(b'"%s":%s' % (key.encode(), parts[key]) for key in sorted(parts))
    return sha256(b"{%s}" % joined)


def _file_digest(parts: Mapping[str, bytes], digest: str, envelope: Mapping[str, str]) -> str:
    return _digest(
        {**parts, "plan_digest": canonical_json(digest), "envelope": canonical_json(envelope)}
    )


def _parse(content: str, file: str) -> dict[str, Json]:
    try:
        document = parse_whole_numbers(content)
    except (ValueError, RecursionError):
        _refuse(file, "is not JSON, or is cut off")
    if not isinstance(document, dict):
        _refuse(file, "is JSON but not a plan")
    return document


def _check_kind(document: Mapping[str, Json], file: str) -> None:
    if document.get("kind") != PLAN_KIND:
        _refuse(file, f"is not a plan: its kind is not {PLAN_KIND}", "give a file of plan -o")
    version = document.get("format_version")
    if not isinstance(version, str) or version.split(".")[0] != FORMAT_VERSION.split(".")[0]:
        _refuse(
            file,
            f"is of format version {str(version)[:20]!r}, this kgitops reads {FORMAT_VERSION}",
            "use the kgitops that wrote it",
        )


def _check_digests(
    body: Mapping[str, Json], digest: str, envelope: Mapping[str, str], file: str
) -> None:
    try:
        parts = _canonical_parts(body)
        without_digest = {key: value for key, value in envelope.items() if key != "digest"}
        file_digest = _file_digest(parts, digest, without_digest)
    except (ValueError, RecursionError):
        _refuse(file, "holds text that can't be written as UTF-8")
    if _digest(parts) != digest:
        _refuse(file, "was changed: the plan is not the one that its plan_digest names")
    if file_digest != envelope["digest"]:
        _refuse(file, "was changed: the envelope is not the one that was sealed")


def _read_body(body: Mapping[str, Json], file: str) -> Plan:
    try:
        plan = plan_from_json(body)
    except (ValueError, RecursionError) as error:
        _refuse(file, f"is not a plan that this kgitops understands: {error}")
    derived = plan_to_json(plan)
    for key in ("verdict", "summary"):
        if derived[key] != body[key]:
            _refuse(file, f"contradicts itself: its {key} does not follow from its content")
    for key in KEYS:
        if key != "tool" and derived[key] != body[key]:
            _refuse(file, f"contradicts itself: {key} holds what does not follow from the rest")
    return plan


def _refuse(file: str, problem: str, advice: str = _NEXT) -> NoReturn:
    raise UntrustedPlanError(f"{file} {problem}; {advice}")
