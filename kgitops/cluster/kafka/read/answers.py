"""What a refusal of a read means for whoever plans."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kgitops.cluster.kafka.answers import result_of
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.results import RETRIABLE, ErrorCode

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
