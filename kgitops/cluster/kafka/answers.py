"""Brokers' answers as results: the code, its name, and the broker's own words."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from kafka.errors import for_code

from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.results import OK, RETRIABLE, ErrorCode, RequestResult

# An apply counts on an answer, or none, within 30 seconds: its lock must not run out meanwhile. So
# that is what a look at the topics and the change after it may take together. A change is given
# less on the brokers than on the wire, so that it is a broker that says that the time is up (K-03:
# with 0 or less it would drop the request, C-08).
LOOK_MS = 7_000
SEND_MS = 22_000
TIMEOUT_MS = 20_000

NOT_ANSWERED = RequestResult(
    code=ErrorCode.UNKNOWN_SERVER_ERROR, message="The brokers left this out of their answer."
)
"""What a request is told that a response has no row for: it may have taken effect."""

UNKNOWN_ID = RequestResult(
    code=ErrorCode.UNKNOWN_TOPIC_ID, message="This server does not host this topic ID."
)
"""What a topic is told that is gone, whatever stands under its name now."""


# AuthHelper.authorizeClusterOperation tells with which request a right is missing, in Java's words
# for its objects.
_DUMPED_REQUEST = re.compile(r"Request Request\(.*\) needs", re.DOTALL)


def answer(row: Message | None, response: Message) -> RequestResult:
    """What one row of a response says; None where there is none."""
    if row is None:
        return NOT_ANSWERED
    result = result_of(row.error_code, row.error_message)
    if result.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return replace(result, retry_after_ms=response.throttle_time_ms)
    return result


def result_of(code: int, message: str | None) -> RequestResult:
    """A broker's code and words.

    A code that kgitops does not know counts as an unknown error of the server (spec §7), with its
    number and Kafka's name for it in the words.
    """
    if code == ErrorCode.NONE:
        return OK
    try:
        words = _DUMPED_REQUEST.sub("The request needs", message or "")
        return RequestResult(code=ErrorCode(code), message=words or None)
    except ValueError:
        name = getattr(for_code(code), "message", "unknown")
        words = f"error {code} ({name})" + (f": {message}" if message else "")
        return RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR, message=words)


T = TypeVar("T")
REFUSED = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_AGAIN = RETRIABLE | {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.BROKER_NOT_AVAILABLE}
_TRIES = 5
_MOST_CONNECTIONS = 8


def ask_each(whom: Sequence[int], ask: Callable[[int], T]) -> list[T]:
    """What ``ask`` makes of each, in order; a few of them are asked at a time."""
    with ThreadPoolExecutor(max_workers=max(1, min(len(whom), _MOST_CONNECTIONS))) as pool:
        return list(pool.map(ask, whom))


def is_passing(code: int) -> bool:
    """Whether asking again may be answered otherwise; reading has no other effect."""
    return code in _AGAIN


def settled(wire: Wire, request: Message, answer: Message) -> Message:
    """The answer, or that of a later try where the first one's failure was a passing one."""
    for _ in range(_TRIES):
        if not is_passing(answer.error_code):
            break
        answer = wire.send(request)
    return answer


def readable(wire: Wire, request: Message, answer: Message, *, what: str, right: str) -> Message:
    """The settled answer.

    Raises:
        UnreachableError: it is a refusal, or stays a failure.
    """
    response = settled(wire, request, answer)
    if response.error_code:
        raise unreadable(response.error_code, what, right, response.error_message)
    return response


def unreadable(code: int, what: str, right: str, message: str | None = None) -> UnreachableError:
    """That ``what`` can't be read; ``right`` is what the principal lacks where it is refused."""
    result = result_of(code, message)
    if result.code in REFUSED:
        return UnreachableError(
            f"the cluster does not let this principal read {what} "
            f"({result.code.name}), and without it nothing can be planned; grant it {right}"
        )
    return UnreachableError(
        f"the cluster could not say {what}: {result}; try again, and look at its brokers' logs if "
        "it stays so"
    )
