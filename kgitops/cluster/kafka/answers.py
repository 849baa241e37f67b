"""Results of brokers' answers, and the errors of refused reads."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kafka.errors import for_code
from msgspec.structs import replace

from kgitops.cluster.kafka.transport.pending import api_name
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.refusals import RefusedRead, missing_rights_error, right_for
from kgitops.model.errors import UnreachableError
from kgitops.model.results import OK, RETRIABLE, ErrorCode, RequestResult

T = TypeVar("T")

# An apply needs an answer, or none, within 30 seconds: its lock must not expire meanwhile. Reading
# the topics and the change after it share that time. A change gets less time on the brokers than on
# the wire, so that it is a broker that reports the timeout (K-03: with 0 or less it would drop the
# request, C-08).
LOOK_MS = 7_000
SEND_MS = 22_000
TIMEOUT_MS = 20_000

NOT_ANSWERED = RequestResult(
    code=ErrorCode.UNKNOWN_SERVER_ERROR, message="The brokers left this out of their answer."
)
"""The result of a request that a response has no row for: it may have taken effect."""

UNKNOWN_ID = RequestResult(
    code=ErrorCode.UNKNOWN_TOPIC_ID, message="This server does not host this topic ID."
)
"""The result for a topic that is gone, whatever topic has its name now."""


# AuthHelper.authorizeClusterOperation prints the Java object of the request that lacks a right.
_DUMPED_REQUEST = re.compile(r"Request Request\(.*\) needs", re.DOTALL)

_AGAIN = RETRIABLE | {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.BROKER_NOT_AVAILABLE}
_TRIES = 5
_MOST_CONNECTIONS = 8


def answer(row: Message | None, response: Message) -> RequestResult:
    """Convert one row of a response; ``row`` is None where the response has none."""
    if row is None:
        return NOT_ANSWERED
    result = result_of(row.error_code, row.error_message)
    if result.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return replace(result, retry_after_ms=response.throttle_time_ms)
    return result


def result_of(code: int, message: str | None) -> RequestResult:
    """Convert a broker's error code and message.

    A code that kgitops does not know counts as an unknown server error (spec §7), with its number
    and Kafka's name for it in the message.
    """
    if code == ErrorCode.NONE:
        return OK
    try:
        error_text = _DUMPED_REQUEST.sub("The request needs", message or "")
        return RequestResult(code=ErrorCode(code), message=error_text or None)
    except ValueError:
        name = getattr(for_code(code), "message", "unknown")
        error_text = f"error {code} ({name})" + (f": {message}" if message else "")
        return RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR, message=error_text)


def ask_each_broker(wire: Wire, whom: Sequence[int], ask: Callable[[int], T]) -> list[T]:
    """Call ``ask`` for each broker, a few at a time; return the results in order.

    All are connected to first and at once, so that those that can't be reached cost the time of
    one. Where as many keep silent as are asked at once, the others are given up.
    """
    wire.reach(whom)

    def ask_in_time(broker: int) -> T:
        wire.give_up(broker, silent=_MOST_CONNECTIONS)
        return ask(broker)

    with ThreadPoolExecutor(max_workers=max(1, min(len(whom), _MOST_CONNECTIONS))) as pool:
        return list(pool.map(ask_in_time, whom))


def is_transient(code: int) -> bool:
    """Return whether a read that failed with this code may succeed when repeated."""
    return code in _AGAIN


def with_retries(wire: Wire, request: Message, answer: Message) -> Message:
    """Return the answer, or a later one where the first failure was transient."""
    for _ in range(_TRIES):
        if not is_transient(answer.error_code):
            break
        answer = wire.send(request)
    return answer


def readable(wire: Wire, request: Message, answer: Message, *, what: str) -> Message:
    """Return the answer, after retries where it failed.

    Raises:
        UnreachableError: the read is refused, or fails on every try.
    """
    response = with_retries(wire, request, answer)
    if response.error_code:
        api = api_name(request)
        raise unreadable_error(wire, api, what, response.error_code, response.error_message)
    return response


def unreadable_error(
    wire: Wire,
    api: str,
    what: str,
    code: int,
    message: str | None = None,
    *,
    on: str | None = None,
) -> UnreachableError:
    """Build the error for ``what`` can't be read; a refusal names the missing right.

    ``on`` is the resource of that right where the code does not tell it.
    """
    result = result_of(code, message)
    if right := right_for(api, result.code, on):
        return missing_rights_error(wire.principal, {right: RefusedRead(what, result.code)})
    return UnreachableError(
        f"the cluster could not say {what}: {result}; try again, and look at its brokers' logs if "
        "it stays so"
    )
