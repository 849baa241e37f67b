"""OAUTHBEARER (RFC 7628): a client shows a token of an OpenID provider."""

import re
from collections.abc import Awaitable, Callable

from kgitops.serve.login.exchange import LoginFailedError, LoginStep, saslname

VerifyToken = Callable[[str], Awaitable[LoginStep]]
"""The user of a token."""

_FIRST = re.compile("n,(?:a=(?P<other>[^,]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[!-~ \t\r\n]+\x01)*)\x01")
_TOKEN = re.compile(r"[Bb]earer +(?P<token>[-_~+/.A-Za-z0-9]+=*)")
_REFUSED = b'{"status":"invalid_token"}'
_ACKNOWLEDGED = b"\x01"


class OAuthBearerExchange:
    """One message with the token; where it is refused, the client acknowledges that."""

    def __init__(self, verify: VerifyToken) -> None:
        self._verify = verify
        self._reason: str | None = None

    async def step(self, message: bytes) -> LoginStep:
        """Check the token.

        Raises:
            LoginFailedError: it is not valid, or this is no such message.
        """
        if self._reason is not None:
            # The client has been told by the answer before, and has said that it read it.
            raise LoginFailedError(self._reason, told=_REFUSED.decode())
        try:
            token, other = _token(message)
            step = await self._verify(token)
        except LoginFailedError as error:
            if message == _ACKNOWLEDGED:
                raise
            self._reason = str(error)
            return LoginStep(answer=_REFUSED)
        if other and other != step.user:
            told = (
                f"Authentication failed: Client requested an authorization id ({other}) that is "
                f"different from the token's principal name ({step.user})"
            )
            raise LoginFailedError(told, told=told)
        return step


def _token(message: bytes) -> tuple[str, str]:
    try:
        match = _FIRST.fullmatch(message.decode())
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise LoginFailedError("its message is none of OAUTHBEARER")
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split("\x01") if pair)
    found = _TOKEN.fullmatch(pairs.get("auth", ""))
    if found is None:
        raise LoginFailedError("its message has no token")
    return found["token"], saslname(match["other"] or "")
