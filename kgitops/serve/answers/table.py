"""Every API that is answered: by which function, and in which thread."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto

from msgspec import Struct

from kgitops.serve.answers import cluster, metadata, topics
from kgitops.serve.call import ApiCall
from kgitops.wire.messages import Message


class Thread(Enum):
    """The thread that a request is answered in."""

    DECISION = auto()
    """The one in which the cluster changes, policies judge and the disk is waited for."""
    READ_IF_LARGE = auto()
    """The event loop's; a request that may take long has one of its own."""


Answer = Callable[[ApiCall, Message], Message | None]
"""Answers a request; None where the client expects nothing."""
WaitingAnswer = Callable[[ApiCall, Message], Awaitable[Message | None]]
"""Answers a request that may have to wait for others, in the event loop."""


class ApiAnswer(Struct, frozen=True):
    """The answer of an API, and the thread that it is found in."""

    answer: Answer
    thread: Thread


def _reads(answer: Answer) -> ApiAnswer:
    return ApiAnswer(answer, Thread.READ_IF_LARGE)


def _writes(answer: Answer) -> ApiAnswer:
    return ApiAnswer(answer, Thread.DECISION)


ANSWERS: Mapping[str, ApiAnswer] = {
    "Metadata": _reads(metadata.metadata),
    "DescribeCluster": _reads(cluster.describe_cluster),
    "CreateTopics": _writes(topics.create_topics),
    "DeleteTopics": _writes(topics.delete_topics),
}

WAITING: Mapping[str, WaitingAnswer] = {}
