"""The tokens that a cluster's configs ask for, also from functions of installed packages.

Only what a package was installed for can be named: a project file can't make kgitops call another
function.
"""

import urllib.parse
from collections.abc import Mapping
from importlib.metadata import entry_points

from kgitops.cluster.kafka.configs.tls import https_context
from kgitops.cluster.kafka.configs.tokens.cache import CachedTokens
from kgitops.cluster.kafka.configs.tokens.msk import MECHANISM, msk_tokens
from kgitops.cluster.kafka.configs.tokens.oidc import OidcTokens
from kgitops.cluster.kafka.configs.tokens.provided import ProvidedTokens, TokenFunction
from kgitops.model.errors import UsageError

OAUTHBEARER = "OAUTHBEARER"
GROUP = "kgitops.token_providers"
CONFIG = "sasl.oauthbearer.token.provider"


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


def token_function(name: str) -> TokenFunction:
    """Load the token provider that a package has under this name.

    Raises:
        UsageError: none has, several have, or it can't be loaded.
    """
    known = entry_points(group=GROUP)
    found = [point for point in known if point.name == name]
    if not found:
        others = ", ".join(sorted(known.names)) or "none"
        raise UsageError(
            f"{CONFIG}: no installed package has a token provider {name!r} (known: {others}); "
            "correct the name, or install its package beside kgitops"
        )
    if len({point.value for point in found}) > 1:
        packages = ", ".join(sorted(point.dist.name for point in found if point.dist))
        raise UsageError(
            f"{CONFIG}: several packages have a token provider {name!r} ({packages}); uninstall "
            "all but one"
        )
    try:
        function = found[0].load()
    except Exception as error:  # noqa: BLE001 (whatever the module does when it is imported)
        detail = f": {error}" if isinstance(error, ImportError) else ""
        raise UsageError(
            f"{CONFIG}: {found[0].value} of the token provider {name!r} can't be loaded "
            f"({type(error).__name__}{detail}); mend its package"
        ) from None
    if not callable(function):
        raise UsageError(
            f"{CONFIG}: {found[0].value} of the token provider {name!r} is no function; mend its "
            "package"
        )
    loaded: TokenFunction = function
    return loaded
