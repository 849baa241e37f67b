"""The header by which a load balancer tells a client's address (PROXY protocol, 1 and 2)."""

import ipaddress
import re
from collections.abc import Sequence

_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_LONGEST_1 = 107
_LONGEST_2 = 4096
_FIXED_2 = 16
_LINE = re.compile(
    rb"PROXY (?:UNKNOWN(?: [^\r\n]*)?|(?P<family>TCP[46]) (?P<client>[0-9A-Fa-f.:]{1,39}) "
    rb"[0-9A-Fa-f.:]{1,39} \d{1,5} \d{1,5})\r\n"
)
_LOCAL, _PROXIED = 0x20, 0x21
_ADDRESS_BYTES = {1: 4, 2: 16}
"""Of IPv4 and IPv6; the two addresses come first in the block, the client's before the other."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyError(ValueError):
    """Bytes that are no header of the PROXY protocol; the text says so."""


class ProxyReader:
    """Reads one header, which comes in pieces."""

    __slots__ = ("_data", "client")

    def __init__(self) -> None:
        self._data = b""
        self.client = ""
        """The client's address; empty where the load balancer speaks for itself."""

    def feed(self, data: bytes) -> bytes | None:
        """Take bytes; those after the header, or None while it is not whole.

        Raises:
            ProxyError: it is not a header, or too long.
        """
        self._data += data
        begin = self._data[: len(_SIGNATURE)]
        if _SIGNATURE.startswith(begin):
            return self._second()
        if b"PROXY ".startswith(begin[:6]):
            return self._first()
        raise ProxyError(_PROBLEM)

    def _first(self) -> bytes | None:
        line, end, rest = self._data[:_LONGEST_1].partition(b"\r\n")
        if not end:
            if len(self._data) >= _LONGEST_1:
                raise ProxyError(_PROBLEM)
            return None
        match = _LINE.fullmatch(line + end)
        if match is None:
            raise ProxyError(_PROBLEM)
        if match["client"] is not None:
            try:
                address = ipaddress.ip_address(match["client"].decode())
            except ValueError:
                raise ProxyError(_PROBLEM) from None
            if (address.version == 6) != (match["family"] == b"TCP6"):
                raise ProxyError(_PROBLEM)
            self.client = str(address)
        return rest + self._data[_LONGEST_1:]

    def _second(self) -> bytes | None:
        data = self._data
        if len(data) < _FIXED_2:
            return None
        command, family = data[12], data[13] >> 4
        length = int.from_bytes(data[14:_FIXED_2], "big")
        if command not in (_LOCAL, _PROXIED) or length > _LONGEST_2:
            raise ProxyError(_PROBLEM)
        if len(data) < _FIXED_2 + length:
            return None
        size = _ADDRESS_BYTES.get(family, 0)
        if command == _PROXIED and size:
            if length < 2 * size + 4:
                raise ProxyError(_PROBLEM)
            self.client = str(ipaddress.ip_address(data[_FIXED_2 : _FIXED_2 + size]))
        return data[_FIXED_2 + length :]


def is_trusted(address: str, networks: Sequence[Network]) -> bool:
    """True if an address is of one of these networks."""
    if not networks:
        return False
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return any((mapped or found) in network for network in networks)


_PROBLEM = "it comes from a load balancer and did not begin with a PROXY header that can be read"
