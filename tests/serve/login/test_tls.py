"""TLS: who may connect, who they are then, and what happens to those who speak something else."""

import logging
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from serve.login.logging_in import SASL, log_in, served, told, with_tls
from serve.raw_client import RawClient, raw_client
from serve.topic_requests import created

from kgitops.cluster.kafka.configs.subjects import subject_name
from kgitops.sandbox.certificates import Certificates, issue_certificates
from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.serve.listening.reading_logins import parse_principal_rules
from kgitops.serve.listening.settings import PrincipalRule
from kgitops.serve.login.principals import UnmappedNameError, mapped_name
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages

APP = {"listeners": "APP://127.0.0.1:0"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"), ["alice"])


@pytest.fixture(scope="module")
def mutual(certificates: Certificates) -> Iterator[KafkaServer]:
    """It asks for a certificate of the client's own."""
    configs = with_tls(APP, certificates, auth="required") | {"super.users": "User:CN=alice"}
    with served(configs) as server:
        yield server


@contextmanager
def tls_client(
    server: KafkaServer, certificates: Certificates, name: str | None = None
) -> Iterator[RawClient]:
    context = ssl.create_default_context(cafile=certificates.authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # as by default from Python 3.13 on
    if name is not None:
        context.load_cert_chain(certificates.clients[name])
    with raw_client(server.endpoints[0]) as client:
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        yield client


def create(client: RawClient) -> int:
    return created(client, "orders", validate_only=True)["orders"]


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except (ConnectionError, ssl.SSLError):
        return True


def test_a_certificate_is_a_login(mutual: KafkaServer, certificates: Certificates) -> None:
    """Of User:CN=alice, a super user here; TLS 1.3 or 1.2."""
    with tls_client(mutual, certificates, "alice") as client:
        assert create(client) == 0
        assert client.socket.version() in ("TLSv1.2", "TLSv1.3")


def test_no_certificate(
    mutual: KafkaServer, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, "kgitops.serve"),
        pytest.raises((ConnectionError, ssl.SSLError)),
        tls_client(mutual, certificates) as client,
    ):
        client.ask("ApiVersions", 3)
    assert "TLS failed: peer did not return a certificate" in told(caplog)


def test_no_sasl_where_certificates_are_the_login(
    mutual: KafkaServer, certificates: Certificates
) -> None:
    with tls_client(mutual, certificates, "alice") as client:
        request = messages.SaslHandshakeRequest(mechanism="PLAIN")
        assert client.ask("SaslHandshake", 1, request).error_code == 34


def test_rules_make_principals(certificates: Certificates) -> None:
    configs = with_tls(APP, certificates, auth="required") | {
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/U",
        "super.users": "User:ALICE",
    }
    with served(configs) as server, tls_client(server, certificates, "alice") as client:
        assert create(client) == 0


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("RULE:^CN=bob$/bob/", "no rule of ssl.principal.mapping.rules fits the name CN=alice"),
        ("RULE:^.*$/kafka/", "User:kafka is the principal of the brokers themselves"),
    ],
)
def test_rules_that_let_nobody_in(
    certificates: Certificates, caplog: pytest.LogCaptureFixture, rules: str, reason: str
) -> None:
    configs = with_tls(APP, certificates, auth="required")
    with (
        served(configs | {"ssl.principal.mapping.rules": rules}) as server,
        caplog.at_level(logging.INFO, "kgitops.serve"),
        tls_client(server, certificates, "alice") as client,
    ):
        assert is_closed(client.socket)
    assert reason in told(caplog)


def test_without_a_certificate_of_the_client_it_is_anonymous(certificates: Certificates) -> None:
    """And, as nobody need log in, ACLs don't count."""
    with (
        served(with_tls(APP, certificates)) as server,
        tls_client(server, certificates) as client,
    ):
        assert create(client) == 0


def test_sasl_over_tls(certificates: Certificates) -> None:
    """The principal is the one of the login, whatever the certificate says."""
    with served(with_tls(SASL, certificates, auth="requested")) as server:
        with tls_client(server, certificates, "alice") as client:
            assert log_in(client, "bob", "bob's").error_code == 0
            assert create(client) != 0
        with tls_client(server, certificates) as client:
            assert log_in(client).error_code == 0
            assert create(client) == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "it sent HTTP"),
        (b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff", "it does not speak TLS, this listener does"),
        (b"\x16\x03\x01\0\x05hello", "TLS failed"),
    ],
)
def test_something_else_to_a_listener_with_tls(
    mutual: KafkaServer, caplog: pytest.LogCaptureFixture, data: bytes, reason: str
) -> None:
    with (
        caplog.at_level(logging.INFO),
        raw_client(mutual.endpoints[0]) as client,
    ):
        client.socket.sendall(data)
        while data := client.socket.recv(100):
            assert data[0] == 0x15, "an alert at most"
        assert reason in told(caplog)


def test_tls_1_1(
    mutual: KafkaServer, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(cafile=certificates.authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        raw_client(mutual.endpoints[0]) as client,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(client.socket, server_hostname="localhost")
    assert "TLS failed: unsupported protocol" in told(caplog)


def test_a_handshake_that_never_ends(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    """It counts as a connection, and has its time."""
    with (
        served(with_tls(APP, certificates), limits=ConnectionLimits(login=1)) as server,
        caplog.at_level(logging.INFO, "kgitops.serve"),
        raw_client(server.endpoints[0]) as client,
    ):
        assert is_closed(client.socket)
        assert "TLS was not set up in time" in told(caplog)
        assert not len(server._listeners.open)


def test_a_login_that_never_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Requests in between give it no more time."""
    with (
        served(SASL, limits=ConnectionLimits(login=1)) as server,
        caplog.at_level(logging.INFO, "kgitops.serve"),
        raw_client(server.endpoints[0]) as client,
    ):
        assert client.ask("ApiVersions", 3).error_code == 0
        assert is_closed(client.socket)
        assert "it has not logged in for 1 s" in told(caplog)


def test_who_has_logged_in_may_be_idle() -> None:
    """For longer than a login may take."""
    with (
        served(SASL, limits=ConnectionLimits(login=0.3)) as server,
        raw_client(server.endpoints[0]) as client,
    ):
        assert log_in(client).error_code == 0
        client.socket.settimeout(1.3)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)


NAMES = {
    "CN=alice": [("CN", "alice")],
    "CN=alice,OU=sales\\, north,O=a\\+b,C=DE": [
        ("C", "DE"),
        ("O", "a+b"),
        ("OU", "sales, north"),
        ("CN", "alice"),
    ],
    "1.2.840.113549.1.9.1=#160361406b,CN=\\#x\\ ": [("CN", "#x "), ("E", "a@k")],
    "CN=Jürgen,UID=7,DC=example": [("DC", "example"), ("UID", "7"), ("CN", "Jürgen")],
}


@pytest.mark.parametrize("expected", NAMES)
def test_names_are_written_as_java_does(expected: str) -> None:
    """X500Principal.getName(), RFC 2253."""
    ids = {
        "CN": NameOID.COMMON_NAME,
        "C": NameOID.COUNTRY_NAME,
        "O": NameOID.ORGANIZATION_NAME,
        "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
        "E": NameOID.EMAIL_ADDRESS,
        "DC": NameOID.DOMAIN_COMPONENT,
        "UID": NameOID.USER_ID,
    }
    name = x509.Name([x509.NameAttribute(ids[kind], value) for kind, value in NAMES[expected]])
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")]))
        .public_key(key.public_key())
        .serial_number(1 << 150)
        .not_valid_before(datetime.now(UTC))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    assert subject_name(certificate.public_bytes(Encoding.DER)) == expected


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x80", b"\x30\x03\x02\x01\x01", b"\xff" * 40])
def test_no_certificate_at_all(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(it |not enough|need more|too many)"):
        subject_name(data)


def test_the_first_rule_that_fits() -> None:
    rules = [PrincipalRule("CN=(.*?),O=(.*)", "$1.$2"), PrincipalRule("x", "y")]
    assert mapped_name("CN=a,O=b", rules) == "a.b"
    with pytest.raises(UnmappedNameError):
        mapped_name("CN=a", rules)
    assert mapped_name("CN=a", [*rules, PrincipalRule()]) == "CN=a"


def test_a_clients_name_holds_nobody_up() -> None:
    """In a process, which is ended if it hangs: a client chooses the name of its certificate."""
    patterns = ["^CN=(a+)+$", "CN=(a|aa)+", "(.*)*,OU=x"]
    ask = (
        "import sys; from kgitops.serve.login.principals import *\n"
        "for pattern in sys.argv[1:]:\n"
        "    try: mapped_name('CN=' + 'a' * 60 + '!', [PrincipalRule(pattern)])\n"
        "    except UnmappedNameError: print(pattern)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", ask, *patterns],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ran.stdout.splitlines() == patterns


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("RULE:^CN=([^,]+),?.*$/$1/", "é"),
        ("RULE:^CN=(é)(,OU=x)?(,O=.*)?$/$1-$2-$3/U", "É--,O=Y"),
        (r"RULE:^.*O=(.*)$/\$1$/L", r"\y$"),
    ],
)
def test_rules_are_read_and_made_as_ever(rule: str, name: str) -> None:
    assert mapped_name("CN=é,O=y", parse_principal_rules(rule, pytest.fail)) == name


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(a", "(a{1000}){1000}"])
def test_a_pattern_that_re2_does_not_know_is_refused(pattern: str) -> None:
    problems: list[str] = []
    parse_principal_rules(f"RULE:{pattern}/x/", problems.append)
    (problem,) = problems
    assert "which is not valid for RE2: " in problem
