"""ssl contexts built from librdkafka's TLS configs."""

import re
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kgitops.cluster.kafka.configs.subjects import subject_name
from kgitops.model.errors import UsageError

Configs = Mapping[str, str]
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def tls_context(configs: Configs) -> ssl.SSLContext:
    """Build a context that trusts ``ssl.ca.*`` or the system's CAs, with ``ssl.certificate.*``.

    Raises:
        UsageError: a file can't be read, or a key can't be decrypted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    verified = configs.get("enable.ssl.certificate.verification") != "false"
    named = configs.get("ssl.endpoint.identification.algorithm", "https") == "https"
    context.check_hostname = verified and named
    context.verify_mode = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
    trust(context, configs, "ssl.ca")
    _show_certificate(context, configs)
    return context


def https_context(configs: Configs) -> ssl.SSLContext:
    """Build the context for a token endpoint: trusts ``https.ca.*`` or the system's CAs.

    As strict as librdkafka is: certificates of private CAs often lack what Python 3.13 wants.
    """
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    trust(context, configs, "https.ca")
    return context


def trust(context: ssl.SSLContext, configs: Configs, prefix: str) -> None:
    """Trust the CAs of ``PREFIX.location`` or ``PREFIX.pem``; without either the system's."""
    location, text = configs.get(f"{prefix}.location"), configs.get(f"{prefix}.pem")
    try:
        if location and location != "probe":
            name = f"{prefix}.location"
            folder = readable(name, location).is_dir()
            context.load_verify_locations(**{"capath" if folder else "cafile": location})
        elif text:
            name = f"{prefix}.pem"
            context.load_verify_locations(cadata=text)
        else:
            context.load_default_certs()
    except ssl.SSLError as error:
        where = location if name.endswith("location") else "its text"
        raise UsageError(f"{name}: {where} holds no certificate in PEM form; correct it") from error


def readable(name: str, location: str) -> Path:
    """Return the file or folder that a config names.

    Raises:
        UsageError: it can't be read.
    """
    path = Path(location)
    try:
        if not path.is_dir():
            path.open("rb").close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name}: {location}: {reason.lower()}; correct the path") from error
    return path


def certificate_subject(configs: Configs) -> str | None:
    """Return the subject of ``ssl.certificate.*`` as Java writes it; None if it can't be read."""
    certificate = _location_or_text(configs, "ssl.certificate")
    if certificate is None:
        return None
    name, value = certificate
    try:
        text = readable(name, value).read_text("utf-8") if name.endswith(".location") else value
        found = _CERTIFICATE.search(text)
        return subject_name(ssl.PEM_cert_to_DER_cert(found[0])) if found else None
    except (OSError, ValueError):
        return None


def _show_certificate(context: ssl.SSLContext, configs: Configs) -> None:
    certificate = _location_or_text(configs, "ssl.certificate")
    key = _location_or_text(configs, "ssl.key")
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        has, lacks = ("key", "certificate") if certificate is None else ("certificate", "key")
        raise UsageError(
            f"ssl.{has}.* is set without ssl.{lacks}.*; a client certificate needs both: "
            f"set ssl.{lacks}.location to its PEM file"
        )
    # Python reads keys only from files; the folder is private to this user and removed at once.
    with tempfile.TemporaryDirectory(prefix="kgitops-") as folder:
        _load(
            context,
            _as_file(certificate, Path(folder) / "certificate.pem"),
            _as_file(key, Path(folder) / "key.pem"),
            f"{certificate[0]} with {key[0]}",
            configs.get("ssl.key.password"),
        )


def _location_or_text(configs: Configs, prefix: str) -> tuple[str, str] | None:
    """The config that is set and its value; a location takes precedence over a text."""
    for name in (f"{prefix}.location", f"{prefix}.pem"):
        if name in configs:
            return name, configs[name]
    return None


def _as_file(config: tuple[str, str], spare: Path) -> Path:
    name, value = config
    if name.endswith(".location"):
        return readable(name, value)
    spare.touch(mode=0o600)
    spare.write_text(value)
    return spare


def _load(
    context: ssl.SSLContext, certificate: Path, key: Path, names: str, password: str | None
) -> None:
    asked = False

    def unlock() -> str:
        nonlocal asked
        asked = True
        # Without a password Python would ask the terminal for one.
        return password or " "

    try:
        context.load_cert_chain(certificate, key, unlock)
    except (OSError, ValueError) as error:
        if asked and password is None:
            problem, advice = "the key has a password", "set ssl.key.password"
        elif asked:
            problem, advice = "the password does not open the key", "correct ssl.key.password"
        elif "MISMATCH" in str(error):
            problem, advice = (
                "the key is not the certificate's",
                "name a pair that belongs together",
            )
        else:
            problem, advice = "there is no key or certificate in PEM form", "correct the files"
        raise UsageError(f"{names}: {problem}; {advice}") from error
