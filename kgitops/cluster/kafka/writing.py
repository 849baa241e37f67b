"""Logical requests as Kafka's requests, and what the brokers answer."""

from collections.abc import Sequence

from kgitops.cluster.kafka.wire import Wire
from kgitops.model.requests import Request
from kgitops.model.results import RequestResult


def execute(
    wire: Wire, requests: Sequence[Request], *, validate_only: bool
) -> Sequence[RequestResult]:
    """Carry out one wire batch: requests of one api, one result each, in order.

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    raise NotImplementedError
