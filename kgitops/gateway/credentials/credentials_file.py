"""The file of clients' credentials, read again when it or a file that it names changes."""

from collections.abc import Callable

from kgitops.gateway.credentials.credential import ClientCredentials, Credential
from kgitops.gateway.credentials.reading import CredentialsSource
from kgitops.gateway.file_states import FileStates, file_states
from kgitops.model.errors import KgitopsError


class CredentialsFile:
    """The credentials of now."""

    def __init__(self, source: CredentialsSource) -> None:
        """Read the file.

        Raises:
            KgitopsError: it can't be used.
        """
        self._source = source
        self._now: ClientCredentials = source.read()
        self._seen = self._state()

    def find(self, certificate: bytes | None) -> tuple[str, Credential]:
        """The principal of a certificate, and its credential.

        Raises:
            NoCredentialError: there is none.
        """
        return self._now.find(certificate)

    def get(self, principal: str) -> Credential | None:
        """The credential of a client's principal."""
        return self._now.by_principal.get(principal)

    def look(self, tell: Callable[[str], None]) -> bool:
        """Read it again if something changed, and tell what came of it; True if it is another."""
        state = self._state()
        if state == self._seen:
            return False
        try:
            self._now = self._source.read()
        except KgitopsError as error:
            self._seen = self._state()
            tell(f"{error}; the credentials before go on")
            return False
        self._seen = self._state()
        tell(f"the credentials {self._source.file} were read again")
        return True

    def _state(self) -> FileStates:
        return file_states(self._source.files)
