"""Metrics of a served cluster over HTTP, on loopback: ``/metrics`` for Prometheus, ``/healthz``."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from kgitops.serve.http.listener import HttpListener
from kgitops.serve.http.messages import HttpRequest, HttpResponse, text_response
from kgitops.serve.listening.settings import LOOPBACK
from kgitops.serve.server import KafkaServer

_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class MetricsListener:
    """Tells how a served cluster does."""

    def __init__(self, server: KafkaServer, port: int) -> None:
        self._server = server
        self._listener = HttpListener(self._answer, host=LOOPBACK, port=port, option="--metrics")

    @property
    def port(self) -> int:
        """The one that is listened on, once it has started."""
        return self._listener.port

    async def start(self) -> None:
        """Open the port; 0 takes a free one.

        Raises:
            UnreachableError: it is taken.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """Close the port."""
        await self._listener.stop()

    async def _answer(self, request: HttpRequest, _body: AsyncIterator[bytes]) -> HttpResponse:
        if request.method != "GET":
            return text_response("only GET", HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path == "/metrics":
            text = self._server.metrics_text()
            return HttpResponse(body=text.encode(), content_type=_METRICS)
        if request.path == "/healthz":
            return text_response("ok")
        return text_response("there are /metrics and /healthz", HTTPStatus.NOT_FOUND)
