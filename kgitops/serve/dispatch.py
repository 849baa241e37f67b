"""From a frame to its answer: the header, the version, the message, and who answers it."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

from kgitops.model.results import ErrorCode
from kgitops.serve.announced import Announced, announced_versions, api_versions, api_versions_body
from kgitops.serve.answers.groups.groups import finds_any
from kgitops.serve.answers.table import ANSWERS, WAITING, Thread
from kgitops.serve.call import ApiCall, Later, decide_in, make_call
from kgitops.serve.forwarding.apis import FORWARDED, common_versions
from kgitops.serve.forwarding.brokers.auto_creation import not_available
from kgitops.serve.forwarding.brokers.login import LOGIN_APIS, log_in, make_secret, shake_hands
from kgitops.serve.forwarding.brokers.requests import BrokerRequests
from kgitops.serve.forwarding.controllers.decider import Decider
from kgitops.serve.forwarding.controllers.requests import ControllerRequests
from kgitops.serve.forwarding.envelope import ENVELOPE
from kgitops.serve.forwarding.metrics import ForwardingMetrics
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.listening.answering import (
    Answer,
    ClientConnection,
    CloseConnectionError,
    OutOfOrder,
)
from kgitops.serve.nodes import Node, NodeKind, ServedCluster
from kgitops.serve.threads import in_thread
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import write
from kgitops.wire.frames import (
    RequestFrame,
    UnsupportedVersionError,
    read_message,
    read_request,
    response_frame,
)
from kgitops.wire.messages import Message

_API_VERSIONS, _FIND_COORDINATOR = "ApiVersions", "FindCoordinator"
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]{0,250}[a-zA-Z0-9])?")
"""Names and versions of clients' libraries (KIP-511), which go with each Envelope."""
_INVALID_REQUEST = ErrorCode.INVALID_REQUEST
_LARGE = 4096
"""Bytes of a request from which on it is answered in a thread."""
_VERY_LARGE = 64 * 1024
"""Bytes from which on requests about partitions are answered a few at a time."""
_AT_A_TIME = 8
_FETCHES = frozenset({"Fetch", "ShareFetch"})
_ABOUT_PARTITIONS = _FETCHES | {
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "DescribeProducers",
    "ShareAcknowledge",
}
_LONGEST_WAIT_MS = 500
"""For a very large Fetch; clients' own default."""
_MANY = 200
"""Topics from which on a request about all of them is answered in a thread."""


class Dispatcher:
    """Answers the requests of all listeners of a cluster."""

    def __init__(self, cluster: ServedCluster, forwarding: ForwardingOptions | None = None) -> None:
        self._cluster = cluster
        self._forwarding = forwarding = forwarding or ForwardingOptions()
        self._secret = make_secret()
        # Decisions are taken one at a time; large reads do not wait for them.
        self._threads = {
            Thread.DECISION: ThreadPoolExecutor(1, "decision"),
            Thread.READ_IF_LARGE: ThreadPoolExecutor(1, "read"),
        }
        options = cluster.controller.options
        self._announced = {
            kind: announced_versions(
                answered, kind, seed=options.seed, virtual_clusters=options.virtual_clusters
            )
            for kind, answered in (
                (NodeKind.BROKER, [*ANSWERS, *WAITING, _API_VERSIONS]),
                (NodeKind.CONTROLLER, [*ANSWERS, *WAITING, _API_VERSIONS, ENVELOPE, *LOGIN_APIS]),
            )
        }
        self._very_large = asyncio.Semaphore(_AT_A_TIME)
        self._decide = decide_in(self._threads[Thread.DECISION])
        self._common: dict[int, tuple[Announced, Announced]] = {}
        decider = Decider(cluster, self._threads, self._announced[NodeKind.CONTROLLER])
        self._brokers = BrokerRequests(
            cluster, forwarding, self._secret, decider.decide, decider.read_message
        )
        self._controllers = ControllerRequests(cluster, forwarding, decider.decide)

    def answer(
        self, data: bytes, connection: ClientConnection
    ) -> Answer | Awaitable[Answer] | OutOfOrder:
        """Answer a request, at once or in a thread.

        Raises:
            CloseConnectionError: the listener does not answer such requests.
            MalformedError: it is not a request.
        """
        if connection.login is not None and connection.login.takes(data):
            return connection.login.answer(data)
        announced = self._announced_at(connection.node)
        try:
            frame = read_request(data)
        except UnsupportedVersionError as error:
            if error.key != keys()[_API_VERSIONS]:
                raise
            # A client that is newer than this: it reads the oldest answer, and asks again.
            return self._oldest_api_versions(error.correlation_id, connection)
        if frame.version not in announced.get(frame.api.key, ()):
            raise CloseConnectionError(
                f"its {connection.node.kind} does not answer {frame.api.name} "
                f"version {frame.version}"
            )
        if frame.api.name == _API_VERSIONS:
            return self._api_versions(frame, connection)
        name = frame.api.name
        if connection.node.kind is NodeKind.CONTROLLER:
            if connection.principal is None and name not in LOGIN_APIS:
                raise CloseConnectionError("it has not logged in at a controller")
            if name == ENVELOPE:
                # A broker has one connection for all of its clients.
                return OutOfOrder(self._controllers.answer_envelope(frame, connection))
            if name in LOGIN_APIS:
                return self._log_in(frame, connection)
            if name in FORWARDED:
                return self._controllers.answer_client(frame, connection)
        elif name in FORWARDED:
            return self._brokers.answer(frame, connection)
        elif name == _FIND_COORDINATOR and self._forwarding.internal_topics:
            return self._find_coordinator(frame, connection)
        if name in WAITING:
            return self._wait_for(frame, connection)
        answer = ANSWERS[name]
        if answer.thread is Thread.READ_IF_LARGE and len(data) < _LARGE:
            request = read_message(frame)
            if not (self._has_many_topics() and answer.asks_for_all(request)):
                return self._answer(frame, request, connection)
        return self._answer_in(answer.thread, frame, connection)

    @property
    def forwarding_metrics(self) -> Mapping[int, ForwardingMetrics]:
        """The metrics of the brokers that have forwarded something."""
        return self._brokers.metrics

    def close_channels(self) -> None:
        """Close the brokers' connections to controllers."""
        self._brokers.close()

    async def decide(self, decide: Callable[[], None]) -> None:
        """Let something be decided in the thread for that."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads[Thread.DECISION], decide)

    def close(self) -> None:
        """Wait for the decisions that are being taken; take no other."""
        for thread in self._threads.values():
            thread.shutdown(cancel_futures=True)

    async def _answer_in(
        self, thread: Thread, frame: RequestFrame, connection: ClientConnection
    ) -> Answer:
        found = await in_thread(
            self._threads[thread],
            lambda frame: self._find(frame, read_message(frame), connection),
            frame,
        )
        return found if found is None or isinstance(found, bytes) else await _later(frame, found)

    def _answer(
        self, frame: RequestFrame, request: Message, connection: ClientConnection
    ) -> Answer | Awaitable[Answer]:
        found = self._find(frame, request, connection)
        return found if found is None or isinstance(found, bytes) else _later(frame, found)

    def _find(
        self, frame: RequestFrame, request: Message, connection: ClientConnection
    ) -> Answer | Later:
        """The answer, or what waits for it in the event loop."""
        answer = ANSWERS[frame.api.name].answer(self._call(frame, connection), request)
        if callable(answer):
            later: Later = answer
            return later
        return _frame(frame, answer)

    async def _wait_for(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        if len(frame.data) < _LARGE:
            return await self._waited(frame, read_message(frame), connection)
        if frame.api.name not in _ABOUT_PARTITIONS:
            return await self._waited(frame, await self._read_in_thread(frame), connection)
        # However many clients send such, some are in memory at a time.
        async with self._very_large if len(frame.data) >= _VERY_LARGE else nullcontext():
            request = await self._read_in_thread(frame)
            if len(frame.data) >= _VERY_LARGE and frame.api.name in _FETCHES:
                # Others wait for their turn.
                request.max_wait_ms = min(request.max_wait_ms, _LONGEST_WAIT_MS)
            return await self._waited(frame, request, connection)

    async def _waited(
        self, frame: RequestFrame, request: Message, connection: ClientConnection
    ) -> Answer:
        response = await WAITING[frame.api.name](self._call(frame, connection), request)
        if len(frame.data) < _LARGE:
            return _frame(frame, response)
        thread = self._threads[Thread.READ_IF_LARGE]
        return await in_thread(thread, lambda response: _frame(frame, response), response)

    async def _read_in_thread(self, frame: RequestFrame) -> Message:
        return await in_thread(self._threads[Thread.READ_IF_LARGE], read_message, frame)

    async def _find_coordinator(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        """Have the topic of a coordinator created before the coordinator is found."""
        request, topics = read_message(frame), self._brokers.topics
        missing = not topics.has_coordinator(request.key_type, connection.node)
        # As on Kafka, a client that may use no coordinator has no topic created.
        if (
            missing
            and finds_any(self._call(frame, connection), request)
            and not await topics.create_coordinator(request.key_type, connection.node)
        ):
            return _frame(frame, not_available(request, frame.version))
        if _FIND_COORDINATOR in WAITING:
            return await self._wait_for(frame, connection)
        return await self._answer_in(ANSWERS[_FIND_COORDINATOR].thread, frame, connection)

    def _call(self, frame: RequestFrame, connection: ClientConnection) -> ApiCall:
        return make_call(
            self._cluster,
            frame,
            connection.node,
            self._decide,
            principal=connection.principal or "",
            host=connection.host,
            create_topics=self._brokers.creation(connection, frame.client_id),
            on_close=connection.on_close,
        )

    def _log_in(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        """Let a broker log in at a controller."""
        request = read_message(frame)
        if frame.api.name == "SaslHandshake":
            return _frame(frame, shake_hands(connection, request))
        return _frame(frame, log_in(connection, request, self._secret))

    def _announced_at(self, node: Node) -> Announced:
        """The versions that a node announces: of what it forwards, those of the controller too."""
        announced = self._announced[node.kind]
        controller = self._brokers.versions_of_controller(node)
        if controller is None:
            return announced
        known = self._common.get(node.id)
        if known is None or known[0] is not controller:
            known = self._common[node.id] = controller, common_versions(announced, controller)
        return known[1]

    def _has_many_topics(self) -> bool:
        return len(self._cluster.view().topics.by_name) >= _MANY

    def _api_versions(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        request = read_message(frame)
        if frame.version in frame.api.flexible:
            software = (request.client_software_name, request.client_software_version)
            if not all(map(_SOFTWARE.fullmatch, software)):
                return _frame(frame, messages.ApiVersionsResponse(error_code=_INVALID_REQUEST))
            connection.software = software
        announced = self._announced_at(connection.node)
        body = api_versions_body(tuple(announced.items()), frame.version)
        return response_frame(frame.api, frame.version, frame.correlation_id, body)

    def _oldest_api_versions(self, correlation_id: int, connection: ClientConnection) -> bytes:
        announced = self._announced_at(connection.node)
        response = api_versions(announced, 0, ErrorCode.UNSUPPORTED_VERSION)
        api = apis()[keys()[_API_VERSIONS]]
        return response_frame(api, 0, correlation_id, write(response, 0))


async def _later(frame: RequestFrame, answer: Later) -> Answer:
    return _frame(frame, await answer())


def _frame(frame: RequestFrame, response: Message | None) -> Answer:
    if response is None:
        return None
    body = write(response, frame.version)
    return response_frame(frame.api, frame.version, frame.correlation_id, body)
