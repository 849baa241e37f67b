"""PLAIN (RFC 4616), with the users of the listener's JAAS config."""

import hmac
from collections.abc import Mapping

from kgitops.serve.login.exchange import LoginFailedError, LoginStep

_TOKENS = 3


class PlainExchange:
    """One message: an authorization id, a user and a password."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def step(self, message: bytes) -> LoginStep:
        """Compare the password, in a time that does not tell how much of it is right.

        Raises:
            LoginFailedError: it is another, there is no such user, or this is no such message.
        """
        try:
            tokens = message.decode().split("\0")
        except UnicodeDecodeError:
            raise LoginFailedError("its message is not UTF-8") from None
        if len(tokens) != _TOKENS:
            raise LoginFailedError(
                f"Invalid SASL/PLAIN response: expected {_TOKENS} tokens, got {len(tokens)}"
            )
        other, user, password = tokens
        if not user:
            _refuse("Authentication failed: username not specified")
        if not password:
            _refuse("Authentication failed: password not specified")
        if other and other != user:
            _refuse(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        known = self._passwords.get(user)
        # A user that nobody knows takes as long as a wrong password.
        same = hmac.compare_digest((known or password[::-1]).encode(), password.encode())
        if known is None or not same:
            _refuse("Authentication failed: Invalid username or password")
        return LoginStep(user=user)


def _refuse(told: str) -> None:
    raise LoginFailedError(told, told=told)
