"""Tokens that both Kafka clients log in with, kept until they are old."""

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping

from kafka.net.sasl.oauth import AbstractTokenProvider
from msgspec import Struct, field

_FRESH = 0.8
"""Fraction of its lifetime after which a token is replaced, as in other clients."""


class TokenError(Exception):
    """No token could be had; the sentence says why and what to do, and holds no secret."""


class LoginToken(Struct, frozen=True, kw_only=True):
    """A token, the seconds for which it is valid, its principal and its SASL extensions."""

    text: str
    life_s: float
    principal: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"LoginToken(life_s={self.life_s!r}, principal={self.principal!r})"


class CachedTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Token provider for kafka-python, and by ``for_librdkafka`` for librdkafka."""

    name: str = "the token"
    """The token's name in the sentence about a broker that refuses it, and advice for that case."""
    advice: str = "check the token against the broker's configs"

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._token = LoginToken(text="", life_s=0)
        self._asked_at = float("-inf")

    @abstractmethod
    def fetch(self) -> LoginToken:
        """Get a new token.

        Raises:
            TokenError: there is none.
        """

    def token(self) -> str:
        """Return a token that stays valid for a while.

        Raises:
            TokenError: there is none.
        """
        return self._current()[0].text

    def extensions(self) -> dict[str, str]:
        """The SASL extensions sent with the token (KIP-342)."""
        return dict(self._current()[0].extensions)

    def for_librdkafka(self, config: str | None = None) -> tuple[str, float, str, dict[str, str]]:
        """Answer librdkafka's ``oauth_cb``; it asks again before the token ends.

        Raises:
            TokenError: there is none.
        """
        del config
        token, left_s = self._current()
        return token.text, time.time() + left_s, token.principal, dict(token.extensions)

    def _current(self) -> tuple[LoginToken, float]:
        """The token, and the seconds until it ends."""
        with self._lock:
            if self._clock() >= self._asked_at + self._token.life_s * _FRESH:
                asked_at = self._clock()
                self._token = self.fetch()
                self._asked_at = asked_at
            return self._token, self._asked_at + self._token.life_s - self._clock()
