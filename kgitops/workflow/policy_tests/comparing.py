"""What policies said of a case's requests against what the case expects."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgitops.model.source import Source
from kgitops.policy.evaluate.judgement import Outcome, Ruling
from kgitops.workflow.policy_tests.cases import Case, Expected
from kgitops.workflow.policy_tests.report import Failure


@dataclass(frozen=True, slots=True)
class Said:
    """A ruling on the request at ``source``, which is the case's ``number``th, from 0."""

    number: int
    source: Source
    api: str
    address: str
    ruling: Ruling


def compare(case: Case, said: Sequence[Said]) -> Iterator[Failure]:
    """Everything that is not as expected; each thing is said once."""
    explained: set[tuple[str, str]] = set()
    for expected in case.expect:
        if not any(_matches(expected, item) for item in said):
            explained.add((expected.address, expected.policy))
            yield _missing(expected, said)
    for item in said:
        place = item.address, item.ruling.policy
        if item.ruling.crashed:
            yield _crashed(item)
        elif item.ruling.outcome is not Outcome.DENIED or place in explained:
            continue
        elif item.ruling.policy in case.never:
            yield _never(item)
        elif not any(_matches(expected, item) for expected in case.expect):
            yield _unexpected(item)


def _matches(expected: Expected, item: Said) -> bool:
    ruling = item.ruling
    return (
        (item.address, ruling.policy) == (expected.address, expected.policy)
        and ruling.outcome is expected.outcome
        and (expected.message is None or re.search(expected.message, ruling.message) is not None)
    )


def _missing(expected: Expected, said: Sequence[Said]) -> Failure:
    saying = f" with a message like /{expected.message}/" if expected.message else ""
    came = [
        _words(item.ruling)
        for item in said
        if (item.address, item.ruling.policy) == (expected.address, expected.policy)
    ]
    return Failure(
        source=expected.source,
        expected=f"{expected.policy}: {expected.address} {expected.outcome}{saying}",
        came="; ".join(dict.fromkeys(came)) or f"{expected.policy} does not judge this request",
        advice="" if came else "see which requests and names it matches",
    )


def _unexpected(item: Said) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: {item.address} not denied",
        came=_words(item.ruling),
        advice=f"if it should be, add {{address: {_quoted(item.address)}, outcome: denied}} "
        "to expect",
    )


def _never(item: Said) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: never denies here",
        came=f"{item.address} {_words(item.ruling)}",
    )


def _crashed(item: Said) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: {item.address} judged",
        came=item.ruling.message,
        advice="correct the policy: where it fails, it denies",
    )


def _words(ruling: Ruling) -> str:
    if ruling.outcome is not Outcome.DENIED:
        return str(ruling.outcome)
    if ruling.crashed:
        return ruling.message
    return f"denied: {ruling.message}" if ruling.message else "denied without a message"


def _quoted(address: str) -> str:
    return address if re.fullmatch(r"[\w/.-]+", address) else f'"{address}"'
