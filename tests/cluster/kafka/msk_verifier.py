"""A verifier of the tokens that brokers of Amazon MSK take, and what lets a broker of ours ask it.

A token is the address of a GET request, signed in its query (AWS Signature Version 4), in
base64url. Amazon's brokers have their service check the signature; here a key is known, so it is
made anew and compared. The signature covers all but the User-Agent, which is added after it.
"""

import base64
import binascii
import datetime
import hashlib
import hmac
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY_ID, SECRET_KEY = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
PRINCIPAL = "arn:aws:iam::123456789012:user/kgitops"
REGION = "eu-central-1"
ENVIRON = {
    "AWS_ACCESS_KEY_ID": KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
}
"""What botocore finds instead of the credentials of the machine."""
_SERVICE, _ALGORITHM = "kafka-cluster", "AWS4-HMAC-SHA256"
_LONGEST_S = 900
_UNSIGNED = {"X-Amz-Signature", "User-Agent"}

JAVA_CLASS = "MskTokens"
JAVA_PROPERTY = "kgitops.msk.verifier"
JAVA = """
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/** Has tokens checked by the test's process. */
public class MskTokens implements AuthenticateCallbackHandler {
    private final HttpClient client = HttpClient.newHttpClient();

    public void configure(Map<String, ?> configs, String name, List<AppConfigurationEntry> e) {}

    public void close() {}

    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerExtensionsValidatorCallback) continue;
            OAuthBearerValidatorCallback asked = (OAuthBearerValidatorCallback) callback;
            try {
                HttpRequest request = HttpRequest
                    .newBuilder(URI.create(System.getProperty("kgitops.msk.verifier")))
                    .POST(HttpRequest.BodyPublishers.ofString(asked.tokenValue()))
                    .build();
                HttpResponse<String> answer =
                    client.send(request, HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() != 200) {
                    asked.error("invalid_token", null, null);
                    continue;
                }
                String[] lines = answer.body().split("\\n");
                asked.token(token(asked.tokenValue(), lines[0], Long.parseLong(lines[1])));
            } catch (Exception error) {
                throw new RuntimeException(error);
            }
        }
    }

    private static OAuthBearerToken token(String value, String principal, long end) {
        return new OAuthBearerToken() {
            public String value() { return value; }
            public Set<String> scope() { return Set.of(); }
            public long lifetimeMs() { return end; }
            public String principalName() { return principal; }
            public Long startTimeMs() { return null; }
        };
    }
}
"""


class RefusedError(Exception):
    """The token is not valid."""


@dataclass
class MskVerifier:
    """The keys of an account, and what was asked."""

    keys: dict[str, str] = field(default_factory=lambda: {KEY_ID: SECRET_KEY})
    session_tokens: dict[str, str] = field(default_factory=dict)
    """By key id, for temporary credentials."""
    url: str = ""
    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    session_s: float | None = None
    """Until when brokers count the login, where that is less than the token's own end."""

    def verify(self, token: str, region: str = REGION) -> int:
        """The end of a valid token, in milliseconds since 1970."""
        query = self._query(token, f"kafka.{region}.amazonaws.com")
        if query.get("Action") != f"{_SERVICE}:Connect":
            raise RefusedError("another action")
        if query.get("X-Amz-Algorithm") != _ALGORITHM or query["X-Amz-SignedHeaders"] != "host":
            raise RefusedError("another signature")
        stamp = query["X-Amz-Date"]
        key_id, *scope = query["X-Amz-Credential"].split("/")
        if scope != [stamp[:8], region, _SERVICE, "aws4_request"] or key_id not in self.keys:
            raise RefusedError("another scope, or an unknown key")
        if query.get("X-Amz-Security-Token") != self.session_tokens.get(key_id):
            raise RefusedError("another session")
        wanted = _signature(query, f"kafka.{region}.amazonaws.com", self.keys[key_id], scope)
        if not hmac.compare_digest(wanted, query["X-Amz-Signature"]):
            raise RefusedError("the signature is not that of the key")
        begin = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
        life_s = int(query["X-Amz-Expires"])
        if not 0 < life_s <= _LONGEST_S or not -60 <= time.time() - begin.timestamp() < life_s:
            raise RefusedError("too old, or too long")
        return int((begin.timestamp() + life_s) * 1000)

    def reply(self, token: str) -> tuple[int, str]:
        """The status and the text for a broker."""
        try:
            end_ms = self.verify(token)
        except (RefusedError, KeyError, ValueError):
            self.refused.append(token)
            return 401, ""
        self.accepted.append(token)
        if self.session_s is not None:
            end_ms = min(end_ms, int((time.time() + self.session_s) * 1000))
        return 200, f"{PRINCIPAL}\n{end_ms}"

    def _query(self, token: str, host: str) -> dict[str, str]:
        try:
            url = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
            parts = urllib.parse.urlsplit(url.decode("ascii"))
        except (binascii.Error, UnicodeDecodeError) as error:
            raise RefusedError("no address in base64url") from error
        if (parts.scheme, parts.netloc, parts.path) != ("https", host, "/"):
            raise RefusedError("another address")
        pairs = urllib.parse.parse_qsl(parts.query, strict_parsing=True)
        if len(dict(pairs)) != len(pairs):
            raise RefusedError("a name twice")
        return dict(pairs)


def _signature(query: dict[str, str], host: str, secret_key: str, scope: list[str]) -> str:
    def quoted(text: str) -> str:
        return urllib.parse.quote(text, safe="-._~")

    signed = sorted((quoted(n), quoted(v)) for n, v in query.items() if n not in _UNSIGNED)
    request = "\n".join(
        (
            "GET",
            "/",
            "&".join(f"{name}={value}" for name, value in signed),
            f"host:{host}\n",
            "host",
            hashlib.sha256(b"").hexdigest(),
        )
    )
    digest = hashlib.sha256(request.encode()).hexdigest()
    to_sign = "\n".join((_ALGORITHM, query["X-Amz-Date"], "/".join(scope), digest))
    key = f"AWS4{secret_key}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


@contextmanager
def running() -> Iterator[MskVerifier]:
    """A verifier that listens on loopback within this block."""
    verifier = MskVerifier()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            token = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, text = verifier.reply(token)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        verifier.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield verifier
        finally:
            server.shutdown()
            thread.join()
