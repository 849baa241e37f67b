"""A tenant's pattern of transactional ids: it finds the tenant's own, however it is written."""

import pytest
import re2
from gateway.rewriting.frames import Rewriter, table_of

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.patterns import matching
from kgitops.serve.patterns import InvalidPatternError
from kgitops.wire import messages

OWN = ["emea.sales:pay-1", "emea.sales:pay-2", "emea.sales:x|y", "emea.sales:a\nb"]
OTHERS = ["secret", "pay-1", "emea.audit:pay-1", "xemea.sales:pay-1", "emea-sales:pay-1"]
ESCAPES = [
    "x)|(?:.*",
    "x)|(.*)|(?:x",
    "x)|.*(?:",
    r"\E).*|(?:",
    r"x\Q)|.*\E)|(?:.*",
    "(?i:x))|((?s:.*)",
    "[)]x)|(?:.*",
    "x)|(?:.*#",
]


def listed(client: Rewriter, pattern: str | None) -> list[str] | ErrorCode:
    """The ids that a client gets of a broker that has all of them, and matches as Kafka does."""
    request = messages.ListTransactionsRequest(transactional_id_pattern=pattern)
    sent, exchange = client.request(request, 2)
    kind = messages.ListTransactionsResponse
    text = sent.transactional_id_pattern
    try:
        found = [each for each in OWN + OTHERS if not text or re2.fullmatch(text, each)]
    except re2.error:
        answer = client.response(kind(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION), exchange)
        return ErrorCode(answer.error_code)
    if text:
        assert not {*found} & {*OTHERS}, f"{pattern} reaches others as {text}"
    rows = [kind.TransactionState(transactional_id=each) for each in found]
    answer = client.response(kind(transaction_states=rows), exchange)
    return [row.transactional_id for row in answer.transaction_states]


@pytest.mark.parametrize("pattern", ESCAPES)
def test_no_pattern_leaves_what_is_put_around_it(pattern: str) -> None:
    """What is no pattern by itself is none for the broker either."""
    found = listed(Rewriter(table_of()), pattern)
    assert found is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (None, ["pay-1", "pay-2", "x|y", "a\nb"]),
        ("", ["pay-1", "pay-2", "x|y", "a\nb"]),
        ("pay-.*", ["pay-1", "pay-2"]),
        ("pay-1|x.*", ["pay-1", "x|y"]),
        (r"\Qx|y", ["x|y"]),
        ("(?i)PAY-1", ["pay-1"]),
        ("pay", []),
        ("secret|emea.*|.*:pay-1", []),
    ],
)
def test_a_pattern_is_matched_with_local_ids(pattern: str | None, found: list[str]) -> None:
    """As a whole, and in RE2, as brokers have it; an empty one is none."""
    assert listed(Rewriter(table_of()), pattern) == found


@pytest.mark.parametrize(
    "pattern", ["a)|(?:b", "x" * 1001, "(?:.{1,30}){1,30}"], ids=["unbalanced", "long", "large"]
)
def test_a_pattern_that_is_none_or_too_large_is_refused(pattern: str) -> None:
    """The second costs memory for each, the third time for each name that it is matched with."""
    with pytest.raises(InvalidPatternError):
        matching(pattern, frozenset("a"))
    client = Rewriter(table_of())
    kind = messages.ConsumerGroupHeartbeatRequest
    sent, _ = client.request(kind(group_id="g", member_id="m", subscribed_topic_regex=pattern), 1)
    assert sent.subscribed_topic_regex == "["
