"""A plan file is read back exactly as it was sealed, or refused with its own sentence."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.plan_json import sealed_to_json
from report.plans import ALL_PLANS, any_plan, one_change, sealed, twelve_changes
from tiers import examples

from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.layout import json_text
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.documents import change_document, plan_to_json
from kgitops.plan.document.file import check_usable, plan_digest, read_sealed_plan, to_text
from kgitops.plan.document.plan import Plan


def resealed(document: dict[str, object]) -> str:
    """The text of a changed document with digests that fit: integrity is not what is tested."""
    envelope = {k: v for k, v in document["envelope"].items() if k != "digest"}  # type: ignore[attr-defined]
    body = {k: v for k, v in document.items() if k not in ("plan_digest", "envelope")}
    digest = sha256(canonical_json(body))
    whole = sha256(canonical_json({**body, "plan_digest": digest, "envelope": envelope}))
    return json_text({**document, "plan_digest": digest, "envelope": {**envelope, "digest": whole}})


def refusal(text: str) -> str:
    with pytest.raises(UntrustedPlanError) as caught:
        read_sealed_plan(text, "plan.json")
    assert caught.value.exit is ExitCode.UNTRUSTED
    assert str(caught.value).startswith("plan.json ")
    return str(caught.value)


@pytest.mark.parametrize("name", ALL_PLANS)
def test_a_plan_survives_the_file(name: str) -> None:
    plan = sealed(ALL_PLANS[name]())
    assert read_sealed_plan(to_text(plan), "plan.json") == plan


@given(any_plan)
@settings(max_examples=examples(60))
def test_any_plan_survives_the_file(plan: Plan) -> None:
    assert read_sealed_plan(to_text(sealed(plan)), "plan.json").plan == plan


@given(any_plan)
@settings(max_examples=examples(60))
def test_changes_written_one_by_one_are_those_of_the_file(plan: Plan) -> None:
    texts = b",".join(canonical_json(change_document(change)) for change in plan.changes)
    assert b"[%s]" % texts == canonical_json(plan_to_json(plan)["changes"])


def test_who_writes_to_the_json_of_a_plan_does_not_change_the_plan() -> None:
    plan = twelve_changes()
    _spoil(plan_to_json(plan))
    assert plan == twelve_changes()


def _spoil(value: object) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.clear()


def test_the_same_plan_gives_the_same_bytes_and_another_nonce_only_another_envelope() -> None:
    first, second = sealed(twelve_changes()), sealed(twelve_changes())
    assert to_text(first) == to_text(second)
    other = sealed(twelve_changes(), nonce="n-2")
    assert other.plan_digest == first.plan_digest
    assert other.digest != first.digest


def test_the_digests_cover_what_the_contract_says() -> None:
    """``plan_digest`` all but the envelope and itself, ``envelope.digest`` all but itself."""
    document = json.loads(to_text(sealed(twelve_changes())))
    envelope_digest = document["envelope"].pop("digest")
    assert envelope_digest == sha256(rfc8785.dumps(document))
    del document["envelope"]
    assert document.pop("plan_digest") == sha256(rfc8785.dumps(document))
    assert plan_digest(twelve_changes()) == sha256(rfc8785.dumps(document))


def test_two_targets_never_share_a_digest() -> None:
    here = one_change()
    document = plan_to_json(here)
    there = {**document, "target": {**document["target"], "cluster_id": "another"}}
    assert sha256(canonical_json(there)) != plan_digest(here)


TEXT = to_text(sealed(one_change()))


@given(st.integers(0, len(TEXT) - 1), st.integers(0, 255))
@settings(max_examples=examples(400))
def test_any_single_changed_byte_is_refused(position: int, byte: int) -> None:
    data = bytearray(TEXT.encode())
    if data[position] == byte:
        byte ^= 1
    data[position] = byte
    refusal(data.decode("latin-1"))


@given(st.integers(0, len(TEXT) - 2))
@settings(max_examples=examples(60))
def test_any_truncation_is_refused(length: int) -> None:
    assert "is not JSON, or is cut off" in refusal(TEXT[:length])


def _document() -> dict[str, object]:
    document: dict[str, object] = json.loads(to_text(sealed(twelve_changes())))
    return document


def _set(*path: str | int, value: object) -> Callable[[dict[str, object]], None]:
    def change(document: dict[str, object]) -> None:
        place: object = document
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]
        place[path[-1]] = value  # type: ignore[index]

    return change


def _drop(key: str) -> Callable[[dict[str, object]], None]:
    return lambda document: document.pop(key) and None


CHANGED = {
    "another plan": (_set("target", "cluster_id", value="x"), "not the one that its plan_digest"),
    "another digest": (_set("plan_digest", value="sha256:0"), "not the one that its plan_digest"),
    "a later expiry": (
        _set("envelope", "expires", value="2030-01-01T00:00:00Z"),
        "its envelope has another digest",
    ),
    "another nonce": (_set("envelope", "nonce", value="n-2"), "its envelope has another digest"),
    "another kind": (_set("kind", value="kgitops.state"), "its kind is not kgitops.plan"),
    "a major version": (_set("format_version", value="2.0"), "is of format version '2.0'"),
    "no version": (_drop("format_version"), "has no format version"),
    "a missing key": (_drop("changes"), "is not a whole plan: the file has no key 'changes'"),
    "no envelope": (_drop("envelope"), "the file has no key 'envelope'"),
    "an unknown key": (_set("extra", value=1), "has the unknown key 'extra'"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_changed_file_is_refused(case: str) -> None:
    change, sentence = CHANGED[case]
    document = _document()
    change(document)
    assert sentence in refusal(json_text(document))


RESEALED = {
    "a milder verdict": (_set("verdict", "exit", value=0), "its verdict does not follow"),
    "other counts": (_set("summary", "delete", value=0), "its summary does not follow"),
    "a milder risk": (
        _set("changes", 0, "reason", "level", value="safe"),
        "changes holds what does not follow",
    ),
    "another api": (
        _set("changes", 0, "requests", 0, "api", value="DropAll"),
        "requests[0].api is 'DropAll', which is not a request",
    ),
    "a request's key": (
        _set("changes", 0, "requests", 0, "body", "force", value=True),
        "has the unknown key 'force'",
    ),
    "no risk": (
        _set("changes", 0, "risks", value=[]),
        "changes[0].risks is not an array of at least one item",
    ),
    "an unknown code": (_set("changes", 0, "risks", value=["KG999"]), "unknown risk code 'KG999'"),
    "a wrong type": (_set("changes", 0, "address", value=7), "changes[0].address is not text"),
    "half a policy": (_set("policies_loaded", value=[{"name": "x"}]), "policies_loaded[0]"),
    "a big number": (
        _set("changes", 0, "impact", "partitions", value=2**60),
        "a number beyond 2^53",
    ),
    "no moment": (_set("envelope", "expires", value="tomorrow"), "a form that is not a time"),
}


@pytest.mark.parametrize("case", RESEALED)
def test_a_forged_file_whose_digests_fit_is_refused(case: str) -> None:
    change, sentence = RESEALED[case]
    document = _document()
    change(document)
    assert sentence in refusal(resealed(document))


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{", '"plan"', "{}", "[" * 100_000, '{"a": NaN}', '{"a": 1.5}', "\x00"],
    ids=range(10),
)
def test_what_is_no_plan_at_all_is_refused(text: str) -> None:
    assert " is " in refusal(text)


def test_a_key_given_twice_is_refused() -> None:
    """A reviewer might read the first and kgitops the second."""
    text = TEXT.replace('"principal":', '"principal": "User:other",\n  "principal":', 1)
    assert "is not JSON" in refusal(text)


def test_a_lone_surrogate_is_refused() -> None:
    assert "principal holds half a surrogate pair" in refusal(
        TEXT.replace("User:kgitops", "\\ud800")
    )


def test_a_reformatted_file_is_refused_and_says_so() -> None:
    assert "was reformatted" in refusal(json.dumps(json.loads(TEXT)))


def test_a_plan_is_usable_until_it_expires_and_not_a_second_longer() -> None:
    plan = sealed(one_change())
    check_usable(plan, now=plan.expires - timedelta(seconds=1))
    with pytest.raises(UntrustedPlanError, match="the plan expired at 2026-11-22T09:12:07Z"):
        check_usable(plan, now=plan.expires)


def test_a_plan_of_the_future_is_refused_but_for_clocks_that_differ() -> None:
    """Its day would begin whenever somebody wants it to."""
    plan = sealed(one_change())
    check_usable(plan, now=plan.created - timedelta(minutes=5))
    with pytest.raises(UntrustedPlanError, match="says that it was made at 2026-11-21T09:12:07Z"):
        check_usable(plan, now=plan.created - timedelta(minutes=5, seconds=1))


def test_large_numbers_are_text() -> None:
    """Offsets, bytes and records may exceed what a JSON number carries exactly (contract §6)."""
    document = sealed_to_json(sealed(twelve_changes()))
    assert document["base"]["registry"]["offset"] == str(2**60)
    assert document["changes"][0]["impact"]["bytes"] == "51754355917"
