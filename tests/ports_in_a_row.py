"""Ports for a gateway in a test: one to begin with, and the ones after it for brokers."""

import random

from kgitops.sandbox.layout import HIGHEST, LOWEST, is_free


def first_port(count: int) -> int:
    """The first of so many free ports in a row.

    They are below those of outgoing connections, which might take one while the gateway is away.
    """
    for first in random.sample(range(LOWEST, HIGHEST - count), HIGHEST - count - LOWEST):
        if all(is_free(port) for port in range(first, first + count)):
            return first
    raise OSError(f"no {count} ports in a row between {LOWEST} and {HIGHEST} are free")
