"""OAUTHBEARER: the tokens that let a client in, and those that don't (RFC 7628)."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import jwt
import pytest
from cluster.kafka.token_endpoint import AUDIENCE, CLIENT, Provider
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from serve.login.logging_in import SASL, authenticate, log_in, served, shake_hands
from serve.raw_client import RawClient, raw_client

from kgitops.model.errors import KgitopsError
from kgitops.serve.listening.settings import OAuthSettings
from kgitops.serve.login import jwks
from kgitops.serve.server import KafkaServer

ISSUER = "https://provider.example.com"


@pytest.fixture(scope="module")
def provider() -> Provider:
    return Provider()


@pytest.fixture(scope="module")
def keys(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    provider.write_keys(file)
    return file


@pytest.fixture(scope="module")
def server(keys: Path) -> Iterator[KafkaServer]:
    with served(configs(keys)) as started:
        yield started


@pytest.fixture
def client(server: KafkaServer) -> Iterator[RawClient]:
    with raw_client(server.endpoints[0]) as connected:
        assert shake_hands(connected, "OAUTHBEARER").error_code == 0
        yield connected


def configs(keys: Path) -> dict[str, str]:
    return SASL | {
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": f"other,{AUDIENCE}",
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


def message(token: str, header: str = "n,,") -> bytes:
    return f"{header}\x01auth=Bearer {token}\x01\x01".encode()


def claims() -> dict[str, object]:
    now = int(time.time())
    return {"iss": ISSUER, "sub": CLIENT, "aud": AUDIENCE, "iat": now, "exp": now + 300}


def signed(provider: Provider, body: Mapping[str, object]) -> str:
    return jwt.encode(dict(body), provider.key, algorithm="RS256", headers={"kid": "one"})


def is_refused(client: RawClient, data: bytes) -> bool:
    """First the status, and once the client has read it, the end."""
    answer = authenticate(client, data)
    assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
    answer = authenticate(client, b"\x01")
    return answer.error_code == 58 and "invalid_token" in answer.error_message


def test_a_token(client: RawClient, provider: Provider) -> None:
    """The session lasts as long as it does."""
    answer = authenticate(client, message(provider.token("")))
    assert answer.error_code == 0
    assert 290_000 < answer.session_lifetime_ms <= 300_000
    assert client.ask("Metadata", 12).brokers


def test_the_shorter_of_token_and_session(keys: Path, provider: Provider) -> None:
    with (
        served(configs(keys) | {"connections.max.reauth.ms": "5000"}) as server,
        raw_client(server.endpoints[0]) as client,
    ):
        shake_hands(client, "OAUTHBEARER")
        assert authenticate(client, message(provider.token(""))).session_lifetime_ms == 5000


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(aud="elsewhere"),
        lambda body: body.update(iss="https://other.example.com"),
        lambda body: body.update(exp=int(time.time()) - 60),
        lambda body: body.pop("exp"),
        lambda body: body.pop("sub"),
        lambda body: body.pop("aud"),
        lambda body: body.update(nbf=int(time.time()) + 3600),
        lambda body: body.update(sub=""),
    ],
    ids=["audience", "issuer", "expired", "no end", "nobody", "no audience", "not yet", "empty"],
)
def test_claims_that_are_wrong(
    client: RawClient, provider: Provider, change: Callable[[dict[str, object]], object]
) -> None:
    body = claims()
    change(body)
    assert is_refused(client, message(signed(provider, body)))


def test_signatures_that_are_wrong(server: KafkaServer, provider: Provider) -> None:
    """Of another key, with no key, or with the public key as if it were a secret."""
    other = rsa.generate_private_key(65537, 2048)
    public = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "one"}).encode())
    body = base64.urlsafe_b64encode(json.dumps(claims()).encode())
    to_sign = head.rstrip(b"=") + b"." + body.rstrip(b"=")
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    confused = to_sign + b"." + base64.urlsafe_b64encode(mac.sign(to_sign, public)).rstrip(b"=")
    tokens = {
        "another key": jwt.encode(claims(), other, algorithm="RS256", headers={"kid": "one"}),
        "unknown key": jwt.encode(claims(), other, algorithm="RS256", headers={"kid": "two"}),
        "no key": jwt.encode(claims(), None, algorithm="none", headers={"kid": "one"}),
        "confused": confused.decode(),
        "no token": "a.b.c",
    }
    for name, token in tokens.items():
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, "OAUTHBEARER")
            assert is_refused(client, message(token)), name


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"n,,\x01\x01", b"n,,\x01auth=Basic YTpi\x01\x01", b"p=x,,\x01auth=\x01"]
)
def test_messages_that_are_none(client: RawClient, data: bytes) -> None:
    assert is_refused(client, data)


def test_another_authorization_id(client: RawClient, provider: Provider) -> None:
    answer = authenticate(client, message(provider.token(""), f"n,a={CLIENT}x,"))
    assert (answer.error_code, answer.error_message) == (
        58,
        f"Authentication failed: Client requested an authorization id ({CLIENT}x) that is "
        f"different from the token's principal name ({CLIENT})",
    )


def test_the_other_mechanisms_go_on(server: KafkaServer) -> None:
    with raw_client(server.endpoints[0]) as client:
        assert log_in(client).error_code == 0


def test_keys_that_can_not_be_read(tmp_path: Path, provider: Provider) -> None:
    """They are looked for again at the next login."""
    keys = tmp_path / "keys.json"
    with served(configs(keys)) as server:
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, "OAUTHBEARER")
            assert is_refused(client, message(provider.token("")))
        provider.write_keys(keys)
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, "OAUTHBEARER")
            assert authenticate(client, message(provider.token(""))).error_code == 0


def test_keys_are_fetched_seldom(keys: Path, provider: Provider, monkeypatch) -> None:
    """Once an hour, and for a key that is not known at most every ten seconds."""
    import asyncio

    now, fetched = [0.0], []
    fetch = jwks._fetch
    monkeypatch.setattr(jwks, "_fetch", lambda url: fetched.append(now[0]) or fetch(url))
    settings = OAuthSettings(keys_url=keys.as_uri())
    verifier = jwks.TokenVerifier(settings, clock=lambda: now[0])
    unknown = jwt.encode(claims(), provider.key, algorithm="RS256", headers={"kid": "two"})

    async def ask() -> None:
        for second, token in ((0, signed(provider, claims())), (1, unknown), (11, unknown),
                              (12, unknown), (4000, signed(provider, claims()))):  # fmt: skip
            now[0] = second
            try:
                await verifier.verify(token)
            except jwks.LoginFailedError:
                assert token == unknown

    asyncio.run(ask())
    assert fetched == [0, 11, 4000]


def test_a_missing_package_is_one_sentence(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jwt", None)
    with (
        pytest.raises(KgitopsError, match=r"needs the package jwt; install kgitops\[oauth\]"),
        served(configs(keys)),
    ):
        pass
