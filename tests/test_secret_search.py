"""The search for passwords finds each one, in every form and place, or it proves nothing."""

import base64
import bz2
import gzip
import hashlib
import hmac
import io
import json
import lzma
import zipfile
import zlib

import pytest
import zstandard
from secret_search import SecretSearch, written_forms

WORD = b"-".join([b"correct", b"horse", b"4711"])
SALT = bytes(range(24))
SALTED = hashlib.pbkdf2_hmac("sha512", WORD, SALT, 4096)
NOISE = b'{"orders": "partitions"} ' * 40


@pytest.fixture
def search() -> SecretSearch:
    made = SecretSearch()
    made.add_password("WORD", WORD)
    made.add_salted("WORD", "sha512", SALT, SALTED)
    return made


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page", content)
    return file.getvalue()


WAYS = {
    "as it is": bytes,
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zip": zipped,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstandard.compress,
    "base64 of gzip": lambda content: base64.b64encode(gzip.compress(content)),
    "base64 of zlib in JSON": lambda content: json.dumps(
        {"plan": base64.b64encode(zlib.compress(content)).decode()}
    ).encode(),
    "gzip in zip": lambda content: zipped(gzip.compress(content)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", dict(written_forms(WORD)))
def test_a_password_is_found_in_each_form_and_way(
    search: SecretSearch, form: str, way: str
) -> None:
    for found, written in written_forms(WORD):
        if found == form:
            content = NOISE + WAYS[way](NOISE + written + NOISE) + NOISE
            assert any(said.startswith("WORD (") for said in search.found_in({"log": content}))


@pytest.mark.parametrize("before", range(4))
def test_a_password_within_longer_base64_is_found(search: SecretSearch, before: int) -> None:
    """As in an Authorization header, where the user's name comes first."""
    content = base64.b64encode(b"x" * before + b":" + WORD + b":and more")
    (found,) = search.found_in({"header": content})
    assert found.startswith("WORD (base64")


def test_what_follows_from_a_password_is_found(search: SecretSearch) -> None:
    client_key = hmac.new(SALTED, b"Client Key", hashlib.sha512).digest()
    values = {
        "md5 of WORD": hashlib.md5(WORD).digest(),  # noqa: S324 (what is looked for)
        "sha1 of WORD": hashlib.sha1(WORD).digest(),  # noqa: S324 (as above)
        "sha256 of WORD": hashlib.sha256(WORD).digest(),
        "sha512 of WORD": hashlib.sha512(WORD).digest(),
        "salt of WORD": SALT,
        "salted password of WORD": SALTED,
        "client key of WORD": client_key,
        "stored key of WORD": hashlib.sha512(client_key).digest(),
        "server key of WORD": hmac.new(SALTED, b"Server Key", hashlib.sha512).digest(),
    }
    for name, value in values.items():
        for _, written in written_forms(value):
            found = search.found_in({"journal": NOISE + written + NOISE})
            assert any(said.startswith(name) for said in found), (name, written)


def test_nothing_is_found_where_nothing_is(search: SecretSearch) -> None:
    others = [b"correct-horse-4712", WORD[1:], WORD[:-1], hashlib.sha256(WORD + b"\n").digest()]
    for content in (NOISE, *others, gzip.compress(NOISE), base64.b64encode(others[-1])):
        assert search.found_in({"log": content}) == []
