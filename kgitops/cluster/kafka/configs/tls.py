"""The TLS that librdkafka's configs describe, as Python's ssl context."""

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kgitops.model.errors import UsageError

Configs = Mapping[str, str]


def tls_context(configs: Configs) -> ssl.SSLContext:
    """Trusts ``ssl.ca.*``, or else the system's authorities; shows ``ssl.certificate.*``.

    Raises:
        UsageError: a file can't be read, or a key not be unlocked.
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
    """For a token endpoint: trusts ``https.ca.*``, or else the system's authorities."""
    context = ssl.create_default_context()
    trust(context, configs, "https.ca")
    return context


def trust(context: ssl.SSLContext, configs: Configs, prefix: str) -> None:
    """Trust what ``PREFIX.location`` and ``PREFIX.pem`` hold; neither: the system's authorities."""
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
    """The file or folder that a config names.

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


def _show_certificate(context: ssl.SSLContext, configs: Configs) -> None:
    certificate = _given(configs, "ssl.certificate")
    key = _given(configs, "ssl.key")
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        has, lacks = ("key", "certificate") if certificate is None else ("certificate", "key")
        raise UsageError(
            f"ssl.{has}.* is set without ssl.{lacks}.*; a client certificate needs both: "
            f"set ssl.{lacks}.location to its PEM file"
        )
    # Python reads keys from files alone; the folder is for this user only and gone at once.
    with tempfile.TemporaryDirectory(prefix="kgitops-") as folder:
        _load(
            context,
            _as_file(certificate, Path(folder) / "certificate.pem"),
            _as_file(key, Path(folder) / "key.pem"),
            f"{certificate[0]} with {key[0]}",
            configs.get("ssl.key.password"),
        )


def _given(configs: Configs, prefix: str) -> tuple[str, str] | None:
    """The config that is set and its value; a location goes before a text."""
    for name in (f"{prefix}.location", f"{prefix}.pem"):
        if name in configs:
            return name, configs[name]
    return None


def _as_file(given: tuple[str, str], spare: Path) -> Path:
    name, value = given
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
