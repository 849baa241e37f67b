"""The codec: the same value after writing and reading, and one exact sentence for anything else."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Struct, UnsetType, field

from kgitops.model.json.codec import (
    JsonObject,
    WholeNumberText,
    decode,
    encode,
    exact,
    from_json,
    special,
    spelled,
    to_json,
)
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json


class Colour(StrEnum):
    """An enumeration."""

    RED = "red"
    GREEN = "green"


class Part(Struct, frozen=True, kw_only=True):
    """A value with defaults, which is written whole."""

    name: str
    colour: Colour = Colour.RED
    labels: Mapping[str, str] = field(default_factory=dict)


class Sparse(JsonObject, frozen=True, kw_only=True):
    """A document that leaves out what is empty."""

    name: str
    count: int = 0
    notes: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    scope: str | UnsetType = UNSET


class Renamed(Struct, frozen=True, kw_only=True, rename="camel"):
    """Its keys are spelled otherwise."""

    first_name: str = ""


class Version:
    """No Struct: ``MAJOR.MINOR``."""

    def __init__(self, major: int, minor: int) -> None:
        self.numbers = (major, minor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and other.numbers == self.numbers

    def __hash__(self) -> int:
        return hash(self.numbers)


def _read_version(value: Json) -> Version:
    try:
        major, minor = map(int, value.split("."))
    except (AttributeError, ValueError):
        raise ValueError(f"is no version: {value!r}") from None
    return Version(major, minor)


special(Version, lambda version: "{}.{}".format(*version.numbers), _read_version)


class Whole(Struct, frozen=True, kw_only=True):
    """One of everything."""

    text: str
    number: int
    flag: bool
    maybe: str | None
    offset: WholeNumberText
    offsets: tuple[WholeNumberText | None, ...] = ()
    colours: frozenset[Colour] = frozenset()
    rows: tuple[tuple[int, ...], ...] = ()
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    by_name: Mapping[str, Part] = field(default_factory=dict)
    version: Version = Version(1, 0)
    either: int | str = 0
    anything: Json = None


WHOLE = Whole(
    text="orders",
    number=2**60,
    flag=True,
    maybe=None,
    offset="-1",
    offsets=("9223372036854775807", None),
    colours=frozenset({Colour.GREEN}),
    rows=((1, 2), ()),
    part=Part(name="a"),
    parts=(Part(name="b", labels={"x": "y"}),),
    by_name={"c": Part(name="c", colour=Colour.GREEN)},
    version=Version(3, 9),
    either="text",
    anything={"a": [1, None, {"b": True}]},
)


def whole(**changes: Json) -> dict[str, Json]:
    """The JSON of ``WHOLE`` after changes; ``...`` leaves a key out."""
    changed = {**to_json(WHOLE), **changes}
    return {key: value for key, value in changed.items() if value is not ...}


def refusal(kind: Any, value: Json, path: str = "it") -> str:  # noqa: ANN401 (any annotation)
    """The sentence about JSON of another shape, which is the same for bytes and parsed JSON."""
    with pytest.raises(ShapeError) as parsed:
        from_json(kind, value, path)
    with pytest.raises(ShapeError) as read:
        decode(kind, encode(value), path)
    assert str(read.value) == str(parsed.value)
    return str(parsed.value)


def test_a_value_comes_back_as_it_was():
    assert from_json(Whole, to_json(WHOLE), "it") == WHOLE
    assert decode(Whole, encode(WHOLE), "it") == WHOLE
    assert type(from_json(Whole, to_json(WHOLE), "it").parts[0]) is Part
    assert from_json(tuple[Part, ...], [], "it") == ()


def test_values_are_written_whole_with_the_keys_in_order_of_the_fields():
    part = Part(name="é", labels=MappingProxyType({"b": "1", "a": "2"}))
    assert encode(part) == '{"name":"é","colour":"red","labels":{"b":"1","a":"2"}}'.encode()
    assert to_json(WHOLE)["rows"] == [[1, 2], []]
    assert to_json(WHOLE)["version"] == "3.9"


def test_a_document_leaves_out_what_has_its_default():
    assert to_json(Sparse(name="a")) == {"name": "a"}
    full = Sparse(name="a", count=1, notes={"n": "m"}, parts=(Part(name="p"),), scope="s")
    assert from_json(Sparse, to_json(full), "it") == full
    assert from_json(Sparse, {"name": "a"}, "it") == Sparse(name="a")
    assert from_json(Sparse, {"name": "a", "count": 0, "notes": {}}, "it") == Sparse(name="a")


def test_a_document_of_the_exact_shape_is_read_at_once():
    """Not first as another class, and then as itself."""

    class Exact(JsonObject, frozen=True, kw_only=True):
        offsets: tuple[WholeNumberText | None, ...]
        offset: WholeNumberText
        scope: str = ""

    assert exact(Exact) is Exact
    assert exact(Part) is not Part


def test_renamed_keys():
    assert from_json(Renamed, {"firstName": "a"}, "it") == Renamed(first_name="a")
    assert refusal(Renamed, {}) == "it has no key 'firstName'"
    assert refusal(Renamed, {"firstName": 1}) == "it.firstName is not text"


@pytest.mark.parametrize("key", Whole.__struct_fields__)
def test_each_key_must_be_there_even_one_with_a_default(key: str):
    assert refusal(Whole, whole(**{key: ...})) == f"it has no key {key!r}"


PART = {"name": "a", "colour": "red", "labels": {}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"more": 1}, " has the unknown key 'more'"),
        ({"text": None}, ".text is not text"),
        ({"number": "1"}, ".number is not a whole number"),
        ({"number": 1.0}, ".number is not a whole number"),
        ({"number": True}, ".number is not a whole number"),
        ({"flag": 1}, ".flag is neither true nor false"),
        ({"maybe": 1}, ".maybe is not text"),
        ({"offset": 1}, ".offset is not a whole number written as text"),
        ({"offset": None}, ".offset is not a whole number written as text"),
        ({"offsets": ["0", "1.0"]}, ".offsets[1] is not a whole number written as text"),
        ({"colours": ["blue"]}, ".colours[0] is none of red, green"),
        ({"colours": [1]}, ".colours[0] is not text"),
        ({"colours": {}}, ".colours is not an array"),
        ({"rows": [[1], [2, None]]}, ".rows[1][1] is not a whole number"),
        ({"part": []}, ".part is not an object"),
        ({"part": {"name": "a"}}, ".part has no key 'colour'"),
        ({"part": {**PART, "size": 1}}, ".part has the unknown key 'size'"),
        ({"parts": [PART, {**PART, "colour": "Red"}]}, ".parts[1].colour is none of red, green"),
        ({"parts": [{**PART, "labels": {"a.b": 1}}]}, ".parts[0].labels.a.b is not text"),
        ({"by_name": {"a": PART, "b": None}}, ".by_name.b is not an object"),
        ({"by_name": {"a": {**PART, "labels": []}}}, ".by_name.a.labels is not an object"),
        ({"by_name": [PART]}, ".by_name is not an object"),
        ({"version": "3"}, ".version is no version: '3'"),
        ({"version": 3}, ".version is no version: 3"),
        ({"either": None}, ".either is not what is expected"),
    ],
)
def test_what_differs_is_named_with_its_place(changes: Mapping[str, Json], said: str):
    assert refusal(Whole, whole(**changes)) == f"it{said}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "the file has no key 'name'"),
        ([], "the file is not an object"),
        ({"name": 1}, "name is not text"),
        ({"name": "a", "count": None}, "count is not a whole number"),
        ({"name": "a", "scope": None}, "scope is not text"),
        ({"name": "a", "parts": [{}]}, "parts[0] has no key 'name'"),
        ({"name": "a", "Name": "a"}, "the file has the unknown key 'Name'"),
    ],
)
def test_a_phrase_is_left_out_of_the_paths_of_parts(value: Json, said: str):
    assert refusal(Sparse, value, "the file") == said


@pytest.mark.parametrize(
    "text", ["", "00", "+1", "-0", "1\n", " 1", "1_0", "1e3", "\u0661", "1" * 20, "0x1"]
)
def test_a_whole_number_has_one_spelling(text: str):
    said = "it is not a whole number written as text"
    assert refusal(WholeNumberText, text) == said


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_of_64_bits_are_read(number: int):
    assert from_json(WholeNumberText, str(number), "it") == str(number)


def test_a_pattern_means_the_whole_text_in_ascii():
    digits = Annotated[str, spelled(r"^\d+$", "digits")]
    assert from_json(digits, "12", "it") == "12"
    for text in ("12\n", "\u0661", "a"):
        assert refusal(digits, text, "x") == "x is not digits"
    least = Annotated[int, Meta(ge=1, description="at least 1")]
    assert refusal(least, 0, "x") == "x is not at least 1"


def test_what_is_no_json_is_said_so():
    for data in (b"", b"{", b'{"name":NaN}', b"\xff", "nothing"):
        with pytest.raises(ShapeError, match=r"^the file is not JSON$"):
            decode(Part, data, "the file")


def test_a_class_without_json_is_a_mistake_of_ours():
    with pytest.raises(TypeError, match="object has no JSON"):
        encode(object())
