"""PKCS#12 stores become PEM texts whose key is encrypted; other stores are told apart."""

import re
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cluster.kafka.certificates import Authority
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from kgitops.cluster.kafka.configs.client_configs import (
    librdkafka_configs,
    normalize_configs,
    wire_options,
)
from kgitops.model.errors import UsageError
from kgitops.sandbox.jvm import packaged_java

SESAME = "open, sesame"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stores"), "authority")


@pytest.fixture(scope="module")
def store(authority: Authority) -> Path:
    return authority.signs_store("client", SESAME)


def configs(store: Path | str, password: str | None = SESAME, **more: str) -> dict[str, str]:
    named = {"security.protocol": "ssl", "ssl.keystore.location": str(store)}
    more = {name.replace("_", "."): value for name, value in more.items()}
    return named | ({"ssl.keystore.password": password} if password else {}) | more


def refused(given: dict[str, str]) -> str:
    with pytest.raises(UsageError) as error:
        normalize_configs(given)
    said = str(error.value)
    assert "\n" not in said
    assert SESAME not in said
    return said


def test_both_clients_get_the_key_only_encrypted(store: Path):
    given = configs(store, ssl_keystore_type="pkcs12")
    for pem in (normalize_configs(given), librdkafka_configs("b:1", given)):
        assert not any(name.startswith("ssl.keystore.") for name in pem)
        assert SESAME not in "".join(pem.values())
        assert "BEGIN ENCRYPTED PRIVATE KEY" in pem["ssl.key.pem"]
        key = serialization.load_pem_private_key(
            pem["ssl.key.pem"].encode(), pem["ssl.key.password"].encode()
        )
        chain = x509.load_pem_x509_certificates(pem["ssl.certificate.pem"].encode())
        assert [one.subject.rfc4514_string() for one in chain] == ["CN=client", "CN=authority"]
        assert key.public_key() == chain[0].public_key()
    assert wire_options(given)["has_certificate"]


def test_every_reading_has_a_password_of_its_own(store: Path):
    passwords = {normalize_configs(configs(store))["ssl.key.password"] for _ in range(3)}
    assert len(passwords) == 3
    assert all(len(password) > 40 for password in passwords)


def test_what_lies_on_a_disk_is_encrypted_and_private_and_goes(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: dict[str, tuple[int, str]] = {}
    loads = ssl.SSLContext.load_cert_chain

    def watching(self: ssl.SSLContext, *words: object) -> None:
        for file in tmp_path.rglob("*.pem"):
            seen[file.name] = (file.stat().st_mode & 0o777, file.read_text())
        loads(self, *words)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watching)
    wire_options(configs(store))
    assert set(seen) == {"certificate.pem", "key.pem"}
    mode, text = seen["key.pem"]
    assert mode == 0o600
    assert text.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_a_password(authority: Authority):
    assert wire_options(configs(authority.signs_store("open", None), None))["has_certificate"]


def test_a_store_that_does_not_open(store: Path, tmp_path: Path):
    assert refused(configs(store, "wrong")) == (
        f"ssl.keystore.location: {store}: the password does not open it, or it is damaged; correct "
        "ssl.keystore.password"
    )
    assert "the password is needed to open it" in refused(configs(store, None))
    cut = tmp_path / "cut.p12"
    cut.write_bytes(store.read_bytes()[:-200])
    assert "or it is damaged; correct ssl.keystore.password" in refused(configs(cut))
    assert "no such file or directory; correct the path" in refused(configs(tmp_path / "gone.p12"))
    assert "is a directory; correct the path" in refused(configs(tmp_path))


def test_a_store_of_another_kind(authority: Authority, tmp_path: Path):
    pem = authority.signs("plain")
    assert refused(configs(pem)) == (
        f"ssl.keystore.location: {pem} is no PKCS#12 store; set ssl.certificate.location and "
        "ssl.key.location to PEM files"
    )
    empty = tmp_path / "empty.p12"
    empty.touch()
    assert "is no PKCS#12 store" in refused(configs(empty))
    large = tmp_path / "large.p12"
    large.write_bytes(b"\x30" + bytes(1 << 20))
    assert "is no PKCS#12 store" in refused(configs(large))


@pytest.mark.parametrize("magic", [b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"])
def test_a_store_that_only_java_reads(tmp_path: Path, magic: bytes):
    store = tmp_path / "client.jks"
    store.write_bytes(magic + bytes(200))
    target = tmp_path / "client.p12"
    for given in (configs(store), configs(store, ssl_keystore_type="jks")):
        assert refused(given) == (
            f"ssl.keystore.location: {store} is a store that only Java reads; run keytool "
            f"-importkeystore -srckeystore {store} -destkeystore {target} -deststoretype PKCS12, "
            f"and name {target}"
        )


def test_a_store_of_authorities_only(authority: Authority, tmp_path: Path):
    trust = tmp_path / "trust.p12"
    certificate = x509.load_pem_x509_certificate(authority.file.read_bytes())
    trust.write_bytes(
        pkcs12.serialize_key_and_certificates(
            None, None, None, [certificate], serialization.BestAvailableEncryption(SESAME.encode())
        )
    )
    assert refused(configs(trust)) == (
        f"ssl.keystore.location: {trust} holds no private key; name a client's store"
    )


def test_two_ways_to_name_a_key(authority: Authority, store: Path):
    pem = str(authority.signs("twice"))
    assert refused(configs(store, ssl_key_location=pem)) == (
        "ssl.keystore.location and ssl.key.location both name a client's key; leave one of them out"
    )
    same = {"ssl.key.password": SESAME}
    assert normalize_configs(configs(store) | same)["ssl.key.pem"]
    assert "ssl.key.password is not ssl.keystore.password" in refused(
        configs(store, "another") | same
    )
    assert refused({"security.protocol": "ssl", "ssl.keystore.type": "PKCS12"}) == (
        "ssl.keystore.* is set without ssl.keystore.location; set it to a PKCS#12 file"
    )
    assert "ssl.keystore.type must be PKCS12 or JKS, not 'BKS'" in refused(
        configs(store, ssl_keystore_type="BKS")
    )
    assert "ssl.keystore.location is set, but security.protocol=plaintext uses no TLS" in refused(
        {"ssl.keystore.location": "x"}
    )


def test_a_path_is_relative_to_the_project(store: Path):
    assert normalize_configs(configs(store.name), store.parent)["ssl.key.pem"]


def test_without_the_extra_the_sentence_says_how_to_install_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert re.fullmatch(
        "ssl.keystore.location needs the package cryptography, which is not installed; run "
        r"(pip install 'kgitops\[pkcs12\].*|uv sync --inexact --extra pkcs12)",
        refused(configs(store)),
    )


@pytest.mark.slow
def test_a_store_of_java_becomes_one_by_the_command_of_the_sentence(tmp_path: Path):
    """``keytool`` makes a JKS store, converts it as told, and both clients' texts come of it."""
    keytool = Path(packaged_java() or "").with_name("keytool")
    jks = tmp_path / "client.jks"

    def run(*words: str) -> None:
        done = subprocess.run([keytool, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    run(
        *("-genkeypair", "-keystore", str(jks), "-storetype", "JKS", "-alias", "client"),
        *("-keyalg", "EC", "-dname", "CN=client", "-storepass", SESAME, "-keypass", SESAME),
    )
    said = refused(configs(jks))
    words = re.search(r"run keytool (.*), and name (.*)", said)
    run(*words[1].split(), "-srcstorepass", SESAME, "-deststorepass", SESAME)
    pem = normalize_configs(configs(words[2]))
    (certificate,) = x509.load_pem_x509_certificates(pem["ssl.certificate.pem"].encode())
    assert certificate.subject.rfc4514_string() == "CN=client"
    assert wire_options(configs(words[2]))["has_certificate"]
