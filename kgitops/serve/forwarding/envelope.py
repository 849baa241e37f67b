"""Envelopes: a client's request as a broker sends it to the controller, and the answer in one."""

import ipaddress
from typing import Protocol

from msgspec import Struct

from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import RequestFrame, read_request, response_frame, response_tags

ENVELOPE = "Envelope"
VERSION = 0
_VERSION_BYTES = 2
_PRINCIPAL_VERSION = 0


class PrincipalSerde(Protocol):
    """Writes principals as bytes and reads them again; the same on all nodes."""

    def serialize(self, principal: str) -> bytes:
        """The bytes of a principal, ``User:alice`` say."""
        ...

    def deserialize(self, data: bytes) -> str:
        """The principal that was written.

        Raises:
            MalformedError: the bytes are something else.
        """
        ...


class DefaultPrincipalSerde:
    """Kafka's own: the version in two bytes, then type, name, and how the client has logged in."""

    def serialize(self, principal: str) -> bytes:
        """A version, and DefaultPrincipalData."""
        kind, _, name = principal.partition(":")
        data = messages.DefaultPrincipalData(type=kind, name=name)
        return _PRINCIPAL_VERSION.to_bytes(_VERSION_BYTES, "big", signed=True) + write(
            data, _PRINCIPAL_VERSION
        )

    def deserialize(self, data: bytes) -> str:
        """Type and name; delegation tokens, which the rest would be about, do not exist here.

        Raises:
            MalformedError: the bytes are something else.
        """
        if len(data) < _VERSION_BYTES:
            raise MalformedError(f"a principal of {len(data)} bytes has no version")
        version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
        found = read(messages.DefaultPrincipalData, version, data, _VERSION_BYTES)
        return f"{found.type}:{found.name}"


class ForwardedClient(Struct, frozen=True, kw_only=True):
    """The client that a request came from first, as the controller knows it.

    ``via`` is the broker that forwarded the request; None if the client asked the controller.
    """

    principal: str
    host: str
    listener: str
    security_protocol: str | None = None
    software: tuple[str, str] | None = None
    via: int | None = None


class EnvelopeError(Exception):
    """An Envelope that can't be unpacked; the code is its answer."""

    def __init__(self, code: ErrorCode, problem: str) -> None:
        super().__init__(problem)
        self.code = code


def packed(
    request: bytes,
    client: ForwardedClient,
    serde: PrincipalSerde,
    *,
    with_listener: bool,
    bypasses_policies: bool = False,
) -> bytearray:
    """The message of an Envelope with a client's frame as it came (F590-16).

    ``with_listener`` adds the two fields of the proposal that Kafka's Envelope has not.
    """
    name, version = client.software or (None, None)
    envelope = messages.ServedEnvelope(
        request_data=request,
        request_principal=serde.serialize(client.principal),
        client_host_address=_address(client.host),
        client_software_name=name,
        client_software_version=version,
        bypasses_policies=bypasses_policies,
    )
    if with_listener:
        envelope.listener_name = client.listener
        envelope.security_protocol = client.security_protocol
    return write(envelope, VERSION)


class UnpackedEnvelope(Struct, frozen=True):
    """A client's request out of an Envelope."""

    frame: RequestFrame
    client: ForwardedClient
    bypasses_policies: bool


def unpack(
    data: bytes, at: int, serde: PrincipalSerde | None, *, listener: str, via: int | None
) -> UnpackedEnvelope:
    """Read the Envelope that begins at a position.

    ``listener`` is the one of the broker ``via``; the client's own counts if the Envelope tells it.

    Raises:
        EnvelopeError: it is to be answered with an error.
        MalformedError: it is no Envelope.
    """
    envelope = read(messages.ServedEnvelope, VERSION, data, at)
    if serde is None:
        raise EnvelopeError(ErrorCode.UNKNOWN_SERVER_ERROR, "there is no serde for principals")
    try:
        principal = serde.deserialize(envelope.request_principal or b"")
    except MalformedError as error:
        raise EnvelopeError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from error
    try:
        host = str(ipaddress.ip_address(envelope.client_host_address))
    except ValueError as error:
        # The constructor takes 4 or 16 bytes.
        raise EnvelopeError(ErrorCode.INVALID_REQUEST, str(error)) from error
    try:
        frame = read_request(envelope.request_data)
    except MalformedError as error:
        raise EnvelopeError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from error
    software = envelope.client_software_name
    client = ForwardedClient(
        principal=principal,
        host=host,
        listener=envelope.listener_name or listener,
        security_protocol=envelope.security_protocol,
        software=(software, envelope.client_software_version or "") if software else None,
        via=via,
    )
    return UnpackedEnvelope(frame, client, envelope.bypasses_policies)


def answer_frame(
    correlation_id: int, code: ErrorCode, response: bytes | bytearray | memoryview | None = None
) -> bytes:
    """The answer to an Evelope: an error, or the client's whole answer without its length."""
    answer = messages.EnvelopeResponse(
        error_code=code, response_data=None if response is None else bytes(response)
    )
    return response_frame(apis()[keys()[ENVELOPE]], VERSION, correlation_id, write(answer, VERSION))


def read_answer(data: bytes) -> tuple[ErrorCode, bytes | None]:
    """The error of an answer to an Envelope, and the client's answer.

    Raises:
        MalformedError: it is something else.
    """
    after = 4 + response_tags(apis()[keys()[ENVELOPE]], VERSION)
    found = read(messages.EnvelopeResponse, VERSION, data, after)
    try:
        return ErrorCode(found.error_code), found.response_data
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR, None


def _address(host: str) -> bytes:
    """An address as bytes; zones of IPv6 belong to this machine, and are left out."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).packed
    except ValueError:
        return bytes(4)
