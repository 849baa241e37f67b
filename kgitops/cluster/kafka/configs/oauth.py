"""Tokens from an OpenID provider, for ``sasl.oauthbearer.method=oidc``."""

import base64
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO

from kafka.net.sasl.oauth import AbstractTokenProvider

_LARGEST_ANSWER = 1 << 20
_FRESH = 0.8
"""The part of its life after which a token is replaced, as other clients have it."""


class TokenError(Exception):
    """There is no token; one sentence that names the endpoint, and no secret."""


class OidcTokens(AbstractTokenProvider):  # type: ignore[misc]
    """A client's own tokens (RFC 6749 §4.4, client credentials), each used until it is old."""

    def __init__(
        self,
        *,
        endpoint: str,
        client_id: str,
        client_secret: str,
        scope: str | None = None,
        extensions: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._endpoint = endpoint
        pair = f"{client_id}:{client_secret}".encode()
        self._authorization = "Basic " + base64.b64encode(pair).decode()
        self._form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._extensions = dict(extensions or {})
        handlers = [_NoRedirects(), *([urllib.request.HTTPSHandler(context=tls)] if tls else [])]
        self._opener = urllib.request.build_opener(*handlers)
        self._timeout_s = timeout_s
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._fresh_until = float("-inf")

    def token(self) -> str:
        """A token that is still good for a while.

        Raises:
            TokenError: the endpoint gives none.
        """
        with self._lock:
            if self._clock() >= self._fresh_until:
                asked_at = self._clock()
                answer = self._ask()
                self._token, life_s = _token_of(answer, self._endpoint)
                self._fresh_until = asked_at + life_s * _FRESH
            return self._token

    def extensions(self) -> dict[str, str]:
        """What is sent beside the token (KIP-342)."""
        return self._extensions

    def _ask(self) -> bytes:
        request = urllib.request.Request(  # noqa: S310 (client_configs lets http and https through)
            self._endpoint,
            data=urllib.parse.urlencode(self._form).encode(),
            headers={"Authorization": self._authorization, "Accept": "application/json"},
        )
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                answer: bytes = response.read(_LARGEST_ANSWER)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                said = _reason(error.read(_LARGEST_ANSWER))
            raise TokenError(
                f"the token endpoint {self._endpoint} answers {error.code}{said}; check "
                "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and "
                "sasl.oauthbearer.scope"
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            cause = getattr(error, "reason", None) or error
            raise TokenError(
                f"the token endpoint {self._endpoint} can't be reached: {_in_words(cause)}; check "
                "sasl.oauthbearer.token.endpoint.url"
            ) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A credential goes to the host that was named and to no other."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow none: the answer counts as the error that its status says."""
        del req, fp, code, msg, headers, newurl


def _token_of(answer: bytes, endpoint: str) -> tuple[str, float]:
    """The token and its life in seconds."""
    try:
        found = json.loads(answer)
        token = found["access_token"]
        life = found.get("expires_in")
        return token + "", float(life) if life is not None else _life_of(token)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise TokenError(
            f"the token endpoint {endpoint} answers without an access_token; check "
            "sasl.oauthbearer.token.endpoint.url"
        ) from None


def _life_of(token: str) -> float:
    """What a JWT says of its own end (RFC 7519 §4.1.4)."""
    claims = token.split(".")[1]
    padded = claims + "=" * (-len(claims) % 4)
    return float(json.loads(base64.urlsafe_b64decode(padded))["exp"]) - time.time()


def _reason(answer: bytes) -> str:
    """What the provider calls the error (RFC 6749 §5.2), where it says so."""
    try:
        name = json.loads(answer)["error"]
    except (ValueError, TypeError, KeyError):
        return ""
    return f" ({name})" if isinstance(name, str) and name.isprintable() else ""


def _in_words(cause: object) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here ({cause.verify_message})"
    return (getattr(cause, "strerror", None) or str(cause) or type(cause).__name__).lower()
