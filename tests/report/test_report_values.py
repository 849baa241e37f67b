"""Units, names and shortened values as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.plans import create_topic

from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, object_name, quota_address, topic_address
from kgitops.model.wording import counted, shortened, shortened_pair
from kgitops.report.content.safe_text import code_span, fenced, guarded_line, terminal_text
from kgitops.report.content.sections import name_patterns
from kgitops.report.content.units import with_unit


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("configs.retention.ms", "604800000", "604800000 (7 d)"),
        ("configs.retention.ms", "90000000", "90000000 (1 d 1 h)"),
        ("configs.retention.ms", "90061001", "90061001 (about 1 d 1 h)"),
        ("configs.retention.ms", "-1", "-1 (unlimited)"),
        ("configs.retention.bytes", "-1", "-1 (unlimited)"),
        ("configs.local.retention.ms", "-2", "-2 (as retention)"),
        ("configs.segment.bytes", "1073741824", "1073741824 (1 GiB)"),
        ("configs.max.message.bytes", "1048588", "1048588 (1.0 MiB)"),
        ("configs.flush.ms", "9223372036854775807", "9223372036854775807 (no limit)"),
        ("configs.delete.retention.ms", "999", "999"),
        ("configs.segment.bytes", "1000", "1000"),
        ("configs.min.insync.replicas", "2", "2"),
        ("configs.min.insync.replicas", "-1", "-1"),
        ("configs.cleanup.policy", "delete", "delete"),
        ("configs.segment.jitter.ms", "0", "0"),
        ("quotas.consumer_byte_rate", "10485760", "10485760 (10 MiB/s)"),
        ("quotas.request_percentage", "12.5", "12.5 (percent of a thread)"),
        ("quotas.connection_creation_rate", "20", "20 (per second)"),
        ("lastApplied.configs.retention.ms", "604800000", "604800000 (7 d)"),
        ("partitions", "604800000", "604800000"),
        ("configs.vendor.ms", "nan", "nan"),
        ("configs.vendor.ms", "1e400", "1e400"),
        ("configs.vendor.bytes", "inf", "inf"),
    ],
)
def test_a_unit_stands_beside_the_raw_value(path: str, value: str, shown: str) -> None:
    assert with_unit(path, value) == shown


@given(st.text(max_size=20), st.text(max_size=30))
def test_the_raw_value_is_never_replaced(path: str, value: str) -> None:
    assert with_unit(f"configs.{path}.ms", value).startswith(value)


@pytest.mark.parametrize(
    ("count", "noun", "shown"),
    [
        (1, "topic", "1 topic"),
        (0, "byte", "0 bytes"),
        (1200, "acl", "1,200 acls"),
        (2, "policy", "2 policies"),
        (71, "day", "71 days"),
    ],
)
def test_nouns_are_counted(count: int, noun: str, shown: str) -> None:
    assert counted(count, noun) == shown


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_values_that_differ_still_differ_when_shortened(before: str, after: str) -> None:
    short = shortened_pair(before, after)
    assert (short[0] == short[1]) == (before == after)


@given(st.text("ab", min_size=50, max_size=400), st.text("ab", min_size=1, max_size=400))
def test_a_difference_deep_inside_is_seen(same: str, tail: str) -> None:
    before, after = f"{same}1{tail}", f"{same}2{tail}"
    short = shortened_pair(before, after)
    assert short[0] != short[1]
    assert max(map(len, short)) < 120


@given(st.text(max_size=2000), st.integers(60, 500))
def test_a_shortened_value_tells_its_length(text: str, limit: int) -> None:
    short = shortened(text, limit)
    if len(text) > limit:
        assert f"({len(text)} characters)" in short
        assert len(short) <= limit
    else:
        assert short == text


def acl(principal: str, name: str, host: str = "*") -> AclBinding:
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        pattern_type=PatternType.PREFIXED,
        principal=principal,
        host=host,
        operation=Operation.READ,
        permission_type=PermissionType.DENY,
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (topic_address("orders"), "topic orders"),
        (topic_address("a/b%c"), "topic a/b%c"),
        (
            acl_address(acl("User:CN=a,OU=b", "o")),
            "acl User:CN=a,OU=b Deny Read topic o (prefixed)",
        ),
        (
            acl_address(acl("User:a", "o", "10.0.0.1")),
            "acl User:a Deny Read topic o (prefixed) from 10.0.0.1",
        ),
        (acl_address(acl("User:a b", "o")), 'acl "User:a b" Deny Read topic o (prefixed)'),
        (quota_address((("user", "a"), ("client-id", None))), "quota user=a, client-id=<default>"),
        (quota_address((("user", "<default>"),)), "quota user=<default>"),
        ("vc/emea.sales", "virtual cluster emea.sales"),
        ("vc/emea.sales/topic/Orders", "topic emea.sales/Orders"),
        ("vc/emea.sales/link/a%2Fb", "link emea.sales/a/b"),
        ("vc/emea.sales/user/User:jane", "user emea.sales/User:jane"),
        ("vc/emea.sales/client/app", "client id emea.sales/app"),
        ("vc/emea.sales/group/etl", "group emea.sales/etl"),
        ("vc/emea.sales/txn/tx", "transactional id emea.sales/tx"),
        (
            "vc/emea.sales/acl/User:a/Allow/Read/topic/literal/Orders@*",
            "acl User:a Allow Read topic emea.sales/Orders (literal)",
        ),
        (
            "vc/prefixed:emea./acl/User:a/Allow/Read/topic/literal/Orders@10.0.0.1",
            "acl User:a Allow Read topic emea.*/Orders (literal) from 10.0.0.1",
        ),
        (
            "vc/*/acl/User:a/Allow/Read/group/prefixed/g@*",
            "acl User:a Allow Read group */g (prefixed)",
        ),
        (
            "vc/emea.sales/quota/user=<default>,client-id=x",
            "quota virtual-cluster=emea.sales, user=<default>, client-id=x",
        ),
        ("quota/virtual-cluster=<default>", "quota virtual-cluster=<default>"),
        ("vc/emea/else/x", "object vc/emea/else/x"),
        ("vc/emea/acl/x", "object vc/emea/acl/x"),
        ("acl/too/short", "object acl/too/short"),
        ("", 'object ""'),
    ],
)
def test_an_address_is_read_as_a_name(address: str, shown: str) -> None:
    assert str(object_name(address)) == shown


def test_a_name_that_imitates_a_sentence_is_quoted() -> None:
    spoof = acl("User:x Allow Read topic y (literal)", "z")
    assert str(object_name(acl_address(spoof))).startswith('acl "User:x Allow')


def test_names_are_counted_by_prefix_and_nothing_is_lost() -> None:
    names = [f"{team}.{topic}.{n}" for team in "abc" for topic in ("in", "out") for n in range(9)]
    patterns = name_patterns([create_topic(name) for name in names])
    assert patterns == tuple(f"{t}.{d}.* (9)" for t in "abc" for d in ("in", "out"))


@given(st.lists(st.text("ab.-", min_size=1, max_size=8), min_size=13, max_size=60, unique=True))
def test_the_counts_of_patterns_add_up(names: list[str]) -> None:
    total = 0
    for pattern in name_patterns([create_topic(name) for name in names]):
        if pattern.endswith(" others"):
            total += int(pattern.removesuffix(" others"))
        elif pattern.endswith(")"):
            total += int(pattern.rpartition("(")[2][:-1])
        else:
            total += 1
    assert total == len(names)


@given(st.text())
def test_safe_text_is_one_printable_line_and_stays_as_it_is(text: str) -> None:
    safe = terminal_text(text)
    assert "\n" not in safe
    assert terminal_text(safe) == safe


def test_plain_text_is_not_touched() -> None:
    for text in ("orders.v1", "User:CN=Zoë, OU=日本", "a-b_c", "C:\\temp"):
        assert terminal_text(text) == text


def test_a_line_that_is_a_command_is_broken() -> None:
    assert guarded_line("  ::error::x") == "  \\x3a:error::x"
    assert guarded_line("a::b") == "a::b"


@given(st.text(st.sampled_from("`a \n"), max_size=30))
def test_a_code_span_can_not_be_left(text: str) -> None:
    span = code_span(text)
    ticks = len(span) - len(span.lstrip("`"))
    assert span.endswith("`" * ticks)
    assert "`" * ticks not in span[ticks:-ticks].replace("`" * (ticks + 1), "")


def test_a_fence_is_longer_than_any_run_inside() -> None:
    assert fenced(["```", "a ````` b"], "diff").startswith("``````diff\n")
