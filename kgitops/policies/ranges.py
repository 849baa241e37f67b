"""What the pack's ranges have in common."""

import math
from collections.abc import Callable

from kgitops.model.resources.topics import TopicState
from kgitops.policy import ClusterState


def require_order(
    least: float | None, most: float | None, *, names: tuple[str, str] = ("min", "max")
) -> None:
    """Refuse a range that nothing is in.

    Raises:
        ValueError: the least is more than the most.
    """
    if least is not None and most is not None and least > most:
        raise ValueError(f"{names[0]} is more than {names[1]}, so that nothing would be allowed")


def require_range(least: float | None, most: float | None, example: str) -> None:
    """Refuse a range without ends, or one that nothing is in.

    Raises:
        ValueError: both are missing, or the least is more than the most.
    """
    if least is None and most is None:
        raise ValueError(f"min and max are missing (write one of them, such as {example})")
    require_order(least, most)


def wanted(
    value: float, least: int | None, most: int | None, text: Callable[[int], str] = str
) -> str | None:
    """The end that a value is beyond: ``at least 3``, ``at most 48``; None within the range."""
    if least is not None and value < least:
        return f"at least {text(least)}"
    if most is not None and value > most:
        return f"at most {text(most)}"
    return None


def number_of(topic: TopicState, key: str, cluster_state: ClusterState) -> int:
    """The value that holds for a number among the topic's configs."""
    value = cluster_state.effective_config(topic, key)
    if value is None:
        raise ValueError(f"{key} has neither a value nor a default")
    return int(value)


def limit(topic: TopicState, key: str, cluster_state: ClusterState) -> float:
    """The value that holds for a limit of the topic's log; -1 is no limit, so infinite."""
    value = number_of(topic, key, cluster_state)
    return math.inf if value == -1 else value


def shown(value: float, text: Callable[[int], str]) -> str:
    """A limit as people write it."""
    return "unlimited" if math.isinf(value) else text(int(value))


def partitions_text(count: int) -> str:
    """``1 partition``, ``2 partitions``."""
    return "1 partition" if count == 1 else f"{count} partitions"


def deletes(topic: TopicState, cluster_state: ClusterState) -> bool:
    """Whether the topic's old records are deleted, so that its retention means something."""
    return "delete" in (cluster_state.effective_config(topic, "cleanup.policy") or "")
