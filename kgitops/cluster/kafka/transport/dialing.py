"""Opening a TCP or TLS socket to a server by name; it blocks, so it runs in its own thread.

kafka-python could do the same, but it resolves names on its one thread without a time limit, and
keeps only a text of a failed handshake.
"""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, Stage

# A peer that disappeared silently is noticed after some ten seconds instead of two hours.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 10_000}


class _Address(Struct, frozen=True, kw_only=True):
    family: int
    socket_address: tuple[Any, ...]
    name: str


def server_of(text: str) -> Server:
    """Parse ``HOST:PORT``, with an IPv6 address in brackets."""
    host, _, port = text.rpartition(":")
    return Server(host=re.sub(r"^\[(.*)\]$", r"\1", host), port=int(port))


def dial(server: Server, options: WireOptions, deadline: float) -> socket.socket:
    """Connect to the first address of the server that works, including TLS.

    ``deadline`` is in seconds of ``time.monotonic``.

    Raises:
        ConnectionFailedError: no address works.
    """
    failures: list[ConnectionFailedError] = []
    addresses = _addresses(server, options)
    for count, address in enumerate(addresses):
        left = deadline - time.monotonic()
        timeout_s = left / (len(addresses) - count)
        if timeout_s <= 0:
            break
        try:
            return _connected(server, address, options, timeout_s)
        except ConnectionFailedError as error:
            failures.append(error)
    # An error from a server says more than an address on which nothing listens.
    for stage in (Stage.TLS, Stage.CONNECT):
        for failure in failures:
            if failure.stage is stage:
                raise failure
    raise ConnectionFailedError(server, Stage.CONNECT, TimeoutError())


def _addresses(server: Server, options: WireOptions) -> list[_Address]:
    family = options.get("family", socket.AF_UNSPEC)
    try:
        addresses = socket.getaddrinfo(server.host, server.port, family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectionFailedError(server, Stage.NAME, error) from error
    canonical = options.get("canonical_names", False)
    return [
        _Address(
            family=family,
            socket_address=address,
            name=_canonical(address, server.host) if canonical else server.host,
        )
        for family, _, _, _, address in addresses
    ]


def _canonical(address: tuple[Any, ...], otherwise: str) -> str:
    with suppress(OSError):
        return socket.getnameinfo(address, socket.NI_NAMEREQD)[0]
    return otherwise


def _connected(
    server: Server, address: _Address, options: WireOptions, timeout_s: float
) -> socket.socket:
    stage = Stage.CONNECT
    plain = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        plain.settimeout(timeout_s)
        plain.connect(address.socket_address)
        for level, option, value in _options():
            plain.setsockopt(level, option, value)
        context = options.get("tls")
        if context is None:
            return plain
        stage = Stage.TLS
        return context.wrap_socket(plain, server_hostname=address.name.rstrip("."))
    except (OSError, ValueError) as error:
        plain.close()
        raise ConnectionFailedError(server, stage, error) from error


def _options() -> Iterator[tuple[int, int, int]]:
    yield socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    yield socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):  # Linux has all of them, other systems some
            yield socket.IPPROTO_TCP, getattr(socket, name), value
