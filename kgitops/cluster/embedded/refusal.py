"""Refusals of items of a batch, with Kafka's error codes and messages."""

from collections.abc import Callable
from typing import ParamSpec

from kgitops.model.resources.acls import Operation
from kgitops.model.results import OK, ErrorCode, RequestResult

P = ParamSpec("P")

TIMED_OUT = RequestResult(code=ErrorCode.REQUEST_TIMED_OUT, message="The request timed out.")


class Refusal(Exception):  # noqa: N818 (an answer, not an error of this program)
    """One item is refused; nothing was written for it."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.result = RequestResult(code=code, message=message)


def attempt(
    decide: Callable[P, RequestResult | None], *args: P.args, **kwargs: P.kwargs
) -> RequestResult:
    """The answer of ``decide``, its refusal included; None means success."""
    try:
        return decide(*args, **kwargs) or OK
    except Refusal as refusal:
        return refusal.result


def duplicate(message: str) -> RequestResult:
    """The answer to an item that appears twice in one request."""
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=message)


def missing_right(operation: Operation) -> Refusal:
    """The refusal of a caller that lacks a right on the cluster.

    The message is that of AuthHelper.authorizeClusterOperation, without its dump of the request.
    """
    return Refusal(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        f"The request needs {operation.value.upper()} permission.",
    )
