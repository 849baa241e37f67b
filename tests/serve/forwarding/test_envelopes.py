"""Envelopes at a controller: who may send them, what is in them, and what they are answered."""

import struct

import pytest
from cluster.clusters import a_grant
from serve.raw_client import RawClient
from serve.served import served
from serve.topic_requests import created, creating

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.envelope import DefaultPrincipalSerde, ForwardedClient, packed, unpack
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import request_frame
from kgitops.wire.messages import Message, message_class

SERDE = DefaultPrincipalSerde()
ALICE = ForwardedClient(
    principal="User:alice",
    host="10.1.2.3",
    listener="EXTERNAL",
    security_protocol="SASL_SSL",
    software=("librdkafka", "2.16"),
)


def frame_of(api: str, version: int, message: Message = None, number: int = 77) -> bytes:
    found = apis()[keys()[api]]
    message = message_class(found.request)() if message is None else message
    return request_frame(found, version, number, "client", message)[4:]


def enveloped(request: bytes, **fields: object) -> Message:
    principal = SERDE.serialize("User:alice")
    return messages.EnvelopeRequest(
        **{
            "request_data": request,
            "request_principal": principal,
            "client_host_address": bytes((10, 1, 2, 3)),
            **fields,
        }
    )


def sent(broker: RawClient, request: bytes, **fields: object) -> Message:
    return broker.ask("Envelope", 0, enveloped(request, **fields))


@pytest.mark.parametrize("host", ["10.1.2.3", "2001:db8::1"])
def test_an_envelope_has_all_that_the_proposal_puts_into_it(host: str) -> None:
    """F590-14: header and data as one frame, principal, address, listener, security protocol."""
    client = ForwardedClient(
        principal="User:alice", host=host, listener="EXTERNAL", security_protocol="SASL_SSL"
    )
    request = frame_of("CreateTopics", 4, creating("orders"))
    data = bytes(packed(request, client, SERDE, with_listener=True))
    found = unpack(data, 0, SERDE, listener="OTHER", via=2)
    assert found.frame.data == request
    assert (found.frame.api.name, found.frame.version) == ("CreateTopics", 4)
    assert (found.frame.correlation_id, found.frame.client_id) == (77, "client")
    assert found.client == ForwardedClient(
        principal="User:alice",
        host=host,
        listener="EXTERNAL",
        security_protocol="SASL_SSL",
        via=2,
    )


def test_kafkas_own_controllers_could_read_it() -> None:
    """F590-14, C-18: what Kafka's Envelope has not is in tagged fields, which its reader skips."""
    data = bytes(packed(b"frame", ALICE, SERDE, with_listener=True))
    found = read(messages.EnvelopeRequest, 0, data)
    assert found.request_data == b"frame"
    assert found.client_host_address == bytes((10, 1, 2, 3))
    assert SERDE.deserialize(found.request_principal) == "User:alice"


def test_without_tags_the_listener_is_the_brokers() -> None:
    """F590-14, in KRaft mode: the Envelope is Kafka's own, but for the client's software."""
    data = bytes(packed(frame_of("CreateTopics", 7), ALICE, SERDE, with_listener=False))
    found = unpack(data, 0, SERDE, listener="PLAINTEXT", via=1).client
    assert (found.listener, found.security_protocol) == ("PLAINTEXT", None)
    assert found.software == ("librdkafka", "2.16")


def test_the_answer_has_the_clients_whole_answer() -> None:
    """F590-15, F590-16, F590-19: its header with its number, in its version, as short as v0's is.

    The Envelope's own error is 0, whatever became of the request in it.
    """
    with served() as brokers, brokers.as_broker() as broker:
        for code in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
            answer = sent(broker, frame_of("CreateTopics", 0, creating("orders", "a b")))
            assert answer.error_code == 0
            assert answer.response_data[:4] == (77).to_bytes(4, "big")
            found = read(messages.CreateTopicsResponse, 0, answer.response_data, 4)
            assert {row.name: row.error_code for row in found.topics} == {"orders": code, "a b": 17}


@pytest.mark.parametrize("acls", [None, ()])
def test_only_brokers_may_send_envelopes(acls: tuple[()] | None) -> None:
    """F590-17: others get 31, and nothing is decided; a controller's listener takes both."""
    with served(rights=acls) as brokers, brokers.client(3000) as client:
        answer = client.ask("Envelope", 0, enveloped(frame_of("CreateTopics", 7, creating("a"))))
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert answer.response_data is None
        assert brokers.topics() == []


def test_cluster_action_is_what_it_takes() -> None:
    """F590-17: of whoever forwards, at the time that the Envelope is handled."""
    grants = (
        a_grant(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster", "User:other"),
    )
    with served(rights=grants) as brokers, brokers.client(3000, "User:other") as client:
        answer = client.ask("Envelope", 0, enveloped(frame_of("CreateTopics", 7, creating("a"))))
        assert answer.error_code == 0


def test_an_envelope_on_a_listener_of_clients_closes_the_connection() -> None:
    """F590-17, as Kafka has it."""
    with served() as brokers, brokers.client(1) as client:
        with pytest.raises(ConnectionResetError):
            client.ask("Envelope", 0, enveloped(frame_of("CreateTopics", 7, creating("a"))))
        assert brokers.topics() == []


@pytest.mark.parametrize("api", ["DeleteRecords", "DescribeConfigs", "Metadata", "DescribeAcls"])
def test_what_is_not_forwarded_is_refused_in_an_envelope(api: str) -> None:
    """F590-06, F590-24: 42."""
    assert api not in FORWARDED
    with served() as brokers, brokers.as_broker() as broker:
        found = apis()[keys()[api]]
        answer = sent(broker, frame_of(api, found.versions[-1]))
        assert (answer.error_code, answer.response_data) == (ErrorCode.INVALID_REQUEST, None)


def test_envelopes_in_envelopes_are_refused() -> None:
    """F590-25: 42."""
    with served() as brokers, brokers.as_broker() as broker:
        inner = enveloped(frame_of("CreateTopics", 7, creating("orders")))
        answer = sent(broker, frame_of("Envelope", 0, inner))
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert brokers.topics() == []


@pytest.mark.parametrize(
    ("principal", "code"),
    [
        (b"", 97),
        (b"\0", 97),
        (b"\xff\xff", 97),
        (b"\0\1" + bytes(4), 97),
        (b"\0\0\x05User", 97),
        (SERDE.serialize("User:alice") + b"\0", 97),
        (None, 97),
    ],
)
def test_a_principal_that_is_none_is_refused(principal: bytes | None, code: int) -> None:
    """F590-24: PRINCIPAL_DESERIALIZATION_FAILURE; the connection goes on."""
    with served() as brokers, brokers.as_broker() as broker:
        request = frame_of("CreateTopics", 7, creating("orders"))
        assert sent(broker, request, request_principal=principal).error_code == code
        assert sent(broker, request).error_code == 0


@pytest.mark.parametrize(
    "request_data",
    [
        b"",
        bytes(7),
        struct.pack(">hhi", 999, 0, 1),
        struct.pack(">hhi", 19, 99, 1),
        frame_of("CreateTopics", 7)[:-1],
    ],
)
def test_a_request_that_is_none_is_refused(request_data: bytes) -> None:
    """F590-24: UNSUPPORTED_VERSION, so that the broker closes its client's connection."""
    with served() as brokers, brokers.as_broker() as broker:
        answer = sent(broker, request_data)
        assert (answer.error_code, answer.response_data) == (ErrorCode.UNSUPPORTED_VERSION, None)


def test_a_version_that_no_controller_announces_is_refused() -> None:
    """F590-24: KIP-4's versions are not there in KRaft mode, and 35 here too."""
    with served(compat=Compat.KRAFT) as brokers, brokers.as_broker() as broker:
        answer = sent(broker, frame_of("CreateTopics", 0, creating("orders")))
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("address", [b"", bytes(3), bytes(17)])
def test_an_address_that_is_none_is_refused(address: bytes) -> None:
    """F590-24: 42."""
    with served() as brokers, brokers.as_broker() as broker:
        request = frame_of("CreateTopics", 7, creating("orders"))
        answer = sent(broker, request, client_host_address=address)
        assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_a_password_of_another_process_is_refused() -> None:
    """F590-17: brokers are known by a secret, and stay clients without it."""
    with served() as brokers, brokers.client(3000) as client:
        client.ask("SaslHandshake", 1, messages.SaslHandshakeRequest(mechanism="PLAIN"))
        login = messages.SaslAuthenticateRequest(auth_bytes=b"\0kafka\0guessed")
        answer = client.ask("SaslAuthenticate", 2, login)
        assert (answer.error_code, bool(answer.error_message)) == (58, True)
        refused = client.ask("Envelope", 0, enveloped(frame_of("CreateTopics", 7)))
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_other_mechanisms_are_refused() -> None:
    with served() as brokers, brokers.client(3000) as client:
        shaken = client.ask("SaslHandshake", 1, messages.SaslHandshakeRequest(mechanism="GSSAPI"))
        assert (shaken.error_code, shaken.mechanisms) == (33, ["PLAIN"])
        login = messages.SaslAuthenticateRequest(auth_bytes=b"\0kafka\0guessed")
        with pytest.raises(ConnectionResetError):
            client.ask("SaslAuthenticate", 2, login)


@pytest.mark.parametrize(
    "principal", ["User:alice", "User:", ":", "User:mÿ ñame:\U0001f600", "Group:a:b", "User:\0"]
)
def test_principals_come_back_as_they_were(principal: str) -> None:
    """F590-28, F590-29, F590-40: Kafka's own form, two bytes of version before it."""
    data = SERDE.serialize(principal)
    assert data[:2] == b"\0\0"
    assert SERDE.deserialize(data) == principal
    kind, _, name = principal.partition(":")
    found = read(messages.DefaultPrincipalData, 0, data, 2)
    assert (found.type, found.name, found.token_authenticated) == (kind, name, False)


def test_only_type_and_name_make_a_principal() -> None:
    """F590-29: not how the client has logged in."""
    data = messages.DefaultPrincipalData(type="User", name="alice", token_authenticated=True)
    assert SERDE.deserialize(b"\0\0" + write(data, 0)) == "User:alice"


class Reversed:
    """A serde of another cluster's builder of principals."""

    def serialize(self, principal: str) -> bytes:
        return principal[::-1].encode()

    def deserialize(self, data: bytes) -> str:
        if not data:
            raise MalformedError("nothing")
        return data.decode()[::-1]


def test_a_serde_of_ones_own_is_asked() -> None:
    """F590-28, C-19: on both sides."""
    grants = (a_grant(Operation.CREATE, ResourceType.TOPIC, "mine", "User:alice"),)
    with served(compat=Compat.KRAFT, rights=grants, principal_serde=Reversed()) as brokers:
        with brokers.client(1, "User:alice") as client:
            assert created(client, "mine") == {"mine": 0}
        with brokers.as_broker() as broker:
            request = frame_of("CreateTopics", 7, creating("mine"))
            assert sent(broker, request, request_principal=b"").error_code == 97


def test_without_a_serde_nothing_is_forwarded() -> None:
    """F590-28: neither by the broker nor at the controller."""
    with served(principal_serde=None) as brokers:
        with brokers.client(1) as client:
            assert created(client, "orders") == {"orders": ErrorCode.UNKNOWN_SERVER_ERROR}
        with brokers.as_broker() as broker:
            request = frame_of("CreateTopics", 7, creating("orders"))
            assert sent(broker, request).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert brokers.topics() == []


def test_a_controller_that_is_not_active_says_so() -> None:
    """F590-19: 41 for the Envelope, so that the broker asks another one."""
    with served(controllers=3) as brokers, brokers.as_broker(3001) as broker:
        answer = sent(broker, frame_of("CreateTopics", 7, creating("orders")))
        assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, None)
        assert brokers.topics() == []
