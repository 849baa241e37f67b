"""Requests are written to JSON and read back unchanged; any other shape is refused."""

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import get_args

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from model.request_strategies import any_text, quota_values, requests

from kgitops.model.json.canonical import canonical_json, canonical_text, plain_json
from kgitops.model.json.requests import request_from_json, request_to_json
from kgitops.model.requests import AlterClientQuotaRequest, Request, api_name
from kgitops.model.resources.quotas import quota_text


@given(requests)
def test_a_request_survives_the_way_to_json_and_back(request: Request) -> None:
    text = json.dumps(request_to_json(request))
    assert request_from_json(api_name(request), json.loads(text)) == request


@given(requests)
def test_a_request_holds_no_fraction_and_no_number_beyond_32_bits(request: Request) -> None:
    """Offsets, quotas and config values are text (contract §6)."""

    def check(value: object) -> None:
        assert not isinstance(value, float)
        if isinstance(value, int):
            assert value < 2**31
        if isinstance(value, dict):
            for item in value.values():
                check(item)
        if isinstance(value, list):
            for item in value:
                check(item)

    check(request_to_json(request))


@given(requests, st.data())
def test_a_key_more_or_less_is_refused(request: Request, data: st.DataObject) -> None:
    body = request_to_json(request)
    api = api_name(request)
    with pytest.raises(ValueError, match="unknown key 'extra'"):
        request_from_json(api, {**body, "extra": None})
    gone = data.draw(st.sampled_from(sorted(body)))
    with pytest.raises(ValueError, match=f"no key '{gone}'"):
        request_from_json(api, {key: value for key, value in body.items() if key != gone})


@given(requests, st.data())
def test_a_value_of_another_type_is_refused(request: Request, data: st.DataObject) -> None:
    body = request_to_json(request)
    key = data.draw(st.sampled_from(sorted(body)))
    with pytest.raises(ValueError, match=f"body.{key}"):
        request_from_json(api_name(request), {**body, key: 3.5})


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(ValueError, match="DropEverything', which is not a request"):
        request_from_json("DropEverything", {})


def test_no_other_config_of_a_broker_can_be_planned() -> None:
    """Contract §6: AlterBroker is for replication throttles."""
    with pytest.raises(ValueError, match=r"num\.io\.threads is not a replication throttle"):
        request_from_json("AlterBroker", {"broker": 1, "configs": {"num.io.threads": "1"}})


@pytest.mark.parametrize("kind", get_args(Request))
def test_every_kind_of_request_can_be_read(kind: type[Request]) -> None:
    """A kind that is added to the union and forgotten here would be unknown."""
    api = kind.__name__.removesuffix("Request")
    with pytest.raises(ValueError, match="body has no key"):
        request_from_json(api, {})


@pytest.mark.parametrize(
    "spelling", ["1e3", "1.50", "01", "", "inf", "nan", "1_000", " 1", "\u0661"]
)
def test_a_quota_in_another_spelling_is_refused(spelling: str) -> None:
    body = {"entity": {"user": "a"}, "quotas": {"producer_byte_rate": spelling}}
    with pytest.raises(ValueError, match="shortest decimals"):
        request_from_json("AlterClientQuota", body)


@pytest.mark.parametrize("spelling", ["1e3", "+1", "01", "", "--1", "1_0", " 1", "\u0661", 1, 2.0])
def test_an_offset_in_another_spelling_is_refused(spelling: object) -> None:
    body = {"topic": "a", "topic_id": "b", "deleted_message_offsets": {"0": spelling}}
    with pytest.raises(ValueError, match="not a whole number written as text"):
        request_from_json("DeleteRecords", body)


@given(quota_values)
def test_a_quota_reads_back_as_the_same_double(value: float) -> None:
    text = quota_text(value)
    assert float(text) == value
    assert "e" not in text.lower()


def test_the_default_entity_is_null() -> None:
    request = AlterClientQuotaRequest(
        entity=(("user", "a"), ("client-id", None)), quotas={"request_percentage": 12.5}
    )
    assert request_to_json(request) == {
        "entity": {"user": "a", "client-id": None},
        "quotas": {"request_percentage": "12.5"},
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
)


@given(json_values)
def test_canonical_json_is_what_rfc_8785_says(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)
    assert canonical_text(value) == rfc8785.dumps(value).decode()


@pytest.mark.parametrize("write", [canonical_json, canonical_text])
def test_half_a_character_has_no_spelling(write: Callable[[object], object]) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        write({"a": "\ud800"})


@given(json_values)
def test_plain_values_are_copied_as_they_are(value: object) -> None:
    assert canonical_json(plain_json(value)) == canonical_json(value)


def test_a_plain_copy_shares_nothing_that_can_be_written_to() -> None:
    value = {"configs": {"a": "1"}, "assignments": [[1, 2]]}
    copy = plain_json(value)
    copy["configs"]["a"] = "2"
    copy["assignments"][0].append(3)
    assert value == {"configs": {"a": "1"}, "assignments": [[1, 2]]}


def test_other_mappings_and_sequences_become_plain() -> None:
    assert plain_json(MappingProxyType({"a": (1, (True,))})) == {"a": [1, [True]]}


def test_keys_beyond_the_first_plane_are_ordered_by_utf_16_units() -> None:
    """U+1F600 begins with the unit D83D, which comes before E000."""
    assert canonical_json({"\ue000": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ue000":1}'.encode()


@pytest.mark.parametrize(
    "value", [1.5, 2**53, -(2**53), {1: "a"}, {1: 2}, {"a": 1.5}, {"a": {1, 2}}, [b"x"]]
)
def test_what_json_can_not_carry_exactly_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|not text"):
        plain_json(value)
