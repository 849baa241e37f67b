"""When a call about topics may answer: each topic is done, failed, or the time is up (A4-06)."""

import time
from collections.abc import Callable

from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.image.image import NO_LEADER, Image, leader
from kgitops.model.results import ErrorCode, RequestResult

TIMED_OUT = RequestResult(code=ErrorCode.REQUEST_TIMED_OUT, message="The request timed out.")
_POLL_SECONDS = 0.005

IsDone = Callable[[Image, str], bool]


def finish(
    controller: Controller, results: dict[str, RequestResult], is_done: IsDone, timeout_ms: int
) -> dict[str, RequestResult]:
    """``results`` once their topics are done; those that are not when the time is up say so.

    With a timeout of 0 or less nothing is waited for: what was accepted counts as not done
    (A4-42, A4-43).
    """
    deadline = time.monotonic() + timeout_ms / 1000
    pending = {name for name, result in results.items() if result.ok}
    while pending and timeout_ms > 0:
        image = controller.image()
        pending = {name for name in pending if not is_done(image, name)}
        if time.monotonic() >= deadline:
            break
        if pending:
            time.sleep(_POLL_SECONDS)
    return {name: TIMED_OUT if name in pending else result for name, result in results.items()}


def has_leaders(controller: Controller) -> IsDone:
    """Done is a topic when each of its partitions has a leader (A4-41)."""

    def is_done(image: Image, name: str) -> bool:
        topic = image.topics.by_name.get(name)
        if topic is None:
            return True  # deleted meanwhile
        if name in controller.faults.leaderless_topics:
            return False
        brokers = image.brokers.brokers.values()
        partitions = range(len(topic.assignment))
        return all(leader(brokers, topic, partition) != NO_LEADER for partition in partitions)

    return is_done


def is_gone(image: Image, key: str) -> bool:
    """Done is a deletion when no topic has this name or id (A4-65)."""
    return key not in image.topics.by_name and key not in image.topics.names
