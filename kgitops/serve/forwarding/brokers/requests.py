"""The brokers' side of forwarding: from a client's frame to the answer of the controller."""

from collections.abc import Awaitable, Callable, Mapping

from kgitops.model.results import ErrorCode
from kgitops.serve.call import CreateTopics
from kgitops.serve.forwarding.apis import is_for_controller
from kgitops.serve.forwarding.brokers.auto_creation import AutoCreation
from kgitops.serve.forwarding.brokers.channel import ControllerChannel
from kgitops.serve.forwarding.brokers.checks import CheckedRequest, check_at_broker
from kgitops.serve.forwarding.brokers.forwarder import Forwarder
from kgitops.serve.forwarding.deciding import Decide, client_of, controller_node, wait_until_visible
from kgitops.serve.forwarding.failures import failed
from kgitops.serve.forwarding.metrics import ForwardingMetrics
from kgitops.serve.forwarding.options import Consistency, ForwardingOptions, Routing
from kgitops.serve.listening.answering import ClientConnection, CloseConnectionError
from kgitops.serve.nodes import Node, ServedCluster
from kgitops.wire.codec import read, write
from kgitops.wire.frames import (
    SIZE_BYTES,
    RequestFrame,
    read_request,
    request_frame,
    response_frame,
    response_tags,
    with_size,
)
from kgitops.wire.messages import Message, message_class

Read = Callable[[RequestFrame], Awaitable[Message]]
"""Reads the message of a request, a large one in a thread."""
_READS = ("Describe", "List")


class BrokerRequests:
    """Answers what arrives at brokers, and the controller decides."""

    def __init__(
        self,
        cluster: ServedCluster,
        options: ForwardingOptions,
        secret: str,
        decide: Decide,
        read_message: Read,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._secret = secret
        self._decide = decide
        self._read = read_message
        self._forwarders: dict[int, Forwarder] = {}
        self.topics = AutoCreation(cluster, options.timeout_ms, self.forwarder)

    def creation(self, connection: ClientConnection, client_id: str | None) -> CreateTopics | None:
        """The creation of topics that Metadata misses; None where that is the node's own to do."""
        if self._options.routing is Routing.DIRECT:
            return None
        return self.topics.for_client(connection, client_id)

    @property
    def metrics(self) -> Mapping[int, ForwardingMetrics]:
        """The metrics of the brokers that have forwarded something."""
        # Read in other threads than the one that adds to them.
        found = self._forwarders.copy()
        return {broker: forwarder.metrics for broker, forwarder in found.items()}

    def forwarder(self, broker: int) -> Forwarder:
        found = self._forwarders.get(broker)
        if found is None:
            found = self._forwarders[broker] = Forwarder(
                ControllerChannel(broker, self._secret, lambda: controller_node(self._cluster)),
                ForwardingMetrics(),
                self._options,
                seed=self._cluster.controller.options.seed,
            )
        return found

    def versions_of_controller(self, node: Node) -> Mapping[int, range] | None:
        """Those that a broker knows the controller to have; None before it first forwarded."""
        found = self._forwarders.get(node.id)
        return found.channel.versions if found else None

    def close(self) -> None:
        """Close the connections to controllers."""
        self.topics.close()
        for forwarder in self._forwarders.values():
            forwarder.channel.close()

    async def answer(self, frame: RequestFrame, connection: ClientConnection) -> bytes:
        """Answer a client's request as the controller decides it.

        Raises:
            CloseConnectionError: the controller does not understand it.
            MalformedError: it is not a request.
        """
        request = await self._read(frame)
        api, version = frame.api.name, frame.version
        if self._refuses(api, version, connection.node.id):
            return _failed(frame, request, ErrorCode.NOT_CONTROLLER)
        checked = check_at_broker(api, request, connection.node.id)
        if checked is None:
            answer = await self._ask(frame, request, connection)
        else:
            answer = await self._ask_for_rest(frame, checked, connection)
        if self._options.consistency is Consistency.CLUSTER and not api.startswith(_READS):
            timeout_ms = max(getattr(request, "timeout_ms", 0), 0) or self._options.timeout_ms
            if not await wait_until_visible(self._cluster, timeout_ms):
                return _failed(frame, request, ErrorCode.REQUEST_TIMED_OUT)
        return answer

    def _refuses(self, api: str, version: int, broker: int) -> bool:
        """True if the client is to find the controller itself, as KIP-590 has it (F590-08)."""
        return (
            self._options.routing is Routing.STRICT
            and is_for_controller(api, version)
            and broker != self._cluster.announced_controller(self._cluster.views.of(broker))
        )

    async def _ask(
        self, frame: RequestFrame, request: Message, connection: ClientConnection
    ) -> bytes:
        client = client_of(connection)
        if self._options.routing is Routing.DIRECT:
            decision = await self._decide(frame, client, None)
            return response_frame(frame.api, frame.version, frame.correlation_id, decision.body)
        answer = await self.forwarder(connection.node.id).forward(
            frame.data,
            client,
            timeout_ms=getattr(request, "timeout_ms", 0),
            connection=id(connection),
        )
        if answer.code is ErrorCode.UNSUPPORTED_VERSION:
            raise CloseConnectionError("its controller does not understand the request")
        if answer.frame is None:
            return _failed(frame, request, answer.code)
        return with_size(answer.frame)

    async def _ask_for_rest(
        self, frame: RequestFrame, checked: CheckedRequest, connection: ClientConnection
    ) -> bytes:
        """Ask about what this broker has not refused, and complete the answer."""
        api, version, rest = frame.api, frame.version, checked.rest
        response = message_class(api.response)
        if rest.resources:
            data = request_frame(api, version, frame.correlation_id, frame.client_id, rest)
            inner = read_request(data[SIZE_BYTES:])
            answer = await self._ask(inner, rest, connection)
            after = SIZE_BYTES + 4 + response_tags(api, version)
            decided = read(response, version, answer, after)
        else:
            decided = response()
        body = write(checked.complete(decided), version)
        return response_frame(api, version, frame.correlation_id, body)


def _failed(frame: RequestFrame, request: Message, code: ErrorCode) -> bytes:
    body = write(failed(frame.api.name, frame.version, request, code), frame.version)
    return response_frame(frame.api, frame.version, frame.correlation_id, body)
