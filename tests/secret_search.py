"""A search of bytes for passwords and for all that follows from them, however it is written.

A password is looked for as it is, and so are hashes of it; of a salted one also its salt and the
keys that Kafka makes of it (RFC 5802). Each is looked for raw, in hexadecimal, base64, base85 and
as a URL or UTF-16 has it. What is compressed is opened, also within base64 and within other files.
"""

import base64
import bz2
import hashlib
import hmac
import io
import lzma
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import quote

_HASHES = ("md5", "sha1", "sha256", "sha512")
_WINDOW = 8
"""Each form has at least as many bytes, which is far more than chance gives."""
_DEEPEST = 4
_MAGIC = re.compile(
    rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|\x28\xb5\x2f\xfd|BZh[1-9]1AY|\xfd7zXZ\x00|PK\x03\x04"
)
_BASE64_OF_MAGIC = re.compile(rb"(?:H4sI|eJ|eA|KLUv|QlpoO|/Td6|UEsDB)[A-Za-z0-9+/_-]{16,}")


class SecretSearch:
    """The secrets to look for, by the bytes that each of their forms begins with."""

    def __init__(self) -> None:
        self._forms: dict[bytes, dict[bytes, str]] = defaultdict(dict)

    def add_password(self, name: str, password: bytes) -> None:
        """Look for a password and for hashes of it."""
        self._add(name, password)
        for kind in _HASHES:
            self._add(f"{kind} of {name}", hashlib.new(kind, password).digest())

    def add_salted(self, name: str, kind: str, salt: bytes, salted: bytes) -> None:
        """Look for a salted password, its salt, and the keys of it; ``kind`` is a hash's name."""
        for what, key in scram_values(kind, salt, salted).items():
            self._add(f"{what} of {name}", key)

    def found_in(self, places: Mapping[str, bytes]) -> list[str]:
        """What is found where, each once."""
        return sorted(
            {
                f"{secret} in {place}"
                for name, content in places.items()
                for place, layer in layers(name, content)
                for secret in self._found(layer)
            }
        )

    def _add(self, name: str, secret: bytes) -> None:
        for form, written in written_forms(bytes(secret)):
            assert len(written) >= _WINDOW, f"{name} is too short to be looked for"
            self._forms[written[:_WINDOW]][written] = f"{name} ({form})"

    def _found(self, content: bytes) -> Iterator[str]:
        beginnings = self._forms
        for start in range(len(content) - _WINDOW + 1):
            window = content[start : start + _WINDOW]
            if window in beginnings:
                for written, name in beginnings[window].items():
                    if content.startswith(written, start):
                        yield name


def scram_values(kind: str, salt: bytes, salted: bytes) -> dict[str, bytes]:
    """What follows from a salted password, by name; the brokers keep the stored and server key."""
    client_key = hmac.digest(salted, b"Client Key", kind)
    return {
        "salt": salt,
        "salted password": salted,
        "client key": client_key,
        "stored key": hashlib.new(kind, client_key).digest(),
        "server key": hmac.digest(salted, b"Server Key", kind),
        "sha256 of the salted password": hashlib.sha256(salted).digest(),
    }


def written_forms(secret: bytes) -> Iterator[tuple[str, bytes]]:
    """The ways in which a secret may be written, each once."""
    yield "raw", secret
    yield "hex", secret.hex().encode()
    yield "HEX", secret.hex().upper().encode()
    yield "escaped", b"".join(b"\\x%02x" % byte for byte in secret)
    yield "url", "".join(f"%{byte:02X}" for byte in secret).encode()
    yield "quoted", quote(secret).encode()
    yield "base85", base64.b85encode(secret)
    yield "repr", repr(secret)[2:-1].encode()
    with suppress(UnicodeDecodeError):
        yield "utf-16", secret.decode().encode("utf-16-le")
    for shift in range(3):  # within longer bytes; what hangs on the neighbours is left out
        padded = bytes(shift) + secret
        first, last = -(-shift * 8 // 6), len(padded) * 8 // 6
        yield "base64", base64.b64encode(padded)[first:last]
        yield "base64url", base64.urlsafe_b64encode(padded)[first:last]


def layers(name: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """The content itself, and whatever is compressed within it."""
    yield name, content
    if depth == _DEEPEST:
        return
    for inner in _opened(content):
        yield from layers(f"{name}, opened", inner, depth + 1)
    for found in _BASE64_OF_MAGIC.finditer(content):
        text = found[0].translate(bytes.maketrans(b"-_", b"+/"))
        decoded = base64.b64decode(text[: len(text) // 4 * 4])
        for inner in _opened(decoded):
            yield from layers(f"{name}, opened", inner, depth + 1)


def _opened(content: bytes) -> Iterator[bytes]:
    for found in _MAGIC.finditer(content):
        rest = memoryview(content)[found.start() :]
        for open_it in _OPENERS:
            try:
                yield from open_it(rest)
            except Exception:  # noqa: BLE001, S112 (a few bytes that only look like it)
                continue


def _inflated(content: memoryview) -> Iterable[bytes]:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
    inner = b""
    with suppress(zlib.error):  # the beginning is worth a look, too
        inner = inflater.decompress(content)
    return [inner] if len(inner) >= _WINDOW else []


def _of_zstandard(content: memoryview) -> Iterable[bytes]:
    import zstandard

    return [zstandard.ZstdDecompressor().decompressobj().decompress(content)]


def _of_zip(content: memoryview) -> Iterable[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [archive.read(member) for member in archive.namelist()]


_OPENERS: tuple[Callable[[memoryview], Iterable[bytes]], ...] = (
    _inflated,
    _of_zstandard,
    _of_zip,
    lambda content: [bz2.BZ2Decompressor().decompress(content)],
    lambda content: [lzma.LZMADecompressor().decompress(content)],
)
