"""FindCoordinator: each group has one broker that keeps what it has committed."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kafka.protocol.metadata import FindCoordinatorRequest

from kgitops.cluster.kafka.answers import LOOK_MS, result_of
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.results import ErrorCode, RequestResult

T = TypeVar("T")

_GROUP = 0  # the type of a coordinator's key
_MANY_AT_ONCE = 4  # the version from which on one request asks for many
_PAUSE_S = 0.1
# Nothing was read or done: the group is on its way from one broker to another, or, when the first
# group ever is looked for, the internal topic of offsets is being made.
_ON_ITS_WAY = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def ask_coordinators(
    wire: Wire,
    groups: Sequence[str],
    ask: Callable[[int, Sequence[str]], Mapping[str, T | RequestResult]],
) -> Mapping[str, T | RequestResult]:
    """What ``ask`` has of each group from the broker that coordinates it, or why nothing.

    Raises:
        UnreachableError: a broker does not answer.
    """
    found: dict[str, T | RequestResult] = {}
    deadline = time.monotonic() + LOOK_MS / 1000
    left = sorted(set(groups))
    while left:
        by_broker: defaultdict[int, list[str]] = defaultdict(list)
        for group, broker in _find(wire, left).items():
            if isinstance(broker, RequestResult):
                found[group] = broker
            else:
                by_broker[broker].append(group)
        for broker, mine in sorted(by_broker.items()):
            found |= ask(broker, mine)
        left = [group for group in left if _is_on_its_way(found[group])]
        if time.monotonic() >= deadline:
            break
        if left:
            time.sleep(_PAUSE_S)
    return found


def _find(wire: Wire, groups: Sequence[str]) -> Mapping[str, int | RequestResult]:
    request = FindCoordinatorRequest(
        key_type=_GROUP, coordinator_keys=list(groups), min_version=_MANY_AT_ONCE
    )
    return {
        row.key: result_of(row.error_code, row.error_message) if row.error_code else row.node_id
        for row in wire.send(request, timeout_ms=LOOK_MS).coordinators
    }


def _is_on_its_way(answer: object) -> bool:
    return isinstance(answer, RequestResult) and answer.code in _ON_ITS_WAY
