"""The certificate of the gateway's listeners, read again when its files change."""

import ssl
from collections.abc import Callable
from pathlib import Path

from kgitops.gateway.file_states import FileStates, file_states
from kgitops.gateway.sockets.tls import remember_names
from kgitops.model.errors import KgitopsError


class ServerCertificate:
    """TLS of the listeners; connections that are open keep what they began with."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        """Read the files; with authorities of clients these have to show certificates.

        Raises:
            KgitopsError: they can't be used.
        """
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._seen = self._state()
        self.context = _context(certificate, key, client_ca)
        """The one for the next connection."""

    def look(self, tell: Callable[[str], None]) -> None:
        """Read the files again if they changed; tell what came of it."""
        state = self._state()
        if state == self._seen:
            return
        try:
            self.context = _context(self._certificate, self._key, self._client_ca)
        except KgitopsError as error:
            if state == self._state():  # else they are just being written
                self._seen = state
                tell(f"{error}; the certificate before it goes on")
            return
        self._seen = state
        tell(f"the certificate {self._certificate} was read again")

    def _state(self) -> FileStates:
        return file_states(filter(None, (self._certificate, self._key, self._client_ca)))


def _context(certificate: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    files = {"--tls-cert": certificate, "--tls-key": key, "--client-ca": client_ca}
    for option, file in files.items():
        try:
            if file is not None:
                file.open("rb").close()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise KgitopsError(f"{option} {file}: {reason}; correct the path") from None
    try:
        # Without this function OpenSSL would ask for a password at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not valid PEM"
        raise KgitopsError(
            f"--tls-cert {certificate} and --tls-key {key} can't be used "
            f"({reason.lower().replace('_', ' ')}); give a PEM certificate with its chain, and its "
            "key without a password"
        ) from None
    if client_ca is not None:
        _ask_for_certificates(context, client_ca)
    remember_names(context)
    return context


def _ask_for_certificates(context: ssl.SSLContext, client_ca: Path) -> None:
    try:
        context.load_verify_locations(client_ca)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not valid PEM"
        raise KgitopsError(
            f"--client-ca {client_ca} can't be used ({reason.lower().replace('_', ' ')}); give the "
            "certificates of the authorities that sign those of clients, PEM"
        ) from None
    context.verify_mode = ssl.CERT_REQUIRED
    # A session that is resumed would not be verified again.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
