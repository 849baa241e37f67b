"""The partitions that requests about records name: found, allowed, and led by this broker."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.image.image import Image, leader
from kgitops.cluster.embedded.store.batches import LEADER_EPOCH
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.values import topic_id_text
from kgitops.serve.call import ApiCall
from kgitops.serve.data.data_plane import Place
from kgitops.wire.messages import Message

T = TypeVar("T")

NO_EPOCH = -1
_STEPS = 500
_UNKNOWN_ID = TopicAccess(result=RequestResult(code=ErrorCode.UNKNOWN_TOPIC_ID))


async def yield_to_event_loop(done: int) -> None:
    """Let other clients have a turn in the event loop after so many steps of one's own."""
    if done % _STEPS == _STEPS - 1:
        await asyncio.sleep(0)


async def looked_up(topics: Sequence[Message], find: Callable[[], T]) -> T:
    """Find something out about the topics of a request, in a thread if they are many."""
    if len(topics) < _STEPS:
        return find()
    return await asyncio.get_running_loop().run_in_executor(None, find)


class PartitionError(Exception):
    """A partition can't be used here; ``leader`` is told to clients that ask the wrong broker."""

    def __init__(
        self, code: ErrorCode, message: str | None = None, *, leader: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.leader = leader


def topics_by_id(
    call: ApiCall, operation: Operation, ids: Iterable[bytes]
) -> dict[bytes, TopicAccess]:
    """The topics of these ids, as the caller's namespace has them."""
    texts = {topic_id: topic_id_text(topic_id) for topic_id in ids}
    names = call.admin.topic_names(texts.values())
    found = call.admin.authorize_topics(operation, names.values())
    return {
        topic_id: _by_id(found[names[text]]) if text in names else _UNKNOWN_ID
        for topic_id, text in texts.items()
    }


def find_place(
    call: ApiCall, image: Image, access: TopicAccess, partition: int, epoch: int = NO_EPOCH
) -> Place:
    """The partition, if the client may, and may at this broker.

    Raises:
        PartitionError: it may not.
    """
    topic = access.topic
    if topic is None:
        raise PartitionError(access.result.code)
    if not 0 <= partition < len(topic.assignment):
        raise PartitionError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    leading = leader(image.brokers.brokers.values(), topic, partition)
    if leading != call.node.id:
        raise PartitionError(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=leading)
    if epoch > LEADER_EPOCH:
        raise PartitionError(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if NO_EPOCH < epoch < LEADER_EPOCH:
        raise PartitionError(ErrorCode.FENCED_LEADER_EPOCH)
    return Place(topic, partition)


def set_current_leader(
    call: ApiCall, row: Message, error: PartitionError, first_version: int
) -> None:
    """Say in a partition's row who leads it (KIP-951)."""
    if error.leader is not None and call.version >= first_version:
        row.current_leader.leader_id = error.leader
        row.current_leader.leader_epoch = LEADER_EPOCH


def leader_endpoints(
    call: ApiCall, image: Image, kind: type[Message], leaders: Iterable[int | None]
) -> list[Message]:
    """The addresses of the leaders that ``set_current_leader`` has told."""
    wanted = set(leaders)
    return [
        kind(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker, endpoint in call.cluster.living_brokers(image)
        if broker.id in wanted
    ]


def _by_id(access: TopicAccess) -> TopicAccess:
    unknown = access.result.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _UNKNOWN_ID if unknown else access
