"""The refusal of a text that is not a plan as kgitops wrote it: the first reason, in one sentence.

Reading a plan tells no more than that the text is not what kgitops would have written. This looks
at it slowly, as JSON of any shape, once it is known to be refused.
"""

from collections.abc import Mapping
from typing import NoReturn

from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.codec import decode
from kgitops.model.json.layout import json_text
from kgitops.model.json.strict import ShapeError, members, parse_whole_numbers, text
from kgitops.model.registry import Json
from kgitops.model.wording import format_version_text
from kgitops.plan.document.documents import (
    FORMAT_VERSION,
    PLAN_KEYS,
    PLAN_KIND,
    EnvelopeDocument,
    PlanDocument,
    plan_to_json,
    read_plan_document,
    written_keys,
)

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
