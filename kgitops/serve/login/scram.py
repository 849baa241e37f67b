"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence

from kgitops.cluster.embedded.image.image import ScramCredential
from kgitops.model.resources.users import MIN_ITERATIONS, ScramMechanism
from kgitops.serve.login.exchange import LoginFailedError, LoginStep, saslname

_SALT_BYTES, _NONCE_BYTES = 16, 24
_FIRST = re.compile(
    r"(?P<header>[ny],(?:a=(?P<other>[^,]+))?,)"
    r"(?P<bare>n=(?P<user>[^,]+),r=(?P<nonce>[!-+\--~]+)(?:,(?P<extensions>.+))?)"
)
_FINAL = re.compile(
    r"(?P<signed>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)(?:,[A-Za-z]=[^,]*)*)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)
FindCredential = Callable[[str], ScramCredential | None]
"""The credential of a user in the mechanism."""


class ScramExchange:
    """Two messages: the user with a nonce, and the proof of the password."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: FindCredential,
        *,
        salt_secret: bytes,
        others: Callable[[], Sequence[ScramCredential]] = tuple,
        make_nonce: Callable[[], str] = lambda: secrets.token_urlsafe(_NONCE_BYTES),
    ) -> None:
        """Begin one login.

        ``salt_secret`` makes the salts of users that don't exist. It has to outlive restarts: a
        real user's salt does.
        """
        self._mechanism = mechanism
        self._find = find
        self._salt_secret = salt_secret
        self._others = others
        self._make_nonce = make_nonce
        self._credential: ScramCredential | None = None
        self._user = self._header = self._bare = self._nonce = self._server_first = ""

    def step(self, message: bytes) -> LoginStep:
        """Answer the first message with the salt, and the second with the server's signature.

        Raises:
            LoginFailedError: the proof is wrong, there is no such user, or it is no such message.
        """
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise LoginFailedError("its message is not UTF-8") from None
        return self._final(text) if self._server_first else self._first(text)

    def _first(self, text: str) -> LoginStep:
        match = _FIRST.fullmatch(text)
        if match is None:
            raise LoginFailedError("its first message is not a SCRAM message")
        if (match["extensions"] or "").startswith("tokenauth="):
            raise LoginFailedError("it logs in by a delegation token, and there are none here")
        self._user = saslname(match["user"])
        if match["other"] is not None and saslname(match["other"]) != self._user:
            told = (
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
            raise LoginFailedError(told, told=told)
        self._header, self._bare = match["header"], match["bare"]
        self._nonce = match["nonce"] + self._make_nonce()
        found = self._find(self._user)
        self._credential = found
        salt, iterations = (found.salt, found.iterations) if found else self._fake()
        self._server_first = f"r={self._nonce},s={salt},i={iterations}"
        return LoginStep(answer=self._server_first.encode())

    def _final(self, text: str) -> LoginStep:
        match = _FINAL.fullmatch(text)
        if match is None:
            raise LoginFailedError("its final message is not a SCRAM message")
        if not hmac.compare_digest(match["nonce"].encode(), self._nonce.encode()):
            raise LoginFailedError("Invalid client nonce in the final client message.")
        if _decoded(match["binding"]) != self._header.encode():
            raise LoginFailedError("its final message is bound to another channel")
        name = self._mechanism.hash_name
        size = hashlib.new(name).digest_size
        stored_key, server_key = self._keys(size)
        signed = f"{self._bare},{self._server_first},{match['signed']}".encode()
        signature = hmac.digest(stored_key, signed, name)
        proof = _decoded(match["proof"])
        if len(proof) != size:
            raise LoginFailedError("its proof has another length than the mechanism's")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        same = hmac.compare_digest(hashlib.new(name, client_key).digest(), stored_key)
        if not same or self._credential is None:
            raise LoginFailedError("Authentication failed: Invalid user credentials")
        answer = base64.b64encode(hmac.digest(server_key, signed, name))
        return LoginStep(answer=b"v=" + answer, user=self._user)

    def _keys(self, size: int) -> tuple[bytes, bytes]:
        """StoredKey and ServerKey; those of nobody where there is no such user."""
        if self._credential is None:
            return secrets.token_bytes(size), secrets.token_bytes(size)
        return _decoded(self._credential.stored_key), _decoded(self._credential.server_key)

    def _fake(self) -> tuple[str, int]:
        """Return salt and iterations of a user that does not exist; they look real."""
        name = f"{self._mechanism.value}:{self._user}".encode()
        seed = hmac.digest(self._salt_secret, name, "sha256")
        others = self._others()
        size, iterations = _SALT_BYTES, MIN_ITERATIONS
        if others:
            like = others[int.from_bytes(hashlib.sha256(seed).digest()) % len(others)]
            size, iterations = len(_decoded(like.salt)), like.iterations
        return base64.b64encode(hashlib.shake_256(seed).digest(size)).decode(), iterations


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise LoginFailedError("its message is not base64 where it has to be") from None
