"""Brokers' answers as results: the code, its name, and the broker's own words."""

import re
from dataclasses import replace

from kafka.errors import for_code

from kgitops.cluster.kafka.transport.wire import Message
from kgitops.model.results import OK, ErrorCode, RequestResult

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
