"""Tokens from a provider: asked for once, renewed in time, and every failure one sentence."""

import json

import pytest
from cluster.kafka.token_endpoint import CLIENT, SECRET, Provider, running

from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.configs.tokens.oidc import OidcTokens


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def provider():
    with running() as provider:
        yield provider


def tokens(provider: Provider, **options) -> OidcTokens:
    given = {"endpoint": provider.url, "client_id": CLIENT, "client_secret": SECRET} | options
    return OidcTokens(**given)


def test_a_token_is_kept_until_it_is_old(provider: Provider):
    clock = Clock()
    ours = tokens(provider, clock=clock, scope="kafka:admin")
    first = ours.token()
    clock.now = provider.life_s * 0.7
    assert ours.token() == first
    assert provider.asked == [{"grant_type": "client_credentials", "scope": "kafka:admin"}]
    clock.now = provider.life_s * 0.85
    ours.token()
    assert len(provider.asked) == 2


def test_a_token_says_its_own_end_where_the_answer_does_not(provider: Provider):
    clock = Clock()
    ours = tokens(provider, clock=clock)
    provider.answer = json.dumps({"access_token": provider.token("")}).encode()
    ours.token()
    clock.now = provider.life_s * 0.7
    ours.token()
    assert len(provider.asked) == 1
    clock.now = provider.life_s
    ours.token()
    assert len(provider.asked) == 2


def test_no_scope_is_no_scope(provider: Provider):
    tokens(provider).token()
    assert provider.asked == [{"grant_type": "client_credentials"}]


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"{}", b'{"access_token": 3}', b'{"access_token": "no.jwt"}', b"null", b"\xff"],
)
def test_answers_without_a_token(provider: Provider, answer: bytes):
    provider.answer = answer
    with pytest.raises(TokenError, match="answers without an access_token; check"):
        tokens(provider).token()


def test_a_credential_follows_no_redirect(provider: Provider):
    with running() as other:
        provider.status, provider.answer, provider.location = 302, b"", other.url
        with pytest.raises(TokenError, match="answers 302; check"):
            tokens(provider).token()
        assert other.asked == []


def test_the_secret_is_in_no_sentence(provider: Provider):
    provider.status = 400
    provider.answer = json.dumps({"error": "invalid_scope", "echo": SECRET}).encode()
    with pytest.raises(TokenError) as error:
        tokens(provider).token()
    assert "answers 400 (invalid_scope); check" in str(error.value)
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None
