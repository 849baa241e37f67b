"""PKCS#12 key stores as the PEM texts that both clients take.

The key leaves the store only encrypted again, under a password that is made up for this process and
is nowhere else: Python's ssl module reads keys from files alone.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from kgitops.model.errors import UsageError
from kgitops.model.origin import install_command

_LOCATION, _PASSWORD, _TYPE = (f"ssl.keystore.{name}" for name in ("location", "password", "type"))
_OTHER_WAYS = (
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
)
_LARGEST = 1 << 20
_JAVA = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""The first bytes of the stores that only Java reads, JKS and JCEKS."""
_DER_SEQUENCE = b"\x30"


def with_pem_keys(configs: Mapping[str, str]) -> dict[str, str]:
    """Replace ``ssl.keystore.*`` by ``ssl.certificate.pem`` and ``ssl.key.*``.

    Raises:
        UsageError: the store can't be read or opened, or is of another type.
    """
    rest = {name: value for name, value in configs.items() if not name.startswith("ssl.keystore.")}
    if len(rest) == len(configs):
        return rest
    if _LOCATION not in configs:
        raise UsageError(f"ssl.keystore.* is set without {_LOCATION}; set it to a PKCS#12 file")
    if other := next((name for name in _OTHER_WAYS if name in configs), None):
        raise UsageError(f"{_LOCATION} and {other} both name a client's key; leave one of them out")
    password = configs.get(_PASSWORD)
    if rest.pop("ssl.key.password", password) != password:
        raise UsageError(
            f"ssl.key.password is not {_PASSWORD}, but a PKCS#12 store has one password; leave "
            "ssl.key.password out"
        )
    location = configs[_LOCATION]
    if configs.get(_TYPE) == "JKS":
        raise UsageError(_convert(location))
    return rest | _opened(location, _read(location), password)


def _read(location: str) -> bytes:
    try:
        with Path(location).open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{_LOCATION}: {location}: {reason.lower()}; correct the path") from error
    if data.startswith(_JAVA):
        raise UsageError(_convert(location))
    if not data.startswith(_DER_SEQUENCE) or len(data) > _LARGEST:
        raise UsageError(
            f"{_LOCATION}: {location} is no PKCS#12 store; set ssl.certificate.location and "
            "ssl.key.location to PEM files"
        )
    return data


def _opened(location: str, data: bytes, password: str | None) -> dict[str, str]:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (an extra)
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            f"{_LOCATION} needs the package cryptography, which is not installed; run "
            f"{install_command('pkcs12')}"
        ) from None
    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        what = "does not open it" if password else "is needed to open it"
        raise UsageError(
            f"{_LOCATION}: {location}: the password {what}, or it is damaged; correct {_PASSWORD}"
        ) from None
    except UnsupportedAlgorithm:
        raise UsageError(
            f"{_LOCATION}: {location} is encrypted in a way that is not supported here; write it "
            "anew with today's openssl or keytool"
        ) from None
    if store.key is None or store.cert is None:
        lacks = "private key" if store.key is None else "certificate of its key"
        raise UsageError(f"{_LOCATION}: {location} holds no {lacks}; name a client's store")
    made_up = secrets.token_urlsafe(32)
    pem = serialization.Encoding.PEM
    key = store.key.private_bytes(
        pem,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(made_up.encode()),
    )
    chain = [store.cert, *store.additional_certs]
    return {
        "ssl.certificate.pem": b"".join(
            one.certificate.public_bytes(pem) for one in chain
        ).decode(),
        "ssl.key.pem": key.decode(),
        "ssl.key.password": made_up,
    }


def _convert(location: str) -> str:
    target = str(Path(location).with_suffix(".p12"))
    return (
        f"{_LOCATION}: {location} is a store that only Java reads; run keytool -importkeystore "
        f"-srckeystore {quote(location)} -destkeystore {quote(target)} -deststoretype PKCS12, and "
        f"name {target}"
    )
