"""The plan as a file: sealed with digests, an expiry and a nonce, and read back or refused.

The digests prove that nothing changed since the plan was written, not who wrote it
(``apply --expect-digest`` binds a plan to what was reviewed). A plan may be large, so its changes
are written, and compared with what was read, one by one. What is not as kgitops would have written
it is looked at slowly, as JSON of any shape, for the first reason.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NoReturn

from msgspec import Raw, Struct
from msgspec.structs import replace

from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.garbage_collection import without_garbage_collection
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.codec import decode, encode
from kgitops.model.json.layout import json_text, lay_out
from kgitops.model.json.strict import ShapeError, members, parse_whole_numbers, text
from kgitops.model.registry import Json
from kgitops.model.wording import format_version_text
from kgitops.plan.document.documents import (
    FORMAT_VERSION,
    PLAN_KEYS,
    PLAN_KIND,
    ChangeDocument,
    EnvelopeDocument,
    PlanDocument,
    RunToResume,
    change_document,
    plan_document,
    plan_to_json,
    read_plan_document,
    written_keys,
)
from kgitops.plan.document.plan import Change, Plan

_NEXT = "make a new plan"


def refuse(content: str, file: str, *, laid_out: bool = True) -> NoReturn:
    """Say why the text is not a plan that kgitops wrote; ``laid_out`` if it is that of a file.

    Raises:
        UntrustedPlanError: always.
    """
    document = _parse(content, file)
    _check_kind(document, file)
    try:
        written = written_keys(PlanDocument.__struct_fields__, document.__contains__)
        given = members(document, "the file", written)
        keys = EnvelopeDocument.__struct_fields__
        envelope = members(given["envelope"], "envelope", keys)
        sealed = {key: text(envelope[key], f"envelope.{key}") for key in keys}
        digest = text(given["plan_digest"], "plan_digest")
    except ShapeError as error:
        _refuse(file, f"is not a whole plan: {error}")
    body = {key: given[key] for key in PLAN_KEYS if key in given}
    beside = {key: given[key] for key in given if key == "unfinished_run"}
    _check_digests(body, beside, digest, sealed, file)
    if laid_out and json_text(document) != content:
        _refuse(file, "was reformatted since it was written", "use the file as kgitops wrote it")
    try:
        clock.from_text(sealed["created"])
        clock.from_text(sealed["expires"])
    except ValueError:
        _refuse(file, "says when it was made or expires in a form that is not a time")
    _check_body(given, content, file)
    _refuse(file, "was changed since it was written")


def _parse(content: str, file: str) -> dict[str, Json]:
    try:
        document = parse_whole_numbers(content)
    except (ValueError, RecursionError) as error:
        if type(error) is ValueError:
            _refuse(file, f"is not JSON that kgitops wrote: {error}")
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
            f"{format_version_text(version)}, this kgitops reads {FORMAT_VERSION}",
            "use the kgitops that wrote it",
        )


def _check_digests(
    body: Mapping[str, Json],
    beside: Mapping[str, Json],
    digest: str,
    envelope: Mapping[str, str],
    file: str,
) -> None:
    try:
        covered = {key: value for key, value in envelope.items() if key != "digest"}
        plan_digest = sha256(canonical_json(body))
        sealed = {**body, **beside, "plan_digest": digest, "envelope": covered}
        whole = sha256(canonical_json(sealed))
    except (ValueError, RecursionError):
        _refuse(file, "holds text that can't be written as UTF-8")
    if plan_digest != digest:
        _refuse(file, "was changed: the plan is not the one that its plan_digest names")
    if whole != envelope["digest"]:
        _refuse(file, "was changed after it was sealed: its envelope has another digest")


def _check_body(given: Mapping[str, Json], content: str, file: str) -> None:
    try:
        derived = plan_to_json(read_plan_document(decode(PlanDocument, content, "the plan")))
    except (ValueError, RecursionError) as error:
        _refuse(file, f"is not a plan that this kgitops understands: {error}")
    for key in ("verdict", "summary"):
        if derived[key] != given[key]:
            _refuse(file, f"contradicts itself: its {key} does not follow from its content")
    for key in PLAN_KEYS:
        if key != "tool" and derived.get(key) != given.get(key):
            _refuse(file, f"contradicts itself: {key} holds what does not follow from the rest")


def _refuse(file: str, problem: str, advice: str = _NEXT) -> NoReturn:
    raise UntrustedPlanError(f"{file} {problem}; {advice}")


_CHANGES = "changes"


class RunningDigests:
    """Takes each change's canonical JSON in the plan's order; then has the plan's digests."""

    def __init__(self, document: PlanDocument) -> None:
        parts = {
            # The keys are ASCII, so their order is RFC 8785's.
            key: _part(key, getattr(document, key))
            for key in sorted(written_keys(PLAN_KEYS, lambda key: getattr(document, key)))
            if key != _CHANGES
        }
        before = b"".join(b"%s," % parts[key] for key in parts if key < _CHANGES)
        self._hash = hashlib.sha256(b'{%s"changes":[' % before)
        self._rest = {key: part for key, part in parts.items() if key > _CHANGES}
        self._first = True

    def add(self, changes: Iterable[bytes]) -> None:
        """Add the next changes."""
        joined = b",".join(changes)
        if joined:
            self._hash.update(b"" if self._first else b",")
            self._hash.update(joined)
            self._first = False

    def finish(
        self, envelope: EnvelopeDocument, unfinished_run: RunToResume | None = None
    ) -> tuple[str, str]:
        """Return the digest of the plan, and that of the whole file with its envelope."""
        plan_digest = self._digest({})
        covered = {
            "captured_at": envelope.captured_at,
            "created": envelope.created,
            "expires": envelope.expires,
            "nonce": envelope.nonce,
        }
        sealed: dict[str, object] = {"plan_digest": plan_digest, "envelope": covered}
        if unfinished_run is not None:
            sealed["unfinished_run"] = unfinished_run
        return plan_digest, self._digest({key: _part(key, sealed[key]) for key in sealed})

    def _digest(self, more: dict[str, bytes]) -> str:
        rest = self._rest | more
        whole = self._hash.copy()
        whole.update(b"]%s}" % b"".join(b",%s" % rest[key] for key in sorted(rest)))
        return f"sha256:{whole.hexdigest()}"


def _part(key: str, value: object) -> bytes:
    return b'"%s":%s' % (key.encode(), canonical_json(value))


_IsWritten = Callable[[str, PlanDocument, Iterable[ChangeDocument]], bool]
"""True if this text is what is written for a plan and its changes."""
_CLOCKS_DIFFER = timedelta(minutes=5)
"""Tolerance for the clock of the machine that applies, if it is behind."""
_OPENING, _SEPARATOR, _CLOSING = '\n  "changes": [', ",\n    ", "\n  "


class SealedPlan(Struct, frozen=True, kw_only=True):
    """A plan and its envelope: when the cluster was read, when it was made, when it expires.

    ``plan_digest`` covers the plan, ``digest`` the whole file. The ``nonce`` prevents that it is
    applied twice. ``unfinished_run`` stands beside the plan.
    """

    plan: Plan
    plan_digest: str
    captured_at: str
    created: datetime
    expires: datetime
    nonce: str
    digest: str
    unfinished_run: RunToResume | None = None


def seal(
    plan: Plan,
    *,
    captured_at: str,
    created: datetime,
    expires: datetime,
    nonce: str,
    unfinished_run: RunToResume | None = None,
) -> SealedPlan:
    """Seal the plan with its digests. Times are truncated to seconds."""
    envelope = EnvelopeDocument(
        captured_at=captured_at,
        created=clock.to_text(created),
        expires=clock.to_text(expires),
        nonce=nonce,
    )
    document = replace(plan_document(plan), unfinished_run=unfinished_run)
    digests = RunningDigests(document)
    deque(_hashed(plan.changes, digests), maxlen=0)
    plan_digest, digest = digests.finish(envelope, unfinished_run)
    envelope = replace(envelope, digest=digest)
    return _sealed(plan, replace(document, plan_digest=plan_digest, envelope=envelope))


def _hashed(changes: Iterable[Change], digests: RunningDigests) -> Iterator[ChangeDocument]:
    """Yield the document of each change once the digests have it."""
    for change in changes:
        document = change_document(change)
        digests.add([canonical_json(document)])
        yield document


def _sealed(plan: Plan, document: PlanDocument) -> SealedPlan:
    envelope = document.envelope or EnvelopeDocument()
    return SealedPlan(
        plan=plan,
        plan_digest=document.plan_digest,
        captured_at=envelope.captured_at,
        created=clock.from_text(envelope.created),
        expires=clock.from_text(envelope.expires),
        nonce=envelope.nonce,
        digest=envelope.digest,
        unfinished_run=document.unfinished_run,
    )


def plan_digest(plan: Plan) -> str:
    """Return the digest of everything but the envelope."""
    digests = RunningDigests(plan_document(plan))
    deque(_hashed(plan.changes, digests), maxlen=0)
    return digests.finish(EnvelopeDocument())[0]


def to_text(sealed: SealedPlan) -> str:
    """Return the file's text: indented, in the contract's order, the same for the same plan."""
    return "".join(text_parts(sealed))


def text_parts(sealed: SealedPlan) -> Iterator[str]:
    """Yield the file's text piece by piece."""
    return _text_parts(_document(sealed), map(change_document, sealed.plan.changes))


def unsealed_text(plan: Plan) -> str:
    """Return the text of a plan that is not saved: with its digest, without an envelope."""
    document = replace(plan_document(plan), plan_digest=plan_digest(plan))
    return "".join(_text_parts(document, map(change_document, plan.changes)))


def canonical_text(sealed: SealedPlan) -> str:
    """Return the whole file as canonical JSON."""
    return _canonical(_document(sealed), map(change_document, sealed.plan.changes))


def _document(sealed: SealedPlan) -> PlanDocument:
    envelope = EnvelopeDocument(
        captured_at=sealed.captured_at,
        created=clock.to_text(sealed.created),
        expires=clock.to_text(sealed.expires),
        nonce=sealed.nonce,
        digest=sealed.digest,
    )
    return replace(
        plan_document(sealed.plan),
        plan_digest=sealed.plan_digest,
        unfinished_run=sealed.unfinished_run,
        envelope=envelope,
    )


def _text_parts(document: PlanDocument, changes: Iterable[ChangeDocument]) -> Iterator[str]:
    before, opening, after = lay_out(encode(document), 0).partition(_OPENING)
    yield before + opening
    separator = _SEPARATOR[1:]
    for change in changes:
        yield separator + lay_out(encode(change), 2)
        separator = _SEPARATOR
    yield f"{_CLOSING if separator == _SEPARATOR else ''}{after}\n"


def _canonical(document: PlanDocument, changes: Iterable[ChangeDocument]) -> str:
    encoded = tuple(Raw(canonical_json(change)) for change in changes)
    return canonical_json(replace(document, changes=encoded)).decode()


def read_sealed_plan(content: str, file: str) -> SealedPlan:
    """Read the sealed plan in ``content``; ``check_usable`` tells if it is still usable now.

    Raises:
        UntrustedPlanError: it is not a plan, is of an unknown version, or was changed.
    """
    with without_garbage_collection():
        return _read(content, _is_text) or refuse(content, file)


def read_canonical(content: str, file: str) -> SealedPlan:
    """Read the sealed plan that ``canonical_text`` wrote; errors as for ``read_sealed_plan``."""
    with without_garbage_collection():
        return _read(content, _is_canonical) or refuse(content, file, laid_out=False)


def _read(content: str, is_written: _IsWritten) -> SealedPlan | None:
    """Read the plan, and write it again: only what comes out the same is taken."""
    try:
        given = decode(PlanDocument, content, "the plan", exactly=False)
        if given.envelope is None:
            return None
        plan = read_plan_document(given, exactly=False)
        sealed = _sealed(plan, given)
        document = replace(_document(sealed), tool=given.tool)
        digests = RunningDigests(document)
        if not is_written(content, document, _hashed(plan.changes, digests)):
            return None
    except (ValueError, RecursionError):
        return None
    found = digests.finish(given.envelope, given.unfinished_run)
    return sealed if found == (sealed.plan_digest, sealed.digest) else None


def _is_text(content: str, document: PlanDocument, changes: Iterable[ChangeDocument]) -> bool:
    at = 0
    for part in _text_parts(document, changes):
        if not content.startswith(part, at):
            return False
        at += len(part)
    return at == len(content)


def _is_canonical(content: str, document: PlanDocument, changes: Iterable[ChangeDocument]) -> bool:
    return content == _canonical(document, changes)


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
