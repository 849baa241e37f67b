"""Tokens from an OpenID provider, for ``sasl.oauthbearer.method=oidc``."""

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO

from kgitops.cluster.kafka.configs.tokens.cache import CachedTokens, LoginToken, TokenError

_LARGEST_ANSWER = 1 << 20


class OidcTokens(CachedTokens):
    """Tokens for a client's own credentials (RFC 6749 §4.4)."""

    name = "the token of sasl.oauthbearer.client.id"
    advice = "check the token's audience, scope and issuer against the broker's configs"

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
        super().__init__(clock)
        self._endpoint = endpoint
        pair = f"{client_id}:{client_secret}".encode()
        self._authorization = "Basic " + base64.b64encode(pair).decode()
        self._form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._extensions = dict(extensions or {})
        handlers = [_NoRedirects(), *([urllib.request.HTTPSHandler(context=tls)] if tls else [])]
        self._opener = urllib.request.build_opener(*handlers)
        self._timeout_s = timeout_s

    def fetch(self) -> LoginToken:
        """Ask the endpoint.

        Raises:
            TokenError: it gives none.
        """
        text, life_s = _token_of(self._ask(), self._endpoint)
        return LoginToken(text=text, life_s=life_s, extensions=self._extensions)

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
                error_name = _error_name(error.read(_LARGEST_ANSWER))
            raise TokenError(
                f"the token endpoint {self._endpoint} answers {error.code}{error_name}; check "
                "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and "
                "sasl.oauthbearer.scope"
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            cause = getattr(error, "reason", None) or error
            raise TokenError(
                f"the token endpoint {self._endpoint} can't be reached: "
                f"{_cause_text(cause)}; check "
                "sasl.oauthbearer.token.endpoint.url"
            ) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a credential goes only to the host that was configured."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Do not follow: the answer counts as the HTTP error of its status."""
        del req, fp, code, msg, headers, newurl


def _token_of(answer: bytes, endpoint: str) -> tuple[str, float]:
    """Read the token and its lifetime in seconds."""
    try:
        document = json.loads(answer)
        token = document["access_token"]
        life = document.get("expires_in")
        return token + "", float(life) if life is not None else _life_of(token)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise TokenError(
            f"the token endpoint {endpoint} answers without an access_token; check "
            "sasl.oauthbearer.token.endpoint.url"
        ) from None


def _life_of(token: str) -> float:
    """Read the remaining lifetime from a JWT's ``exp`` claim (RFC 7519 §4.1.4)."""
    claims = token.split(".")[1]
    padded = claims + "=" * (-len(claims) % 4)
    return float(json.loads(base64.urlsafe_b64decode(padded))["exp"]) - time.time()


def _error_name(answer: bytes) -> str:
    """The provider's error code in parentheses (RFC 6749 §5.2), or nothing."""
    try:
        name = json.loads(answer)["error"]
    except (ValueError, TypeError, KeyError):
        return ""
    return f" ({name})" if isinstance(name, str) and name.isprintable() else ""


def _cause_text(cause: object) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here ({cause.verify_message})"
    return (getattr(cause, "strerror", None) or str(cause) or type(cause).__name__).lower()
