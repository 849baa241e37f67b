"""Ports that are free now."""

import random
import socket

LOWEST, HIGHEST = 14_000, 29_999
"""Below what systems give to outgoing connections, so that a stopped broker finds its port free."""


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on. Who starts late may still find one taken.

    Raises:
        OSError: there are none.
    """
    found: list[int] = []
    candidates = random.sample(range(LOWEST, HIGHEST + 1), HIGHEST + 1 - LOWEST)
    for port in candidates:
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
