"""Decides requests: at a controller, or for a broker that does not forward."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial

from kgitops.model.results import ErrorCode
from kgitops.serve.answers.table import ANSWERS, WAITING, Thread
from kgitops.serve.call import ApiCall, Later, decide_in, make_call
from kgitops.serve.forwarding.audit import has_code, log_decision
from kgitops.serve.forwarding.brokers.internal_topics import broker_admin
from kgitops.serve.forwarding.deciding import Decision
from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.forwarding.failures import failed
from kgitops.serve.nodes import Node, ServedCluster
from kgitops.serve.threads import in_thread
from kgitops.wire.codec import write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import RequestFrame, read_message
from kgitops.wire.messages import Message

_LARGE = 4096
"""Bytes of a request from which on it is read in a thread."""


class Decider:
    """Has the requests decided that controllers answer, whichever way they came.

    ``versions`` are those that controllers announce.
    """

    def __init__(
        self,
        cluster: ServedCluster,
        threads: Mapping[Thread, Executor],
        versions: Mapping[int, range],
    ) -> None:
        self._cluster = cluster
        self._threads = threads
        self._versions = versions
        self._decide_in = decide_in(threads[Thread.DECISION])

    async def decide(
        self,
        frame: RequestFrame,
        client: ForwardedClient,
        node: Node | None,
        *,
        bypasses_policies: bool = False,
    ) -> Decision:
        """Have a request decided (``forwarding.deciding.Decide``).

        Raises:
            MalformedError: it is not a request, or not of a version that controllers know.
        """
        name = frame.api.name
        if frame.version not in self._versions.get(frame.api.key, ()):
            raise MalformedError(f"no controller answers {name} version {frame.version}")
        request = await self.read_message(frame)
        call = make_call(
            self._cluster,
            frame,
            node or self._cluster.active_controller,
            self._decide_in,
            principal=client.principal,
            host=client.host,
        )
        admin = broker_admin(call, request, client, bypasses_policies=bypasses_policies)
        if admin is not None:
            call = call.with_admin(admin)
        if name in WAITING:
            if not self._decides(node):
                return _not_controller(frame, request)
            return self._decided(frame, client, await WAITING[name](call, request))
        thread = ANSWERS[name].thread
        answer = partial(self._answer, frame, client, node, call, request)
        if thread is Thread.READ_IF_LARGE and len(frame.data) < _LARGE:
            found = answer()
        else:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads[thread], answer)
        if isinstance(found, Decision):
            return found
        return self._decided(frame, client, await found())

    async def read_message(self, frame: RequestFrame) -> Message:
        """Read the message of a request, a large one in a thread.

        Raises:
            MalformedError: it is not one.
        """
        if len(frame.data) < _LARGE:
            return _message(frame)
        return await in_thread(self._threads[Thread.READ_IF_LARGE], _message, frame)

    def _answer(
        self,
        frame: RequestFrame,
        client: ForwardedClient,
        node: Node | None,
        call: ApiCall,
        request: Message,
    ) -> Decision | Later:
        # In the thread of decisions: the controller may have moved while the request waited.
        if not self._decides(node):
            return _not_controller(frame, request)
        answer = ANSWERS[frame.api.name].answer(call, request)
        if callable(answer):
            later: Later = answer
            return later
        return self._decided(frame, client, answer)

    def _decides(self, node: Node | None) -> bool:
        return node is None or self._cluster.controllers.active == node.id

    def _decided(self, frame: RequestFrame, client: ForwardedClient, response: Message) -> Decision:
        self._cluster.views.note()
        now_ms = self._cluster.controller.clock_and_ids.now_ms()
        log_decision(frame, client, response, now_ms=now_ms)
        lifted = has_code(response, ErrorCode.NOT_CONTROLLER)
        return Decision(write(response, frame.version), lifted)


def _message(frame: RequestFrame) -> Message:
    return read_message(frame)


def _not_controller(frame: RequestFrame, request: Message) -> Decision:
    response = failed(frame.api.name, frame.version, request, ErrorCode.NOT_CONTROLLER)
    return Decision(write(response, frame.version), not_controller=True)
