"""Ports that are free now."""

import random
import socket

LOWEST, HIGHEST = 20_000, 29_999
"""Below what systems give to outgoing connections, so that a stopped broker finds its port free."""


def free_ports(count: int, first: int | None = None) -> list[int]:
    """Ports on loopback that nobody listens on. Who starts late may still find one taken.

    Those from ``first`` on are tried before any others.

    Raises:
        OSError: there are none.
    """
    found: list[int] = []
    wanted = [] if first is None else range(first, first + count)
    others = random.sample(range(LOWEST, HIGHEST + 1), HIGHEST + 1 - LOWEST)
    for port in dict.fromkeys([*wanted, *others]):
        if len(found) == count:
            return found
        if is_free(port):
            found.append(port)
    raise OSError(f"no {count} ports between {LOWEST} and {HIGHEST} are free")


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as a broker does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
