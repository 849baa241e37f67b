"""The paths and their answers, and the listener that gives them."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus

from msgspec.structs import replace

from kgitops.model.clock import Clock
from kgitops.model.resources.names import is_loopback
from kgitops.reconcile.http.hook import TOKEN_VARIABLE, HookOutcome, RefusedTokens, take_hint
from kgitops.reconcile.http.options import ListenOptions
from kgitops.reconcile.http.page.content import render_status
from kgitops.reconcile.http.pending_plans import PendingPlans
from kgitops.reconcile.http.status_document import status_json
from kgitops.reconcile.loop_status import LoopView, health_problem, readiness_problems
from kgitops.reconcile.metrics.loop_metrics import LoopMetrics
from kgitops.serve.http.listener import HttpListener, in_thread
from kgitops.serve.http.messages import HTML, JSON, HttpRequest, HttpResponse, text_response

_PLAN = re.compile(r"/plans/([0-9a-f]{64})")
_WAIT_S = 45.0
_PATHS = "there are /, /status, /metrics, /healthz, /readyz and POST /reconcile"
_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::\d{1,5})?")
PLAN_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For the report of a plan, which allows its own style and script by their hashes, in itself."""


class Routes:
    """Answers requests from the loop's status; what takes long is made in a thread of its own."""

    def __init__(
        self,
        options: ListenOptions,
        view: LoopView,
        metrics: LoopMetrics,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._options = options
        self._view = view
        self._metrics = metrics
        self._clock = clock
        self._plans = PendingPlans()
        self._refused = RefusedTokens(clock, tell)
        # A large plan takes long to show, which nobody waits for who only wants a few numbers.
        self._quick = ThreadPoolExecutor(1, "kgitops reconcile page")
        self._slow = ThreadPoolExecutor(1, "kgitops reconcile plan")

    def close(self) -> None:
        """Let go of the threads."""
        for threads in (self._quick, self._slow):
            threads.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, request: HttpRequest, body: AsyncIterator[bytes]) -> HttpResponse:
        """Return the answer, with the headers that keep a browser from misusing it."""
        return secured(await self._answer(request, body))

    async def _answer(self, request: HttpRequest, body: AsyncIterator[bytes]) -> HttpResponse:
        if self._options.only_local_names and not names_this_machine(request.header("host")):
            return text_response(
                "this listener is for this machine alone, and is asked by another name; name it "
                "127.0.0.1 or localhost, or start it with --allow-anonymous",
                HTTPStatus.MISDIRECTED_REQUEST,
            )
        if request.path == "/reconcile":
            return await self._reconcile(request, body)
        make = self._maker(request)
        if make is None:
            return text_response(_PATHS, HTTPStatus.NOT_FOUND)
        if request.method not in ("GET", "HEAD"):
            return _wrong_method("GET, HEAD")
        if request.path in ("/healthz", "/readyz"):
            return make()
        loop = asyncio.get_running_loop()
        thread = self._slow if _PLAN.fullmatch(request.path) else self._quick
        try:
            async with asyncio.timeout(_WAIT_S):
                return await loop.run_in_executor(thread, make)
        except TimeoutError:
            return text_response("it takes too long; try again", HTTPStatus.SERVICE_UNAVAILABLE)

    def _maker(self, request: HttpRequest) -> Callable[[], HttpResponse] | None:
        plan = _PLAN.fullmatch(request.path)
        if plan is not None:
            return lambda: self._plan(plan[1])
        makers: dict[str, Callable[[], HttpResponse]] = {
            "/": lambda: self._page(request),
            "/status": self._status,
            "/metrics": lambda: self._exposition(request),
            "/healthz": self._health,
            "/readyz": self._readiness,
            "/favicon.ico": lambda: HttpResponse(status=HTTPStatus.NO_CONTENT),
        }
        return makers.get(request.path)

    def _health(self) -> HttpResponse:
        problem = health_problem(self._view.status(), self._clock.monotonic())
        if problem is not None:
            return text_response(problem, HTTPStatus.SERVICE_UNAVAILABLE)
        return text_response("ok")

    def _readiness(self) -> HttpResponse:
        problems = readiness_problems(self._view.status())
        if problems:
            return text_response("\n".join(problems), HTTPStatus.SERVICE_UNAVAILABLE)
        return text_response("ok")

    def _exposition(self, request: HttpRequest) -> HttpResponse:
        found = self._metrics.exposition(
            self._view.status(), self._clock.monotonic(), request.header("accept") or ""
        )
        return HttpResponse(body=found.body, content_type=found.content_type)

    def _status(self) -> HttpResponse:
        body = status_json(self._view.status(), self._clock.monotonic())
        return HttpResponse(body=body, content_type=JSON)

    def _page(self, request: HttpRequest) -> HttpResponse:
        page = render_status(
            self._view.status(),
            self._clock.now(),
            self._clock.monotonic(),
            refresh=request.query.get("refresh") != "off",
        )
        headers = {"Content-Security-Policy": framed_by_nobody(page.csp)}
        return HttpResponse(body=page.html, content_type=HTML, headers=headers)

    def _plan(self, hexadecimal: str) -> HttpResponse:
        page = self._plans.page(f"sha256:{hexadecimal}", self._view.status())
        if page.problem:
            return text_response(page.problem, page.status)
        headers = {"Content-Security-Policy": PLAN_POLICY}
        return HttpResponse(body=page.html, content_type=HTML, headers=headers)

    async def _reconcile(self, request: HttpRequest, body: AsyncIterator[bytes]) -> HttpResponse:
        token = self._options.token
        if token is None:
            return text_response(
                f"POST /reconcile is off; set {TOKEN_VARIABLE} and start the loop again",
                HTTPStatus.NOT_FOUND,
            )
        if request.method != "POST":
            return _wrong_method("POST")
        outcome, response = await take_hint(request, body, token, self._view)
        self._metrics.observe_hook(str(outcome))
        if outcome is HookOutcome.WRONG_TOKEN:
            self._refused.add()
        return response


def _wrong_method(allowed: str) -> HttpResponse:
    response = text_response(f"only {allowed} here", HTTPStatus.METHOD_NOT_ALLOWED)
    return replace(response, headers={"Allow": allowed})


def secured(response: HttpResponse) -> HttpResponse:
    """The answer with all headers; its own win."""
    return replace(response, headers={**_HEADERS, **response.headers})


def framed_by_nobody(policy: str) -> str:
    """The policy with what only a header can say."""
    return f"{policy}; frame-ancestors 'none'"


def names_this_machine(host: str | None) -> bool:
    """True if ``Host`` is loopback, not a name that somebody made lead there (DNS rebinding)."""
    if host is None:
        return False
    found = _HOST.fullmatch(host.lower())
    return found is not None and is_loopback(found["ipv6"] or found["name"])


@contextmanager
def open_listener(
    options: ListenOptions,
    view: LoopView,
    metrics: LoopMetrics,
    clock: Clock,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[HttpListener]:
    """Answer while the ``with`` statement lasts; ``url`` of what it yields is the address.

    ``tell`` takes sentences for the log, and must not hold up the listener.

    Raises:
        UnreachableError: it can't listen there.
    """
    routes = Routes(options, view, metrics, clock, tell)
    listener = HttpListener(routes, host=options.host, port=options.port, option="--listen")
    try:
        with in_thread(listener, "kgitops reconcile listener") as started:
            yield started
    finally:
        routes.close()
