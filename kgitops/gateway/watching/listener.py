"""``--metrics``: the gateway over HTTP, ``/metrics``, ``/healthz`` and ``/readyz``."""

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

from kgitops.gateway.watching.exposition import exposition
from kgitops.gateway.watching.status import GatewayStatus
from kgitops.serve.http.listener import HttpListener
from kgitops.serve.http.messages import HttpRequest, HttpResponse, text_response

_PATHS = "there are /metrics, /healthz and /readyz"


class StatusListener:
    """Tells how a gateway does."""

    def __init__(self, status: Callable[[], GatewayStatus], host: str, port: int) -> None:
        self._status = status
        self._listener = HttpListener(self._answer, host=host, port=port, option="--metrics")

    @property
    def url(self) -> str:
        """The address, once it has started."""
        return self._listener.url

    async def start(self) -> None:
        """Open the port; 0 takes a free one.

        Raises:
            UnreachableError: it is taken, or the host is not one of this machine.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """Close the port."""
        await self._listener.stop()

    async def _answer(self, request: HttpRequest, _body: AsyncIterator[bytes]) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return text_response("only GET", HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path == "/metrics":
            body, content_type = exposition(self._status(), request.header("accept") or "")
            return HttpResponse(body=body, content_type=content_type)
        if request.path == "/healthz":
            return text_response("ok")
        if request.path == "/readyz":
            problems = self._status().problems()
            if problems:
                return text_response("\n".join(problems), HTTPStatus.SERVICE_UNAVAILABLE)
            return text_response("ok")
        return text_response(_PATHS, HTTPStatus.NOT_FOUND)
