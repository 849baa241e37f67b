"""The keys that an OpenID provider signs its tokens with (RFC 7517), and the check of a token.

The package PyJWT does both; it is imported when the first token comes.
"""

import asyncio
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING

from kgitops.model.errors import KgitopsError
from kgitops.serve.listening.settings import OAuthSettings
from kgitops.serve.login.exchange import LoginFailedError, LoginStep

if TYPE_CHECKING:
    from jwt import PyJWKSet
    from jwt.algorithms import AllowedPublicKeys

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Those of a key that is not secret: a token that is signed with HMAC or not at all is refused."""
_LARGEST, _SECONDS = 1 << 20, 5.0
_FRESH_SECONDS, _SOONEST_SECONDS = 3600.0, 10.0
"""Keys are fetched again after an hour, and for a key that is not known, but no more often."""


def check_token_support() -> None:
    """Refuse to start with OAUTHBEARER where tokens can't be checked.

    Raises:
        KgitopsError: a package is missing.
    """
    try:
        import cryptography  # noqa: F401, PLC0415 (few listeners need it)
        import jwt  # noqa: F401, PLC0415
    except ImportError as error:
        raise KgitopsError(
            "sasl.enabled.mechanisms has OAUTHBEARER, which needs the package "
            f"{error.name}; install kgitops[oauth]"
        ) from None


class TokenVerifier:
    """Checks tokens with a provider's keys, which it fetches as seldom as it can."""

    def __init__(
        self, settings: OAuthSettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: PyJWKSet | None = None
        self._fetched_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def verify(self, token: str) -> LoginStep:
        """The user of a token, and until when it is one.

        Raises:
            LoginFailedError: it is not signed by the provider, not for this cluster, or too old.
        """
        import jwt  # noqa: PLC0415 (few listeners need it)

        settings = self._settings
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            claims = jwt.decode(
                token,
                await self._key(key_id),
                algorithms=_ALGORITHMS,
                audience=settings.audiences or None,
                issuer=settings.issuer,
                leeway=settings.clock_skew_s,
                options={
                    "require": ["exp", settings.name_claim],
                    "verify_aud": bool(settings.audiences),
                },
            )
        except (jwt.PyJWTError, TypeError, ValueError) as error:
            raise LoginFailedError(f"its token is refused: {error}") from None
        user = claims[settings.name_claim]
        if not isinstance(user, str) or not user:
            raise LoginFailedError(f"the claim {settings.name_claim} of its token is no name")
        return LoginStep(user=user, expires_ms=int(float(claims["exp"]) * 1000))

    async def _key(self, key_id: str | None) -> "AllowedPublicKeys":
        """The key of an id; the only one there is where a token names none."""
        keys = await self._fresh(_FRESH_SECONDS)
        found = _find(keys, key_id)
        if found is None:
            found = _find(await self._fresh(_SOONEST_SECONDS), key_id)
        if found is None:
            raise LoginFailedError("its token is signed with a key that the provider has not got")
        return found

    async def _fresh(self, seconds: float) -> "PyJWKSet":
        async with self._fetching:
            if self._keys is None or self._clock() - self._fetched_at >= seconds:
                loop = asyncio.get_running_loop()
                self._keys = await loop.run_in_executor(None, _fetch, self._settings.keys_url)
                self._fetched_at = self._clock()
            return self._keys


def _find(keys: "PyJWKSet", key_id: str | None) -> "AllowedPublicKeys | None":
    if key_id is None:
        return keys.keys[0].key if len(keys.keys) == 1 else None
    return next((key.key for key in keys.keys if key.key_id == key_id), None)


def _fetch(url: str) -> "PyJWKSet":
    import urllib.request  # noqa: PLC0415 (few listeners need it)

    import jwt  # noqa: PLC0415

    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as response:  # noqa: S310 (as configured)
            text = response.read(_LARGEST).decode()
        return jwt.PyJWKSet.from_json(text)
    except (OSError, HTTPException, ValueError, AttributeError, jwt.PyJWTError) as error:
        cause = getattr(error, "reason", None) or error
        raise LoginFailedError(
            f"the provider's keys can't be read from {url} ({cause}); check "
            "sasl.oauthbearer.jwks.endpoint.url"
        ) from None
