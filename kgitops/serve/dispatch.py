"""From a frame to its answer: the header, the version, the message, and who answers it."""

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.model.results import ErrorCode
from kgitops.serve.announced import announced_versions, api_versions
from kgitops.serve.answers.table import ANSWERS, WAITING, Thread
from kgitops.serve.call import ApiCall
from kgitops.serve.listening.connection import ClientConnection
from kgitops.serve.listening.protocol import Answer, CloseConnectionError
from kgitops.serve.nodes import NodeKind, ServedCluster
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.frames import RequestFrame, UnsupportedVersionError, read_request, response_frame
from kgitops.wire.messages import Message, message_class

_API_VERSIONS = "ApiVersions"
_LARGE = 4096
"""Bytes of a request from which on it is answered in a thread."""
_MANY = 200
"""Topics from which on a request about all of them is answered in a thread."""


class Dispatcher:
    """Answers the requests of all listeners of a cluster."""

    def __init__(self, cluster: ServedCluster) -> None:
        self._cluster = cluster
        # Decisions are taken one at a time; large reads do not wait for them.
        self._threads = {
            Thread.DECISION: ThreadPoolExecutor(1, "decision"),
            Thread.READ_IF_LARGE: ThreadPoolExecutor(1, "read"),
        }
        seed = cluster.controller.options.seed
        self._announced = {
            kind: announced_versions([*ANSWERS, *WAITING, _API_VERSIONS], kind, seed=seed)
            for kind in NodeKind
        }

    def answer(self, data: bytes, connection: ClientConnection) -> Answer | Awaitable[Answer]:
        """Answer a request, at once or in a thread.

        Raises:
            CloseConnectionError: the listener does not answer such requests.
            MalformedError: it is not a request.
        """
        announced = self._announced[connection.node.kind]
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
        if frame.api.name in WAITING:
            return self._wait_for(frame, connection)
        answer = ANSWERS[frame.api.name]
        if answer.thread is Thread.READ_IF_LARGE and not self._is_large(data):
            return self._answer(frame, connection)
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads[answer.thread], self._answer, frame, connection)

    def close(self) -> None:
        """Wait for the decisions that are being taken; take no other."""
        for thread in self._threads.values():
            thread.shutdown(cancel_futures=True)

    def _answer(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        request = read(message_class(frame.api.request), frame.version, frame.data, frame.body)
        return _frame(frame, ANSWERS[frame.api.name].answer(self._call(frame, connection), request))

    async def _wait_for(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        request = read(message_class(frame.api.request), frame.version, frame.data, frame.body)
        answer = WAITING[frame.api.name]
        return _frame(frame, await answer(self._call(frame, connection), request))

    def _call(self, frame: RequestFrame, connection: ClientConnection) -> ApiCall:
        principal = connection.principal or ""
        admin = EmbeddedAdmin(
            self._cluster.controller,
            principal=principal,
            host=connection.host,
            client_id=frame.client_id,
            view=self._cluster.view,
        )
        return ApiCall(
            cluster=self._cluster,
            node=connection.node,
            admin=admin,
            version=frame.version,
            principal=principal,
            host=connection.host,
            client_id=frame.client_id,
        )

    def _is_large(self, data: bytes) -> bool:
        return len(data) >= _LARGE or len(self._cluster.view().topics.by_name) >= _MANY

    def _api_versions(self, frame: RequestFrame, connection: ClientConnection) -> Answer:
        request = read(message_class(frame.api.request), frame.version, frame.data, frame.body)
        if frame.version in frame.api.flexible:
            connection.software = (request.client_software_name, request.client_software_version)
        return _frame(frame, api_versions(self._announced[connection.node.kind]))

    def _oldest_api_versions(self, correlation_id: int, connection: ClientConnection) -> bytes:
        announced = self._announced[connection.node.kind]
        response = api_versions(announced, ErrorCode.UNSUPPORTED_VERSION)
        api = apis()[keys()[_API_VERSIONS]]
        return response_frame(api, 0, correlation_id, write(response, 0))


def _frame(frame: RequestFrame, response: Message | None) -> Answer:
    if response is None:
        return None
    body = write(response, frame.version)
    return response_frame(frame.api, frame.version, frame.correlation_id, body)
