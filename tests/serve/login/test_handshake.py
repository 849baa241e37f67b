"""SaslHandshake and SaslAuthenticate: states, answers and sessions as Kafka has them."""

import base64
import logging
import re
from collections.abc import Iterator

import pytest
from serve.login.logging_in import (
    PASSWORD,
    SASL,
    authenticate,
    log_in,
    scram_final,
    served,
    shake_hands,
    told,
)
from serve.raw_client import RawClient, raw_client
from serve.topic_requests import created

from kgitops.cluster.embedded.options import Options
from kgitops.cluster.embedded.policy_hook import static_configs
from kgitops.model.resources.users import ScramMechanism
from kgitops.serve.server import KafkaServer


@pytest.fixture(scope="module")
def sasl() -> Iterator[KafkaServer]:
    with served(SASL) as server:
        yield server


@pytest.fixture(scope="module")
def logging_sasl() -> Iterator[KafkaServer]:
    """For tests that read the log: of many closed connections, a server logs only the first."""
    with served(SASL) as server:
        yield server


@pytest.fixture
def logged_client(logging_sasl: KafkaServer) -> Iterator[RawClient]:
    with raw_client(logging_sasl.endpoints[0]) as connected:
        yield connected


@pytest.fixture
def client(sasl: KafkaServer) -> Iterator[RawClient]:
    with raw_client(sasl.endpoints[0]) as connected:
        yield connected


def is_closed(client: RawClient) -> bool:
    try:
        return client.socket.recv(1) == b""
    except ConnectionResetError:
        return True


def test_plain(client: RawClient) -> None:
    assert client.ask("ApiVersions", 3).error_code == 0
    assert shake_hands(client, "PLAIN").mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    answer = authenticate(client, f"\0alice\0{PASSWORD}".encode())
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert len(client.ask("Metadata", 12).brokers) == 1


@pytest.mark.parametrize(
    ("message", "answered"),
    [
        ("\0alice\0wrong", "Authentication failed: Invalid username or password"),
        ("\0nobody\0wrong", "Authentication failed: Invalid username or password"),
        ("\0\0wrong", "Authentication failed: username not specified"),
        ("\0alice\0", "Authentication failed: password not specified"),
        (
            f"bob\0alice\0{PASSWORD}",
            "Authentication failed: Client requested an authorization id that is different "
            "from username",
        ),
        (
            "alice",
            "Authentication failed during authentication due to invalid credentials with SASL "
            "mechanism PLAIN",
        ),
    ],
)
def test_plain_refuses(
    logged_client: RawClient, caplog: pytest.LogCaptureFixture, message: str, answered: str
) -> None:
    """With SASL_AUTHENTICATION_FAILED, then the connection is closed, with a line of its own."""
    shake_hands(logged_client, "PLAIN")
    with caplog.at_level(logging.INFO, "kgitops.serve"):
        answer = authenticate(logged_client, message.encode())
        assert (answer.error_code, answer.error_message) == (58, answered)
        assert is_closed(logged_client)
        line = told(caplog)
    assert line.startswith("a connection from 127.0.0.1 is closed: its login by PLAIN failed: ")
    assert "wrong" not in line
    assert PASSWORD not in line


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("version", [0, 1])
def test_scram(client: RawClient, mechanism: ScramMechanism, version: int) -> None:
    """Both sides prove that they know the password (RFC 5802)."""
    shake_hands(client, mechanism)
    first = "n,,n=carol,r=abc"
    server_first = authenticate(client, first.encode(), version).auth_bytes.decode()
    assert server_first.startswith("r=abc")
    final, signature = scram_final(mechanism, PASSWORD, first, server_first)
    answer = authenticate(client, final.encode(), version)
    assert (answer.error_code, answer.auth_bytes) == (0, signature)


@pytest.mark.parametrize("user", ["carol", "nobody"])
def test_scram_refuses_a_wrong_password_and_an_unknown_user_alike(
    sasl: KafkaServer, user: str
) -> None:
    """Salt and iterations are told in both cases, and they stay the same."""
    told = set()
    for _ in range(2):
        with raw_client(sasl.endpoints[0]) as client:
            shake_hands(client, "SCRAM-SHA-256")
            first = f"n,,n={user},r=abc"
            server_first = authenticate(client, first.encode()).auth_bytes.decode()
            told.add(server_first.split(",", 1)[1])
            final, _ = scram_final(ScramMechanism.SHA_256, "wrong", first, server_first)
            answer = authenticate(client, final.encode())
            assert (answer.error_code, answer.error_message) == (
                58,
                "Authentication failed during authentication due to invalid credentials with "
                "SASL mechanism SCRAM-SHA-256",
            )
            assert is_closed(client)
    (fields,) = told
    assert re.fullmatch(r"s=[A-Za-z0-9+/=]+,i=4096", fields)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"n,,n=carol",
        b"p=tls-unique,,n=carol,r=abc",
        b"n,,n=ca=rol,r=abc",
        b"n,a=bob,n=carol,r=abc",
        b"n,,m=1,n=carol,r=abc",
        b"n,,n=carol,r=abc,tokenauth=true",
    ],
)
def test_scram_refuses_first_messages(client: RawClient, message: bytes) -> None:
    shake_hands(client, "SCRAM-SHA-512")
    assert authenticate(client, message).error_code == 58
    assert is_closed(client)


@pytest.mark.parametrize("change", ["nonce", "binding", "proof", "short"])
def test_scram_refuses_final_messages(client: RawClient, change: str) -> None:
    shake_hands(client, "SCRAM-SHA-256")
    first = "n,,n=carol,r=abc"
    server_first = authenticate(client, first.encode()).auth_bytes.decode()
    final, _ = scram_final(ScramMechanism.SHA_256, PASSWORD, first, server_first)
    changed = {
        "nonce": final.replace("r=abc", "r=abd"),
        "binding": final.replace("c=biws", "c=eSws"),
        "proof": final[:-6] + ("A" if final[-6] != "A" else "B") + final[-5:],
        "short": final.split(",p=")[0] + ",p=" + base64.b64encode(b"x").decode(),
    }[change]
    assert changed != final
    assert authenticate(client, changed.encode()).error_code == 58
    assert is_closed(client)


def test_a_mechanism_that_is_not_enabled(client: RawClient) -> None:
    """UNSUPPORTED_SASL_MECHANISM lists those that are."""
    answer = shake_hands(client, "GSSAPI")
    assert (answer.error_code, answer.mechanisms) == (
        33,
        ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
    )
    assert is_closed(client)


def test_a_second_handshake_instead_of_a_message(client: RawClient) -> None:
    shake_hands(client, "PLAIN")
    assert shake_hands(client, "PLAIN").error_code == 34
    assert is_closed(client)


def test_handshake_version_0_has_messages_without_headers(client: RawClient) -> None:
    assert shake_hands(client, "PLAIN", 0).error_code == 0
    message = f"\0alice\0{PASSWORD}".encode()
    client.socket.sendall(len(message).to_bytes(4, "big") + message)
    assert client.receive_frame() == b""
    assert len(client.ask("Metadata", 12).brokers) == 1


def test_version_0_is_closed_without_an_answer(client: RawClient) -> None:
    shake_hands(client, "PLAIN", 0)
    client.socket.sendall((5).to_bytes(4, "big") + b"\0a\0bc")
    assert is_closed(client)


@pytest.mark.parametrize("api", ["Metadata", "CreateTopics", "SaslAuthenticate"])
def test_nothing_else_is_answered_before_a_login(client: RawClient, api: str) -> None:
    client.ask("ApiVersions", 3)
    client.send(api, 2)
    assert is_closed(client)


def test_versions_are_asked_for_once(client: RawClient) -> None:
    client.ask("ApiVersions", 3)
    client.send("ApiVersions", 3)
    assert is_closed(client)


def test_a_newer_client_asks_again_in_an_older_version(client: RawClient) -> None:
    """KIP-511, before a login."""
    frame = bytes.fromhex("0012 0063 00000009 ffff")
    client.socket.sendall(len(frame).to_bytes(4, "big") + frame)
    assert client.receive_frame()[:6] == bytes.fromhex("00000009 0023")
    assert client.ask("ApiVersions", 3).error_code == 0


def test_no_second_login_without_sessions(client: RawClient) -> None:
    """ILLEGAL_SASL_STATE; the connection goes on."""
    log_in(client)
    assert shake_hands(client, "PLAIN").error_code == 34
    answer = authenticate(client, b"\0alice\0x")
    assert (answer.error_code, answer.error_message) == (
        34,
        "SaslAuthenticate request received after successful authentication",
    )
    assert len(client.ask("Metadata", 12).brokers) == 1


def test_a_large_message_before_a_login(client: RawClient) -> None:
    """Less is taken than of those who are logged in."""
    client.socket.sendall((600_000).to_bytes(4, "big"))
    assert is_closed(client)


def test_acls_count_where_clients_log_in(sasl: KafkaServer) -> None:
    """Of super.users, and of others."""
    for user, password, code in (("alice", PASSWORD, 0), ("bob", "bob's", 31)):
        with raw_client(sasl.endpoints[0]) as client:
            assert log_in(client, user, password).error_code == 0
            assert created(client, "orders", validate_only=True) == {"orders": code}


def test_secrets_are_not_among_the_configs(sasl: KafkaServer) -> None:
    """Nor do policies see them."""
    broker = sasl.cluster.controller.image().brokers.brokers[1]
    shown = static_configs(Options(static_configs=SASL), broker)
    assert PASSWORD not in str(shown)
    assert shown["listener.name.app.plain.sasl.jaas.config"] == "[hidden]"
    assert not any("jaas" in key for key in sasl.cluster.controller.options.static_configs)


def test_nobody_logs_in_as_the_brokers() -> None:
    jaas = 'org.example.Plain required user_kafka="x";'
    with (
        served({**SASL, "listener.name.app.plain.sasl.jaas.config": jaas}) as server,
        raw_client(server.endpoints[0]) as client,
    ):
        assert log_in(client, "kafka", "x").error_code == 58


@pytest.fixture(scope="module")
def short() -> Iterator[KafkaServer]:
    with served({**SASL, "listener.name.app.connections.max.reauth.ms": "60000"}) as server:
        yield server


@pytest.fixture
def in_session(short: KafkaServer) -> Iterator[RawClient]:
    """A client that has logged in, for a minute."""
    with raw_client(short.endpoints[0]) as connected:
        assert log_in(connected).session_lifetime_ms == 60000
        yield connected


def test_the_same_user_logs_in_again(in_session: RawClient) -> None:
    """KIP-368."""
    assert log_in(in_session).session_lifetime_ms == 60000
    assert len(in_session.ask("Metadata", 12).brokers) == 1


def test_another_user_does_not_log_in_again(in_session: RawClient) -> None:
    answer = log_in(in_session, "bob", "bob's")
    assert (answer.error_code, answer.error_message) == (
        58,
        "Cannot change principals during re-authentication from User.alice: User.bob",
    )
    assert is_closed(in_session)


def test_nobody_logs_in_again_by_another_mechanism(in_session: RawClient) -> None:
    assert shake_hands(in_session, "SCRAM-SHA-256").error_code == 0
    answer = authenticate(in_session, b"n,,n=alice,r=abc")
    assert (answer.error_code, answer.error_message) == (
        58,
        "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for "
        "re-authentication of mechanism 'PLAIN'",
    )


def test_nobody_logs_in_again_twice_within_a_second(in_session: RawClient) -> None:
    log_in(in_session)
    assert shake_hands(in_session, "PLAIN").error_code == 34


def test_other_requests_while_logging_in_again(in_session: RawClient) -> None:
    shake_hands(in_session, "PLAIN")
    in_session.send("Metadata", 12)
    assert is_closed(in_session)


def test_the_end_of_a_session_closes_the_connection() -> None:
    """A millisecond long."""
    with (
        served({**SASL, "listener.name.app.plain.connections.max.reauth.ms": "1"}) as server,
        raw_client(server.endpoints[0]) as client,
    ):
        assert log_in(client).session_lifetime_ms == 1
        with pytest.raises(ConnectionError):  # noqa: PT012 (one of them is after the end)
            for _ in range(1000):
                client.ask("Metadata", 12)
