"""The SASL mechanisms of a listener, each begun again for every login."""

from collections.abc import Callable, Sequence

from kgitops.cluster.embedded.image.image import Image, ScramCredential
from kgitops.model.resources.users import ScramMechanism
from kgitops.serve.listening.settings import OAUTHBEARER, PLAIN, SaslSettings
from kgitops.serve.login.exchange import LoginExchange
from kgitops.serve.login.jwks import TokenVerifier, check_token_support
from kgitops.serve.login.oauthbearer import OAuthBearerExchange
from kgitops.serve.login.plain import PlainExchange
from kgitops.serve.login.scram import ScramExchange


class LoginMechanisms:
    """Begins exchanges; the users of SCRAM are those of the cluster."""

    def __init__(
        self, settings: SaslSettings, image: Callable[[], Image], salt_secret: bytes
    ) -> None:
        """Prepare them.

        Raises:
            KgitopsError: a package that one of them needs is missing.
        """
        self.settings = settings
        self._image = image
        self._salt_secret = salt_secret
        self._verifier: TokenVerifier | None = None
        if settings.oauth is not None:
            check_token_support()
            self._verifier = TokenVerifier(settings.oauth)

    def begin(self, mechanism: str) -> LoginExchange:
        """An exchange in one of the mechanisms that are enabled."""
        if mechanism == PLAIN:
            return PlainExchange(self.settings.passwords)
        if mechanism == OAUTHBEARER and self._verifier is not None:
            return OAuthBearerExchange(self._verifier.verify)
        return ScramExchange(
            ScramMechanism(mechanism),
            lambda user: self._credential(user, mechanism),
            salt_secret=self._salt_secret,
            others=lambda: self._credentials(mechanism),
        )

    def _credential(self, user: str, mechanism: str) -> ScramCredential | None:
        return self._image().scram.users.get(user, {}).get(mechanism)

    def _credentials(self, mechanism: str) -> Sequence[ScramCredential]:
        users = self._image().scram.users.values()
        return [held[mechanism] for held in users if mechanism in held]
