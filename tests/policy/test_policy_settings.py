"""The configs of policies: how they are declared, read and refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.policy import BaseTopicPolicy
from kgitops.policy.readers import (
    Patterns,
    counts,
    flag,
    names,
    number,
    numbers,
    pairs,
    patterns,
    principals,
    regex,
    whole,
)
from kgitops.policy.settings import Configured, Setting, optional
from kgitops.policy.units import byte_size, duration_ms, duration_text, size_text


class Sample(Configured, BaseTopicPolicy):
    """A policy with configs of each kind."""

    max = Setting(whole, "the most")
    kept_for = Setting(duration_ms, "how long", "7d")
    except_topics = optional(patterns, "which not")

    def settle(self) -> None:
        if self.max == 13:
            raise ValueError("13 brings bad luck")


def configured(**configs: str) -> Sample:
    sample = Sample()
    sample.configure(configs)
    return sample


def test_settings_are_read_by_their_names_in_camel_case() -> None:
    sample = configured(max="5", keptFor="1h", exceptTopics="a*")
    assert (sample.max, sample.kept_for) == (5, 3_600_000)
    assert sample.except_topics is not None
    assert "abc" in sample.except_topics
    assert [setting.key for setting in Sample.settings()] == ["max", "keptFor", "exceptTopics"]
    assert [setting.required for setting in Sample.settings()] == [True, False, False]


def test_what_is_not_given_has_its_default() -> None:
    sample = configured(max="5")
    assert sample.kept_for == 604_800_000
    assert sample.except_topics is None


def test_two_policies_share_nothing() -> None:
    one, other = configured(max="1"), configured(max="2")
    assert (one.max, other.max) == (1, 2)


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({}, "max is missing (write the most)"),
        ({"max": "x"}, "max: 'x' is not a whole number (write for example 3)"),
        ({"max": "1", "Max": "2"}, "Max is not a config of Sample (did you mean max?)"),
        (
            {"max": "1", "zzz": "2"},
            "zzz is not a config of Sample (known: max, keptFor, exceptTopics)",
        ),
        ({"max": "13"}, "13 brings bad luck"),
        (
            {"maxx": "1", "keptFor": "soon"},
            "maxx is not a config of Sample (did you mean max?), and max is missing (write the "
            "most), "
            "and keptFor: 'soon' is not a duration (write a number with ms, s, m, h, d or w, for "
            "example 7d)",
        ),
    ],
)
def test_all_that_is_wrong_is_said_at_once(configs: dict[str, str], problem: str) -> None:
    """EXP-07: configs are checked in configure, all of them."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the words are compared below)
        configured(**configs)
    assert str(refused.value) == problem


def test_configs_given_in_python_are_not_a_brokers() -> None:
    """EXP-07: what a broker has is meant for others; mistakes show when the policy is made."""
    sample = Sample({"max": "5"})
    assert sample.max == 5
    sample.configure({"node.id": "1", "max": "6"})
    assert sample.max == 5
    with pytest.raises(ValueError, match="max is missing"):
        Sample({})


def test_a_policy_that_nobody_configured_has_defaults_and_no_more() -> None:
    assert Sample().kept_for == 604_800_000
    with pytest.raises(ValueError, match="max is missing"):
        _ = Sample().max


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("7d", 604_800_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("2w", 1_209_600_000),
        ("15 s", 15_000),
        ("1ms", 1),
        (" 604800000 ", 604_800_000),
        ("0", 0),
        ("0.001s", 1),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    "text", ["", "d", "7x", "7D", "-1", "-1d", "1e3", "1.0001ms", "1d-1h", "7d!", "٣d", "1_0"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration \(write a number with ms, s, m, h"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10GiB", 10 << 30),
        ("1TiB", 1 << 40),
        ("1 MiB", 1 << 20),
        ("3KiB", 3072),
        ("1.5MB", 1_500_000),
        ("1TB", 10**12),
        ("2GB", 2 * 10**9),
        ("1kB", 1000),
        ("1KB", 1000),
        ("512B", 512),
        ("512", 512),
        ("0.5KiB", 512),
    ],
)
def test_byte_sizes(text: str, size: int) -> None:
    assert byte_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "1gib", "1G", "-1", "1.3B", "1GiB1MiB", "1 GiB 1"])
def test_what_is_no_byte_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a byte size \(write a number with B, KiB"):
        byte_size(text)


@given(st.integers(0, 2**63))
def test_what_is_shown_can_be_read_again(value: int) -> None:
    assert duration_ms(duration_text(value)) == value
    assert byte_size(size_text(value)) == value


def test_limits_are_shown_in_the_greatest_unit() -> None:
    assert [duration_text(ms) for ms in (604_800_000, 5_400_000, 1500, 0)] == [
        "7d",
        "90m",
        "1500ms",
        "0",
    ]
    assert [size_text(size) for size in (10 << 30, 1536, 1500, 0)] == [
        "10GiB",
        "1536B",
        "1500B",
        "0",
    ]


def test_patterns_match_whole_names() -> None:
    found = patterns("orders, pay.*, a?c, x[1]")
    for name in ("orders", "pay.", "pay.in", "abc", "x[1]"):
        assert name in found
    for name in ("orders2", "payxin", "ac", "abbc", "x1", "", "Orders", "my.orders"):
        assert name not in found
    assert "anything\nat all" in Patterns(["*"])
    assert "a\nb" in Patterns(["a*"])
    assert "anything" not in Patterns([])
    assert not Patterns([])
    assert str(found) == "orders, pay.*, a?c, x[1]"


def test_lists() -> None:
    assert names("a, b ,c") == ("a", "b", "c")
    assert names("User:CN=a,O=b; User:c") == ("User:CN=a,O=b", "User:c")
    assert "User:CN=a,O=b" in principals("User:CN=a,O=b;User:c")
    assert "User:ops-1" in principals("User:ops-*")
    assert "User:x" in principals("*")
    assert numbers("7, 8") == {7, 8}
    assert pairs("User:CN=x=sales., User:b=hr.") == (("User:CN=x", "sales."), ("User:b", "hr."))
    assert counts("sales.=100") == (("sales.", 100),)
    assert (flag("true"), flag("false"), number("12.5"), whole(" 3 ")) == (True, False, 12.5, 3)
    assert regex("a+").fullmatch("aa")


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (names, "a,,b", "'a,,b' is not a list"),
        (names, "", "'' is not a list"),
        (principals, "User:a, admin", r"'admin' is not a principal \(write User:admin\)"),
        (pairs, "sales.", r"'sales.' is not a pair \(write NAME=VALUE\)"),
        (pairs, "=5", "is not a pair"),
        (pairs, "a=", "is not a pair"),
        (counts, "a=b", "'b' is not a whole number"),
        (flag, "yes", "'yes' is neither true nor false"),
        (number, "1e5", r"'1e5' is not a number \(write for example 12.5\)"),
        (number, "-1", "is not a number"),
        (number, "inf", "is not a number"),
        (whole, "1.0", "is not a whole number"),
        (whole, "1" * 19, "is not a whole number"),
        (numbers, "7,x", "'x' is not a whole number"),
        (regex, "(", "is not a regular expression: missing"),
    ],
)
def test_what_cannot_be_read(read: object, text: str, problem: str) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match=problem):
        read(text)


def test_any_reader_will_do() -> None:
    class Reads(Configured):
        path = Setting(Path, "a path")

    assert Reads({"path": "a/b"}).path == Path("a/b")
