"""PROXY headers: from load balancers alone, and there they have to be."""

import ipaddress

import pytest
from gateway.connections.stand_ins import FORWARDED, UNKNOWN, StandInBroker, request, running

from kgitops.gateway.sockets.proxy_protocol import ProxyError, ProxyReader, is_trusted

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BALANCERS = ("127.0.0.0/8",)


def second(command: int, family: int, block: bytes) -> bytes:
    return SIGNATURE + bytes((command, family)) + len(block).to_bytes(2, "big") + block


V4 = ipaddress.ip_address("203.0.113.9").packed + ipaddress.ip_address("10.0.0.1").packed
V6 = ipaddress.ip_address("2001:db8::9").packed * 2
PORTS = b"\x30\x39\x23\x85"
HEADERS = [
    (b"PROXY TCP4 203.0.113.9 10.0.0.1 12345 9092\r\n", "203.0.113.9"),
    (b"PROXY TCP6 2001:db8::9 2001:db8::1 12345 9092\r\n", "2001:db8::9"),
    (b"PROXY UNKNOWN\r\n", ""),
    (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", ""),
    (second(0x21, 0x11, V4 + PORTS), "203.0.113.9"),
    (second(0x21, 0x11, V4 + PORTS + b"\x03\0\x04abcd"), "203.0.113.9"),
    (second(0x21, 0x21, V6 + PORTS), "2001:db8::9"),
    (second(0x20, 0x00, b""), ""),
    (second(0x21, 0x31, bytes(216)), ""),
]


@pytest.mark.parametrize(("header", "address"), HEADERS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_headers_in_pieces_tell_the_address_and_leave_what_follows(
    header: bytes, address: str, size: int
) -> None:
    reader = ProxyReader()
    data = header + b"rest"
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    after = b""
    for number, piece in enumerate(pieces):
        rest = reader.feed(piece)
        if rest is not None:
            after = rest + b"".join(pieces[number + 1 :])
            break
    assert after == b"rest"
    assert reader.client == address


@pytest.mark.parametrize(
    "data",
    [
        request(FORWARDED, 1),
        b"PROXY TCP4 2001:db8::9 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 203.0.113.999 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 203.0.113.9\r\n",
        b"PROXY " + b"x" * 200,
        second(0x31, 0x11, V4 + PORTS),
        second(0x22, 0x11, V4 + PORTS),
        second(0x21, 0x11, V4),
        SIGNATURE + b"\x21\x11\xff\xff",
    ],
)
def test_what_is_no_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProxyError):
        ProxyReader().feed(data)


@pytest.mark.parametrize(("header", "address"), HEADERS[:5])
async def test_the_clients_address_is_in_the_log(header: bytes, address: str) -> None:
    async with running(StandInBroker(), load_balancers=BALANCERS) as run:
        client = await run.connect()
        client.send(header + request(FORWARDED, 1, b"one"))
        assert await client.receive() == b"\0\0\0\1one"
        client.send(request(UNKNOWN, 2))
        await client.rest()
        assert run.refusals[0]["address"] == (address or "127.0.0.1")


async def test_a_load_balancer_has_to_send_one() -> None:
    async with running(StandInBroker(), load_balancers=BALANCERS) as run:
        refusal = await run.refused(request(FORWARDED, 1))
        assert refusal["reason"] == "proxy"
        assert run.brokers[0].frames == []


async def test_a_forged_header_from_elsewhere_is_refused() -> None:
    async with running(StandInBroker(), load_balancers=("192.0.2.0/24",)) as run:
        refusal = await run.refused(
            b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n" + request(FORWARDED, 1)
        )
        assert (refusal["reason"], refusal["address"]) == ("malformed", "127.0.0.1")
        assert "it sent a PROXY header" in str(refusal["sentence"])


def test_addresses_of_ipv4_in_ipv6_are_those_of_ipv4() -> None:
    networks = [ipaddress.ip_network("10.0.0.0/8")]
    assert is_trusted("::ffff:10.1.2.3", networks)
    assert is_trusted("10.1.2.3", networks)
    assert not is_trusted("::ffff:11.1.2.3", networks)
    assert not is_trusted("2001:db8::1", networks)
    assert not is_trusted("", networks)
