"""The login of a client that shows a certificate: the gateway logs in to brokers in its place."""

from typing import Protocol

from kgitops.gateway.connections.logins import SASL_AUTHENTICATE, SASL_HANDSHAKE
from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.gateway.credentials.broker_login import BrokerLogin
from kgitops.gateway.credentials.credential import Credential, NoCredentialError


class CurrentCredentials(Protocol):
    """The credentials of now."""

    def find(self, certificate: bytes | None) -> tuple[str, Credential]:
        """The principal of a certificate, and its credential.

        Raises:
            NoCredentialError: there is none.
        """
        ...

    def get(self, principal: str) -> Credential | None:
        """The credential of a client's principal."""
        ...


class CertificateLogin:
    """The login of one connection; ``principal`` is by whom the brokers know it."""

    __slots__ = ("_credentials", "_shown", "credential", "principal")

    def __init__(self, credentials: CurrentCredentials) -> None:
        self._credentials = credentials
        self._shown: str | None = None
        self.credential: Credential | None = None
        """The gateway's at the brokers."""
        self.principal: str | None = None

    def show(self, certificate: bytes | None) -> None:
        """Take the certificate of the client, which TLS has verified.

        Raises:
            RefusedError: nobody gave a credential for it.
        """
        try:
            self._shown, self.credential = self._credentials.find(certificate)
        except NoCredentialError as error:
            raise RefusedError(RefusalReason.CERTIFICATE, str(error)) from None
        self.principal = self.credential.principal

    def begin(self) -> BrokerLogin | None:
        """The login by SASL at a broker, if the client's credential is one."""
        user = self.credential.user if self.credential else None
        return None if user is None else BrokerLogin(user)

    def check(self) -> None:
        """Look whether there is a credential yet, once the credentials are others.

        Raises:
            RefusedError: there is none, or that of another principal.
        """
        if self._shown is None:
            return
        found = self._credentials.get(self._shown)
        if found is None or found.principal != self.principal:
            sentence = f"the credential of {self._shown} is another one now, or none"
            raise RefusedError(RefusalReason.CERTIFICATE, sentence)

    def request(self, frame: bytearray, key: int) -> bytes | None:  # noqa: ARG002 (as the follower's)
        """Take a request on its way to the broker.

        Raises:
            RefusedError: it is of a login by SASL, or comes before there is a certificate.
        """
        if key in (SASL_HANDSHAKE, SASL_AUTHENTICATE) or self.principal is None:
            sentence = "it logs in by SASL, and clients log in by their certificates here"
            raise RefusedError(RefusalReason.LOGIN, sentence)
        return None

    def response(self, frame: bytearray, key: int, version: int) -> None:
        """Nothing of a login comes to the client."""
