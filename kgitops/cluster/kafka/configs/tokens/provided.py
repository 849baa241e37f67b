"""Tokens from a function that others wrote: called in a bounded time, and what it returns checked.

The function is called as librdkafka's ``oauth_cb`` is by confluent-kafka, so that one serves both.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait

from kgitops.cluster.kafka.configs.tokens.cache import CachedTokens, LoginToken, TokenError
from kgitops.model.errors import KgitopsError

TokenFunction = Callable[[str], object]
"""Takes the text of ``sasl.oauthbearer.config``; returns (token, end[, principal[, extensions]]).

The end is in seconds since 1970.
"""

_TOKEN = re.compile(r"[-_~+/.A-Za-z0-9]+=*")
"""RFC 6750 §2.1. Anything else could add to the message that a broker reads (RFC 7628 §3.1)."""
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[!-~ \t\r\n]*")
_LARGEST_TOKEN = 1 << 20
_LATEST_END_S = 253_402_300_800
"""The year 10000; what lies after it was meant in milliseconds."""
_FEWEST, _MOST = 2, 4
_DEFAULTS: tuple[object, ...] = ("", {})
"""The principal and the extensions of a function that returns none."""
_LONGEST_SENTENCE = 300


class ProvidedTokens(CachedTokens):
    """Tokens of a function; it runs in a thread, and nobody waits for it longer than a moment."""

    def __init__(
        self,
        function: TokenFunction,
        config: str,
        *,
        source: str,
        name: str,
        advice: str,
        look: str = "call it by itself to see why",
        timeout_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``source`` names the function in sentences, ``name`` its tokens.

        ``advice`` is for a token that is refused, ``look`` for a function that raises.
        """
        super().__init__(clock)
        self.name = name
        self.advice = advice
        self._function = function
        self._config = config
        self._source = source
        self._look = look
        self._timeout_s = timeout_s
        self._running: Future[object] | None = None

    def fetch(self) -> LoginToken:
        """Call the function; a result that comes too late is left for the next time.

        Raises:
            TokenError: it fails, takes too long, or returns something else than a token.
        """
        running = self._running = self._running or _in_thread(lambda: self._function(self._config))
        if not wait([running], self._timeout_s).done:
            raise TokenError(
                f"{self._source} gives no token within {self._timeout_s:g} s; see what it waits for"
            )
        self._running = None
        error = running.exception()
        if isinstance(error, TokenError):
            raise error from None
        if error is not None:
            raise TokenError(self._failure(error)) from None
        try:
            return token_of(running.result())
        except ValueError as problem:
            raise TokenError(
                f"{self._source} returns {problem}; it must return a tuple (token, end in seconds "
                "since 1970, principal)"
            ) from None

    def _failure(self, error: BaseException) -> str:
        """The sentence for an exception; its own words only where they are meant to be shown.

        Whatever else a function raises may hold the credentials that it works with.
        """
        if isinstance(error, KgitopsError):
            said = " ".join(str(error).split())[:_LONGEST_SENTENCE]
            return f"{self._source}: {said}" + ("" if "; " in said else f"; {self._look}")
        return f"{self._source} raises {type(error).__name__}; {self._look}"


def token_of(result: object) -> LoginToken:
    """Check what a function returned.

    Raises:
        ValueError: it is not what it has to be; the text tells what it is instead.
    """
    if not isinstance(result, tuple) or not _FEWEST <= len(result) <= _MOST:
        raise ValueError("no tuple of two to four values")
    text, end, principal, extensions = result + _DEFAULTS[len(result) - _FEWEST :]
    if not isinstance(text, str) or not _TOKEN.fullmatch(text) or len(text) > _LARGEST_TOKEN:
        raise ValueError("a token that OAUTHBEARER can't carry")
    if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
        raise ValueError("an end that is no number")
    if end >= _LATEST_END_S:
        raise ValueError("an end in milliseconds")
    life_s = end - time.time()
    if life_s <= 0:
        raise ValueError("a token that has ended already")
    if not isinstance(principal, str) or not principal.isprintable():
        raise ValueError("a principal that is no text")
    return LoginToken(
        text=text, life_s=life_s, principal=principal, extensions=_extensions(extensions)
    )


def _extensions(given: object) -> dict[str, str]:
    problem = "extensions that are not names and texts"
    if not isinstance(given, Mapping):
        raise ValueError(problem)  # noqa: TRY004 (all that is wrong with a result is one error)
    checked = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ValueError(problem)  # noqa: TRY004
        if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
            raise ValueError(problem)
        if not _EXTENSION_VALUE.fullmatch(value):
            raise ValueError(problem)
        checked[name] = value
    return checked


def _in_thread(work: Callable[[], object]) -> "Future[object]":
    """Run ``work`` in a thread that does not keep the process alive."""
    future: Future[object] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is read)
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="kgitops-token", daemon=True).start()
    return future
