"""The tokens that a cluster's configs ask for."""

import urllib.parse
from collections.abc import Mapping

from kgitops.cluster.kafka.configs.tls import https_context
from kgitops.cluster.kafka.configs.tokens.cache import CachedTokens
from kgitops.cluster.kafka.configs.tokens.entry_points import CONFIG, token_function
from kgitops.cluster.kafka.configs.tokens.msk import MECHANISM, msk_tokens
from kgitops.cluster.kafka.configs.tokens.oidc import OidcTokens
from kgitops.cluster.kafka.configs.tokens.provided import ProvidedTokens
from kgitops.model.errors import UsageError

OAUTHBEARER = "OAUTHBEARER"


def tokens_of(configs: Mapping[str, str]) -> CachedTokens:
    """The tokens of normalized configs; none is asked for yet.

    Raises:
        UsageError: a config is not valid, or a package is missing.
    """
    config = configs.get("sasl.oauthbearer.config", "")
    if configs["sasl.mechanism"] == MECHANISM:
        return msk_tokens(config)
    provider = configs.get(CONFIG)
    if provider is None:
        return _oidc_tokens(configs)
    return ProvidedTokens(
        token_function(provider),
        config,
        source=f"the token provider {provider}",
        name=f"the token of {CONFIG}={provider}",
        advice="check its audience, scope and issuer against the broker's configs",
    )


def uses_callback(configs: Mapping[str, str]) -> bool:
    """True if kgitops gets the tokens for librdkafka too, which can do so by itself with OIDC."""
    return configs.get("sasl.mechanism") == MECHANISM or CONFIG in configs


def _oidc_tokens(configs: Mapping[str, str]) -> OidcTokens:
    def oauth_config(name: str) -> str | None:
        return configs.get(f"sasl.oauthbearer.{name}")

    endpoint = configs["sasl.oauthbearer.token.endpoint.url"]
    scheme = urllib.parse.urlsplit(endpoint).scheme
    if scheme not in ("http", "https"):
        raise UsageError("sasl.oauthbearer.token.endpoint.url must begin with https://")
    return OidcTokens(
        endpoint=endpoint,
        client_id=configs["sasl.oauthbearer.client.id"],
        client_secret=configs["sasl.oauthbearer.client.secret"],
        scope=oauth_config("scope"),
        extensions=_extensions(oauth_config("extensions") or ""),
        tls=https_context(configs) if scheme == "https" else None,
    )


def _extensions(text: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in text.split(",") if item.strip()]
    if any(not (name.strip() and equals) for name, equals, _ in pairs):
        raise UsageError("sasl.oauthbearer.extensions must be NAME=VALUE,NAME=VALUE")
    return {name.strip(): value for name, _, value in pairs}
