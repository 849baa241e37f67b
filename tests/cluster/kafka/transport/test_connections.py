"""Every way to connect works for both clients, and every failure is one sentence (issue 4, 6)."""

import re
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cluster.kafka import msk_verifier, token_endpoint
from cluster.kafka.fakes import answering, old_broker, silent_port
from cluster.kafka.many_listeners import PASSWORD, ManyListeners, login
from cluster.kafka.promised import patience
from cluster.kafka.token_package import install_example, register
from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.kafka.configs.client_configs import librdkafka_configs, wire_options
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.verdict import ExitCode

Configs = Callable[[ManyListeners], dict[str, str]]

NOWHERE = "127.0.0.1:1"
WAYS: dict[str, tuple[str, Configs]] = {
    "plaintext": ("PLAINTEXT", lambda many: {}),
    "tls": ("SSL", lambda many: many.trusting()),
    "tls, authority as text": (
        "SSL",
        lambda many: {"security.protocol": "ssl", "ssl.ca.pem": many.authority.file.read_text()},
    ),
    "client certificate": ("MUTUAL", lambda many: many.showing("client")),
    "key with a password": (
        "MUTUAL",
        lambda many: many.showing("locked") | {"ssl.key.password": PASSWORD},
    ),
    "certificate and key as text": (
        "MUTUAL",
        lambda many: (
            many.trusting()
            | {
                f"ssl.{part}.pem": (many.authority.folder / "client.pem").read_text()
                for part in ("certificate", "key")
            }
        ),
    ),
    "expired but unverified": (
        "EXPIRED",
        lambda many: {"security.protocol": "ssl", "enable.ssl.certificate.verification": "false"},
    ),
    "another name, not compared": (
        "ELSEWHERE",
        lambda many: many.trusting() | {"ssl.endpoint.identification.algorithm": "none"},
    ),
    "PLAIN": ("SASL", lambda many: login("PLAIN")),
    "SCRAM-SHA-256": ("SASL", lambda many: login("SCRAM-SHA-256")),
    "SCRAM-SHA-512": ("SASL", lambda many: login("SCRAM-SHA-512")),
    "a name that SCRAM escapes": ("SASL", lambda many: login("SCRAM-SHA-512", "a=b,c")),
    "PLAIN over TLS": (
        "SASLSSL",
        lambda many: login("PLAIN") | many.trusting("sasl_ssl"),
    ),
    "SCRAM over TLS": (
        "SASLSSL",
        lambda many: login("SCRAM-SHA-256") | many.trusting("SASL_SSL"),
    ),
    "OAUTHBEARER": ("OAUTH", lambda many: many.provider.configs()),
    "OAUTHBEARER with extensions": (
        "OAUTH",
        lambda many: (
            many.provider.configs() | {"sasl.oauthbearer.extensions": "team=payments,tier=one"}
        ),
    ),
    "PKCS#12": ("MUTUAL", lambda many: many.storing()),
    "AWS_MSK_IAM": ("MSK", lambda many: many.on_msk()),
    "a token provider": ("OAUTH", lambda many: many.with_provider(token_file(many))),
}


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS credentials that the broker's verifier knows, and the guide's package on the path."""
    for name, value in msk_verifier.ENVIRON.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://{NOWHERE}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "our_tokens", raising=False)
    install_example(tmp_path)
    (tmp_path / "hanging_tokens.py").write_text(
        "import time\n\n\ndef get(config):\n    time.sleep(60)\n"
    )
    register(tmp_path, "hanging-tokens", {"hanging": "hanging_tokens:get"})


def token_file(many: ManyListeners, signer: token_endpoint.Provider | None = None) -> str:
    """A file as an agent would keep it, beside the certificates."""
    file = many.authority.folder / f"token-of-{'another' if signer else 'provider'}"
    file.write_text((signer or many.provider).token("kafka:admin"))
    return str(file)


@pytest.mark.parametrize("way", WAYS)
def test_both_clients_connect(many: ManyListeners, way: str):
    listener, configs = WAYS[way][0], WAYS[way][1](many)
    server = many.server(listener)
    with closing(Wire([server], wire_options(configs))) as wire:
        wire.connect()
        assert wire.broker_ids() == (1,)
        assert wire.send(MetadataRequest(topics=[]), to=1).controller_id == 1
    from confluent_kafka import Consumer

    consumer = Consumer({**librdkafka_configs(server, configs), "group.id": "any"})
    with closing(consumer):
        assert set(consumer.list_topics(timeout=20).brokers) == {1}


WRONG = "let-me-in"
REFUSALS: dict[str, tuple[str, Configs, str]] = {
    "wrong host": (
        "no-such-host.invalid:9092",
        lambda many: {},
        "the host no-such-host.invalid of no-such-host.invalid:9092 has no address: .*; correct "
        "the host in the cluster's url",
    ),
    "closed port": (
        NOWHERE,
        lambda many: {},
        "127.0.0.1:1 can't be reached: connection refused; check the host and port, and that the "
        "broker runs",
    ),
    "wrong password, PLAIN": (
        "SASL",
        lambda many: login("PLAIN", password=WRONG),
        r"{server} refuses the user name or password \(PLAIN\); check sasl.username, sasl.password "
        "and sasl.mechanism",
    ),
    "wrong password, SCRAM": (
        "SASLSSL",
        lambda many: login("SCRAM-SHA-512", password=WRONG) | many.trusting("SASL_SSL"),
        r"{server} refuses the user name or password \(SCRAM-SHA-512\); check .*",
    ),
    "unknown user": (
        "SASL",
        lambda many: login("SCRAM-SHA-256", user="mallory"),
        r"{server} refuses the user name or password \(SCRAM-SHA-256\); check .*",
    ),
    "mechanism not offered": (
        "OAUTH",
        lambda many: login("PLAIN"),
        "{server} does not offer PLAIN; set sasl.mechanism to one that its listener has enabled",
    ),
    "expired certificate": (
        "EXPIRED",
        lambda many: many.trusting(),
        "the certificate of {server} has expired; renew it on the broker",
    ),
    "another host's certificate": (
        "ELSEWHERE",
        lambda many: many.trusting(),
        "the certificate of {server} is made out to another host than 127.0.0.1; use the name that "
        "is in it, or set ssl.endpoint.identification.algorithm=none",
    ),
    "unknown authority": (
        "SSL",
        lambda many: {"security.protocol": "SSL"},
        "the certificate of {server} is signed by an authority that is not trusted here; set "
        "ssl.ca.location to the PEM file of its authority",
    ),
    "another authority": (
        "SSL",
        lambda many: many.trusting() | {"ssl.ca.location": str(many.stranger.parent / "other.pem")},
        "the certificate of {server} is signed by an authority that is not trusted here; .*",
    ),
    "no client certificate": (
        "MUTUAL",
        lambda many: many.trusting(),
        "{server} wants a client certificate; set ssl.certificate.location and ssl.key.location",
    ),
    "a stranger's certificate": (
        "MUTUAL",
        lambda many: many.showing("stranger"),
        "{server} refuses the client certificate; set ssl.certificate.location and "
        "ssl.key.location to one that its broker trusts",
    ),
    "TLS to a plaintext port": (
        "PLAINTEXT",
        lambda many: many.trusting(),
        "{server} does not speak TLS; set security.protocol=plaintext, or use the broker's TLS "
        "port",
    ),
    "plaintext to a TLS port": (
        "SSL",
        lambda many: {},
        "{server} (speaks TLS|hangs up, as a broker does that expects TLS); "
        "set security.protocol=ssl.*",
    ),
    "credentials to a plaintext port": (
        "PLAINTEXT",
        lambda many: login("PLAIN"),
        "{server} takes no credentials; set security.protocol=plaintext",
    ),
    "credentials to a TLS port": (
        "SSL",
        lambda many: login("PLAIN") | many.trusting("SASL_SSL"),
        "{server} takes no credentials; set security.protocol=ssl",
    ),
    "no credentials": (
        "SASL",
        lambda many: {},
        "{server} closed the connection at the first request and probably wants credentials; "
        "set security.protocol=sasl_plaintext, sasl.mechanism, sasl.username and sasl.password",
    ),
    "no credentials over TLS": (
        "SASLSSL",
        lambda many: many.trusting(),
        "{server} closed the connection at the first request .*; "
        "set security.protocol=sasl_ssl, .*",
    ),
    "credentials without TLS": (
        "SASLSSL",
        lambda many: login("PLAIN"),
        "{server} (speaks TLS|hangs up, as a broker does that expects TLS); "
        "set security.protocol=sasl_ssl.*",
    ),
    "a controller's port": (
        "CONTROLLER",
        lambda many: {},
        "{server} is a KRaft controller, not a broker; use the port of a broker's listener",
    ),
    "the token endpoint refuses": (
        "OAUTH",
        lambda many: many.provider.configs() | {"sasl.oauthbearer.client.secret": WRONG},
        r"the token endpoint http://127.0.0.1:[0-9]+/token answers 401 \(invalid_client\); check "
        "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and sasl.oauthbearer.scope",
    ),
    "a provider that fails": (
        "OAUTH",
        lambda many: many.with_provider("/nowhere"),
        "the token provider file raises FileNotFoundError; call it by itself to see why",
    ),
    "a provider that hangs": (
        "OAUTH",
        lambda many: many.with_provider("any", "hanging"),
        "the token provider hanging gives no token within 5 s; see what it waits for",
    ),
    "a role of AWS that can't be had": (
        "MSK",
        lambda many: (
            many.on_msk()
            | {
                "sasl.oauthbearer.config": (
                    f"region={msk_verifier.REGION},awsRoleArn=arn:aws:iam::1:role/x"
                )
            }
        ),
        "Amazon's signer raises EndpointConnectionError; try `aws sts get-caller-identity` in the "
        "same environment",
    ),
    "AWS_MSK_IAM where it is not offered": (
        "SASLSSL",
        lambda many: many.on_msk(),
        "{server} does not offer OAUTHBEARER; set sasl.mechanism to one that its listener has "
        "enabled",
    ),
    "no token endpoint": (
        "OAUTH",
        lambda many: (
            many.provider.configs()
            | {"sasl.oauthbearer.token.endpoint.url": f"http://{NOWHERE}/token"}
        ),
        "the token endpoint http://127.0.0.1:1/token can't be reached: connection refused; check "
        "sasl.oauthbearer.token.endpoint.url",
    ),
}


def refusal(servers: str, configs: dict[str, str]) -> str:
    """The one sentence, which comes in time, bears exit code 8 and no secret."""
    with patience(), pytest.raises(UnreachableError) as error:
        boot(servers, configs)
    said = str(error.value)
    assert error.value.exit is ExitCode.UNREACHABLE
    assert "\n" not in said
    assert said.count("; ") == 1, said
    for secret in (WRONG, PASSWORD):
        assert secret not in said
    return said


@pytest.mark.parametrize("failure", REFUSALS)
def test_what_does_not_connect_says_why(many: ManyListeners, failure: str):
    listener, configs, expected = REFUSALS[failure]
    server = listener if ":" in listener else many.server(listener)
    said = refusal(server, configs(many))
    assert re.fullmatch(expected.replace("{server}", server), said), said


def test_a_token_that_another_signed_is_refused(many: ManyListeners):
    with token_endpoint.running() as other:
        said = refusal(many.server("OAUTH"), other.configs())
    assert said == (
        f"{many.server('OAUTH')} refuses the token of sasl.oauthbearer.client.id; check the "
        "token's audience, scope and issuer against the broker's configs"
    )


def test_a_provider_that_hangs_is_the_sentence_with_several_servers_too(many: ManyListeners):
    servers = ",".join([many.server("OAUTH"), NOWHERE, many.server("OAUTH")])
    said = refusal(servers, many.with_provider("any", "hanging"))
    assert said.startswith("the token provider hanging gives no token within 5 s; ")


def test_a_token_of_a_provider_that_another_signed_is_refused(many: ManyListeners):
    with token_endpoint.running() as other:
        said = refusal(many.server("OAUTH"), many.with_provider(token_file(many, other)))
    assert said == (
        f"{many.server('OAUTH')} refuses the token of sasl.oauthbearer.token.provider=file; check "
        "its audience, scope and issuer against the broker's configs"
    )


def test_a_token_that_another_key_signed_is_refused(
    many: ManyListeners, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WRONG)
    said = refusal(many.server("MSK"), many.on_msk())
    assert said == (
        f"{many.server('MSK')} refuses the token signed with the AWS credentials; check that their "
        "IAM policies allow kafka-cluster:Connect on the cluster, and its region"
    )
    assert many.msk.refused[-1] not in said


def test_a_port_that_never_answers():
    short = {"socket.connection.setup.timeout.ms": "1000"}
    with silent_port() as server:
        assert refusal(server, short) == (
            f"{server} accepts connections but does not answer; check that it is the port of a "
            "Kafka broker, and that the broker is well"
        )
        assert refusal(server, short | {"security.protocol": "ssl"}) == (
            f"{server} accepts connections but does not answer a TLS handshake; check that it is "
            "a broker's TLS port, or set security.protocol=plaintext"
        )


def test_a_port_that_never_answers_is_given_up_within_ten_seconds():
    with silent_port() as server:
        assert "does not answer" in refusal(server, {})


def test_servers_of_other_kinds():
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        assert (
            refusal(server, {}) == f"{server} is an HTTP server, not a Kafka broker; check the port"
        )
    with answering(b"SSH-2.0-OpenSSH_9.6\r\n") as server:
        assert refusal(server, {}) == f"{server} does not speak Kafka's protocol; check the port"
    with answering(b"\x15\x03\x03\x00\x02\x02\x46") as server:  # a TLS alert
        assert refusal(server, {}) == f"{server} speaks TLS; set security.protocol=ssl"
    with old_broker() as server:
        assert refusal(server, {}) == (
            f"{server} is not a broker of Kafka 3.7 or later in KRaft mode; upgrade the cluster's "
            "brokers"
        )


def test_any_of_the_servers_will_do(many: ManyListeners):
    good = many.server("PLAINTEXT")
    with silent_port() as silent, answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http:
        cluster = boot(",".join((NOWHERE, silent, http, "no-such-host.invalid:1", good)), {})
    with closing(cluster):
        assert cluster.wire.broker_ids() == (1,)


def test_of_several_failures_the_most_telling_is_said(many: ManyListeners):
    servers = f"{NOWHERE},{many.server('SASL')},no-such-host.invalid:9092"
    said = refusal(servers, login("PLAIN", password=WRONG))
    assert said.startswith(f"{many.server('SASL')} refuses the user name or password")


def test_every_address_of_a_host_is_tried(many: ManyListeners, monkeypatch: pytest.MonkeyPatch):
    port = many.ports["SSL"]

    def fake_resolver(host: str, *words: object) -> list[object]:
        # Nobody listens on the first.
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("127.0.0.2", "127.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", fake_resolver)
    # The name that was asked for is the one the certificate must bear.
    said = refusal(f"b9.example.com:{port}", many.trusting())
    assert "made out to another host than b9.example.com" in said
    unnamed = many.trusting() | {"ssl.endpoint.identification.algorithm": "none"}
    with closing(Wire([f"b9.example.com:{port}"], wire_options(unnamed))) as wire:
        wire.connect()
        assert wire.broker_ids() == (1,)


def test_a_canonical_name_is_the_one_to_bear(many: ManyListeners, monkeypatch: pytest.MonkeyPatch):
    """``client.dns.lookup``: an alias stands for hosts whose own names are certified."""
    port = many.ports["ELSEWHERE"]

    def fake_resolver(host: str, *words: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", fake_resolver)
    monkeypatch.setattr(socket, "getnameinfo", lambda *words: ("b1.example.com", str(port)))
    lookup = {"client.dns.lookup": "resolve_canonical_bootstrap_servers_only"}
    alias = f"kafka.example.com:{port}"
    assert "made out to another host than kafka.example.com" in refusal(alias, many.trusting())
    with closing(Wire([alias], wire_options(many.trusting() | lookup))) as wire:
        wire.connect()
        assert wire.broker_ids() == (1,)
