"""Brokers have topics created that clients ask for: their own, and by Metadata any (F590-32…36)."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from kgitops.cluster.embedded.options import BROKER_PRINCIPAL
from kgitops.model.resources.names import INTERNAL_TOPICS
from kgitops.model.results import ErrorCode
from kgitops.serve.call import CreateTopics
from kgitops.serve.forwarding.brokers.forwarder import Forwarder
from kgitops.serve.forwarding.brokers.internal_topics import (
    create_topics_frame,
    created_code,
    created_topic,
    internal_topic,
)
from kgitops.serve.forwarding.deciding import client_of
from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.listening.answering import ClientConnection
from kgitops.serve.nodes import Node, NodeKind, ServedCluster
from kgitops.wire import messages
from kgitops.wire.messages import Message

_COORDINATED_BY = {0: "__consumer_offsets", 1: "__transaction_state"}
"""By the type of key that FindCoordinator asks about."""
_PENDING = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Answers to CreateTopics after which the topic is there, or may be asked for again."""
_log = logging.getLogger(__name__)
_FIRST_WITH_KEYS = 4
"""The version of FindCoordinator from which on it asks for several."""


class AutoCreation:
    """Asks the controller for topics; once for each name, however many clients want it."""

    def __init__(
        self, cluster: ServedCluster, timeout_ms: int, forwarder: Callable[[int], Forwarder]
    ) -> None:
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._forwarder = forwarder
        self._refused: set[str] = set()
        """The topics of brokers that the controller refused to create."""
        self._creating: dict[tuple[str, str, str | None], asyncio.Task[ErrorCode]] = {}

    @property
    def waits(self) -> bool:
        """True if a client is answered once the topic is there; Kafka answers at once (F590-35)."""
        return self._cluster.controller.options.seed

    def for_client(
        self, connection: ClientConnection, client_id: str | None
    ) -> CreateTopics | None:
        """The creation of topics in a client's name; None at a controller."""
        if connection.node.kind is NodeKind.CONTROLLER:
            return None
        return lambda names: self._create_wanted(names, connection, client_id)

    def has_coordinator(self, key_type: int, node: Node) -> bool:
        """Return whether coordinators of a kind can be found at a node.

        A refused topic keeps nobody from its group, unlike on Kafka: offsets are in the store.
        """
        name = _COORDINATED_BY.get(key_type)
        topics = self._cluster.view_of(node).topics.by_name
        return name is None or name in topics or name in self._refused

    async def create_coordinator(self, key_type: int, node: Node) -> bool:
        """Have the topic of a kind of coordinator created; False while it is not there yet."""
        name = _COORDINATED_BY[key_type]
        asked = self._create_internal(name, node)
        asked.add_done_callback(lambda done: self._note_refusal(name, done))
        if self.waits:
            await asked
        return self.has_coordinator(key_type, node)

    def close(self) -> None:
        """Stop asking."""
        for task in self._creating.values():
            task.cancel()

    async def _create_wanted(
        self, names: Sequence[str], connection: ClientConnection, client_id: str | None
    ) -> Mapping[str, ErrorCode]:
        static = self._cluster.controller.options.static_configs
        asked = {
            name: self._create_internal(name, connection.node)
            if self.waits and name in INTERNAL_TOPICS
            else self._once(
                connection.node, client_of(connection), client_id, created_topic(static, name)
            )
            for name in names
        }
        if not self.waits:
            return {}
        return dict(zip(asked, await asyncio.gather(*asked.values()), strict=True))

    def _create_internal(self, name: str, node: Node) -> asyncio.Future[ErrorCode]:
        """Have a topic of the brokers' own created, in the broker's name."""
        broker = ForwardedClient(
            principal=BROKER_PRINCIPAL, host=node.endpoint.host, listener=node.listener
        )
        return self._once(node, broker, f"broker-{node.id}", internal_topic(self._cluster, name))

    def _note_refusal(self, name: str, done: asyncio.Future[ErrorCode]) -> None:
        if done.cancelled() or done.exception() or done.result() in _PENDING:
            return
        if name not in self._refused:
            _log.warning("the topic %s can't be created: %s", name, done.result().name)
        self._refused.add(name)

    def _once(
        self, node: Node, client: ForwardedClient, client_id: str | None, topic: Message
    ) -> asyncio.Future[ErrorCode]:
        key = topic.name, client.principal, client_id
        task = self._creating.get(key)
        if task is None:
            task = asyncio.ensure_future(self._ask(node, client, client_id, topic))
            self._creating[key] = task
            task.add_done_callback(lambda _: self._creating.pop(key, None))
        # A client that goes away leaves the topic to the others that want it.
        return asyncio.shield(task)

    async def _ask(
        self, node: Node, client: ForwardedClient, client_id: str | None, topic: Message
    ) -> ErrorCode:
        answer = await self._forwarder(node.id).forward(
            create_topics_frame(client_id, topic, self._timeout_ms),
            client,
            timeout_ms=self._timeout_ms,
            connection=("topic", topic.name),
            # As before KIP-590, when brokers wrote their topics themselves (F590-33).
            bypasses_policies=self.waits and client.principal == BROKER_PRINCIPAL,
        )
        return answer.code if answer.frame is None else created_code(answer.frame)


def not_available(request: Message, version: int) -> Message:
    """The answer to FindCoordinator while there is no topic for coordinators yet (F590-35)."""
    response = messages.FindCoordinatorResponse
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if version < _FIRST_WITH_KEYS:
        return response(error_code=code, error_message=None, node_id=-1, host="", port=-1)
    row = response.Coordinator
    return response(
        coordinators=[
            row(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=None)
            for key in request.coordinator_keys
        ]
    )
