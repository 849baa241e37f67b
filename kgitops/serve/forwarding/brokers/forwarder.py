"""A broker's side of forwarding: it asks the controller until there is an answer, or no time."""

import asyncio

from msgspec import Struct

from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.brokers.channel import ControllerChannel
from kgitops.serve.forwarding.envelope import ForwardedClient, packed, read_answer
from kgitops.serve.forwarding.metrics import ForwardingMetrics
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.wire.errors import MalformedError

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 1.0
_GRACE = 1.0
"""Time for what a controller has begun in time; what it takes is the controller's to say."""


class ForwardedAnswer(Struct, frozen=True):
    """The error that a broker got for a request, or the client's answer without its length."""

    code: ErrorCode
    frame: bytes | None = None


class Forwarder:
    """Sends the requests of one broker's clients to the active controller."""

    def __init__(
        self,
        channel: ControllerChannel,
        metrics: ForwardingMetrics,
        options: ForwardingOptions,
        *,
        seed: bool,
    ) -> None:
        self.channel = channel
        self.metrics = metrics
        self._options = options
        self._seed = seed

    async def forward(
        self,
        request: bytes,
        client: ForwardedClient,
        *,
        timeout_ms: int,
        connection: object,
        bypasses_policies: bool = False,
    ) -> ForwardedAnswer:
        """Forward a client's frame; ``timeout_ms`` is the request's own, 0 or less for none.

        The answer is NONE with a frame, REQUEST_TIMED_OUT, or UNSUPPORTED_VERSION: the client's
        connection is to be closed then. Any other error is UNKNOWN_SERVER_ERROR to clients.
        """
        serde = self._options.principal_serde
        if serde is None:
            return ForwardedAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
        envelope = packed(
            request,
            client,
            serde,
            with_listener=self._seed,
            bypasses_policies=bypasses_policies,
        )
        seconds = (timeout_ms if timeout_ms > 0 else self._options.timeout_ms) / 1000
        deadline = asyncio.get_running_loop().time() + seconds
        with self.metrics.pending(connection):
            answer = await self._ask_until(envelope, deadline)
        if answer.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self.metrics.unauthorized += 1
        if answer.code in _TOLD:
            return answer
        return ForwardedAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)

    async def _ask_until(self, envelope: bytes | bytearray, deadline: float) -> ForwardedAnswer:
        loop = asyncio.get_running_loop()
        wait = _FIRST_WAIT
        since = self.metrics.now()
        while True:
            try:
                async with asyncio.timeout_at(deadline + _GRACE):
                    answer = await self._ask(envelope, since)
                if answer.code is not ErrorCode.NOT_CONTROLLER:
                    return answer
                self.channel.leave()
                since = self.metrics.now()
            except TimeoutError:
                return ForwardedAnswer(ErrorCode.REQUEST_TIMED_OUT)
            except OSError:
                pass  # the connection was refused or lost: a retry, as after NOT_CONTROLLER
            except MalformedError:
                self.channel.close()
                return ForwardedAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
            if loop.time() + wait >= deadline:
                return ForwardedAnswer(ErrorCode.REQUEST_TIMED_OUT)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    async def _ask(self, envelope: bytes | bytearray, since: float) -> ForwardedAnswer:
        await self.channel.connect()
        with self.metrics.remote(since):
            code, frame = read_answer(await self.channel.ask_envelope(envelope))
        return ForwardedAnswer(code, frame)


_TOLD = frozenset({ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNSUPPORTED_VERSION})
