"""Credentials with which the gateway logs in to brokers for clients that show a certificate."""

import ssl
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from kgitops.serve.listening.settings import PrincipalRule
from kgitops.serve.login.principals import UnmappedNameError, certificate_principal


class SaslUser(Struct, frozen=True, kw_only=True):
    """A user name as its mechanism writes it, and the password."""

    mechanism: str
    name: str
    password: str
    salted: dict[tuple[bytes, int], bytes] = field(default_factory=dict)
    """The password as SCRAM derives it, by salt and iterations: it costs some milliseconds."""

    def __repr__(self) -> str:
        """Without the password."""
        return f"SaslUser({self.mechanism}, {self.name})"


class Credential(Struct, frozen=True, kw_only=True):
    """A login at the brokers; ``principal`` is by whom they know it."""

    principal: str
    user: SaslUser | None = None
    tls: ssl.SSLContext | None = None
    """TLS to the brokers that shows them a certificate; None where they ask for none."""


class NoCredentialError(Exception):
    """A certificate that nobody gave a credential for; the text is the end of a sentence."""


class ClientCredentials(Struct, frozen=True, kw_only=True):
    """The credentials of all clients, by the principals of their certificates."""

    by_principal: Mapping[str, Credential]
    rules: Sequence[PrincipalRule] = (PrincipalRule(),)
    """As ``ssl.principal.mapping.rules`` of the brokers."""

    def find(self, certificate: bytes | None) -> tuple[str, Credential]:
        """The principal of a certificate in DER, and its credential.

        Raises:
            NoCredentialError: there is none.
        """
        if certificate is None:
            raise NoCredentialError("it shows no certificate")
        try:
            principal = certificate_principal(certificate, self.rules)
        except UnmappedNameError as error:
            raise NoCredentialError(str(error)) from None
        found = self.by_principal.get(principal)
        if found is None:
            raise NoCredentialError(f"there is no credential for {principal}; add one")
        return principal, found
