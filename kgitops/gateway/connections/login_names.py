"""The user name in the first message of a SASL mechanism; passwords and tokens are not kept."""

import base64
import binascii
import json
import re

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (PLAIN, *SCRAM, OAUTHBEARER)
"""Those whose messages tell who logs in."""

_TOKENS = 3
_NAME = r"(?:[^,=]|=2C|=3D)+"
_SCRAM = re.compile(rf"n,(?:a=({_NAME}))?,n=({_NAME}),r=[!-+\--~]+(?P<extensions>(?:,.*)?)")
_OAUTH = re.compile("n,(?:a=[^,]*)?,\x01((?:[A-Za-z]+=[!-~ \t\r\n]+\x01)*)\x01")
_BEARER = re.compile(r"[Bb]earer +([-_~+/A-Za-z0-9]+)\.([-_~+/A-Za-z0-9]+=*)\.[-_~+/A-Za-z0-9=]*")


class UnreadableLoginError(ValueError):
    """A login that does not tell whose it is; the text says why."""


def user_name(mechanism: str, message: bytes, *, claim: str = "sub") -> str:
    """The name that a broker will know the user by, if it lets them in.

    Raises:
        UnreadableLoginError: the message does not tell it.
    """
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise UnreadableLoginError(f"its message is none of {mechanism}") from None
    if mechanism == PLAIN:
        return _plain(text)
    if mechanism in SCRAM:
        return _scram(text)
    return _oauthbearer(text, claim)


def _plain(text: str) -> str:
    tokens = text.split("\0")
    if len(tokens) != _TOKENS or not tokens[1]:
        raise UnreadableLoginError("its message is none of PLAIN")
    other, user, _ = tokens
    if other and other != user:
        raise UnreadableLoginError("it asks to act as another user than it logs in as")
    return user


def _scram(text: str) -> str:
    match = _SCRAM.fullmatch(text)
    if match is None:
        raise UnreadableLoginError("its message is not a SCRAM message")
    if "tokenauth=" in match["extensions"]:
        raise UnreadableLoginError(
            "it logs in by a delegation token, which does not tell whose it is; use a password"
        )
    other, user = match[1], match[2]
    if other is not None and other != user:
        raise UnreadableLoginError("it asks to act as another user than it logs in as")
    return user.replace("=2C", ",").replace("=3D", "=")


def _oauthbearer(text: str, claim: str) -> str:
    match = _OAUTH.fullmatch(text)
    pairs = [pair.partition("=") for pair in match[1].split("\x01")] if match else []
    tokens = [value for key, _, value in pairs if key == "auth"]
    found = _BEARER.fullmatch(tokens[0]) if len(tokens) == 1 else None
    if found is None:
        raise UnreadableLoginError("its message has no token that tells whose it is")
    payload = found[2].rstrip("=")
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        claims = None
    name = claims.get(claim) if isinstance(claims, dict) else None
    if not isinstance(name, str) or not name:
        raise UnreadableLoginError(f"its token has no claim {claim} that names a user")
    return name
