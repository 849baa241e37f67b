"""An OpenID provider small enough for a test: it knows one client, and signs its tokens."""

import base64
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "kgitops-client", "a-client's-secret"
AUDIENCE = "kafka"


@dataclass
class Provider:
    """The requests to the endpoint, and its answers."""

    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    url: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    audience: str = AUDIENCE
    life_s: int = 300
    answer: bytes | None = None
    """Instead of a token."""
    status: int = 200
    location: str | None = None

    def write_keys(self, file: Path) -> None:
        """The public key, as brokers look it up (RFC 7517)."""
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        key |= {"kid": "one", "alg": "RS256", "use": "sig"}
        file.write_text(json.dumps({"keys": [key]}))

    def configs(self) -> dict[str, str]:
        """librdkafka's configs of its one client."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": CLIENT,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.oauthbearer.scope": "kafka:admin",
        }

    def token(self, scope: str) -> str:
        """Signed, for the client."""
        now = int(time.time())
        claims = {
            "iss": "https://provider.example.com",
            "sub": CLIENT,
            "aud": self.audience,
            "scope": scope,
            "iat": now,
            "exp": now + self.life_s,
        }
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})

    def reply(self, authorization: str, form: dict[str, str]) -> tuple[int, bytes]:
        """The status and the body."""
        self.asked.append(form)
        if self.answer is not None or self.status != 200:
            return self.status, self.answer or b""
        pair = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {pair}":
            return 401, b'{"error": "invalid_client"}'
        token = self.token(form.get("scope", ""))
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.life_s}
        return 200, json.dumps(answer).encode()


@contextmanager
def running() -> Iterator[Provider]:
    """A provider that listens on loopback within this block."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = dict(urllib.parse.parse_qsl(body))
            status, answer = provider.reply(self.headers.get("Authorization", ""), form)
            self.send_response(status)
            if provider.location:
                self.send_header("Location", provider.location)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}/token"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
