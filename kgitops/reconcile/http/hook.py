"""``POST /reconcile``: a hint that there is something new, from whoever has the token.

The request says nothing but that: what is planned still comes from the source of the manifests.
"""

import hmac
import re
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import Self

from kgitops.model.clock import Clock
from kgitops.model.errors import UsageError
from kgitops.reconcile.loop_status import LoopView
from kgitops.serve.http.messages import HttpRequest, HttpResponse, text_response

TOKEN_VARIABLE = "KGITOPS_RECONCILE_TOKEN"  # noqa: S105 (its name)
SHORTEST = 16
LARGEST_BODY = 512 * 1024
"""Bytes that are read before the sender is known; a larger push waits for the next turn."""
_BETWEEN_S = 60.0
_BEARER = "bearer "
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")


class HookOutcome(StrEnum):
    """The outcomes of a hint, as a label of the metrics."""

    ACCEPTED = "accepted"
    WRONG_TOKEN = "wrong-token"  # noqa: S105 (no token)
    TOO_LARGE = "too-large"
    UNKNOWN_CLUSTER = "unknown-cluster"


class HookToken:
    """The secret that a hint must show, or be signed with; compared in the same time always."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._digest = sha256(secret).digest()

    @classmethod
    def checked(cls, text: str) -> Self:
        """Take the token of the environment; its value is in no message.

        Raises:
            UsageError: it is so short that it could be guessed.
        """
        secret = text.strip().encode("utf-8", "surrogateescape")
        if len(secret) < SHORTEST:
            raise UsageError(
                f"{TOKEN_VARIABLE} has fewer than {SHORTEST} characters, which could be guessed; "
                "make a longer one, as by: openssl rand -hex 32"
            )
        return cls(secret)

    def is_shown(self, shown: str) -> bool:
        """Return whether the token itself is shown."""
        given = sha256(shown.encode("utf-8", "surrogateescape")).digest()
        return hmac.compare_digest(given, self._digest)

    async def has_signed(self, body: AsyncIterator[bytes], signature: str) -> bool | None:
        """True if the body is signed, as GitHub does; None if it is too large to be looked at."""
        signing = hmac.new(self._secret, digestmod=sha256)
        read = 0
        async for part in body:
            read += len(part)
            if read > LARGEST_BODY:
                return None
            signing.update(part)
        return hmac.compare_digest(signing.hexdigest(), signature)


class RefusedTokens:
    """Tells of wrong tokens: of the first at once, of more of them together once a minute."""

    def __init__(self, clock: Clock, tell: Callable[[str], None]) -> None:
        """Take who is told a sentence."""
        self._clock = clock
        self._tell = tell
        self._told: float | None = None
        self._count = 0

    def add(self) -> None:
        """Count one, and tell of all that were not told yet, unless somebody just was."""
        self._count += 1
        now = self._clock.monotonic()
        if self._told is None or now - self._told >= _BETWEEN_S:
            calls = "a call" if self._count == 1 else f"{self._count} calls"
            self._tell(
                f"POST /reconcile: refused {calls} with a wrong or missing token; see who calls, "
                f"and give them the token in {TOKEN_VARIABLE} if they may"
            )
            self._told, self._count = now, 0


async def take_hint(
    request: HttpRequest, body: AsyncIterator[bytes], token: HookToken, view: LoopView
) -> tuple[HookOutcome, HttpResponse]:
    """Let turns begin soon, if the token is right; else the answer says what is wrong.

    ``?cluster=NAME`` means that cluster alone.
    """
    permitted = await _permitted(request, body, token)
    if permitted is None:
        sentence = f"the body has more than {LARGEST_BODY} bytes"
        return (
            HookOutcome.TOO_LARGE,
            text_response(sentence, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        )
    if not permitted:
        response = text_response("the token is wrong or missing", HTTPStatus.UNAUTHORIZED)
        return HookOutcome.WRONG_TOKEN, response
    cluster = request.query.get("cluster")
    if cluster is not None and all(unit.cluster != cluster for unit in view.status().units):
        response = text_response("no cluster has that name", HTTPStatus.NOT_FOUND)
        return HookOutcome.UNKNOWN_CLUSTER, response
    view.hint(cluster)
    return HookOutcome.ACCEPTED, text_response("a turn begins soon", HTTPStatus.ACCEPTED)


async def _permitted(
    request: HttpRequest, body: AsyncIterator[bytes], token: HookToken
) -> bool | None:
    """A wrong token is refused before anything of the body is read."""
    shown = request.header("authorization")
    if shown is not None:
        scheme, rest = shown[: len(_BEARER)].lower(), shown[len(_BEARER) :].strip()
        return scheme == _BEARER and token.is_shown(_as_sent(rest))
    shown = request.header("x-gitlab-token")
    if shown is not None:
        return token.is_shown(_as_sent(shown))
    signature = _SIGNATURE.fullmatch(request.header("x-hub-signature-256") or "")
    if signature is None:
        return False
    return await token.has_signed(body, signature[1])


def _as_sent(value: str) -> str:
    """A header's value, which was read as Latin-1, as the UTF-8 that it may be."""
    return value.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
