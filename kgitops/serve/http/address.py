"""The address of a listener, as the command line names it."""

import re

from kgitops.model.errors import UsageError

_HIGHEST_PORT = 65535


def parse_address(text: str) -> tuple[str, int]:
    """The host and the port of ``--listen``.

    Raises:
        UsageError: it is not an address.
    """
    found = re.fullmatch(
        r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/,\[\]]+)):(?P<port>\d{1,5})", text
    )
    if found is None or int(found["port"]) > _HIGHEST_PORT:
        raise UsageError(
            f"--listen {text!r} is not an address; write HOST:PORT, as in 127.0.0.1:9092 "
            "(port 0 takes free ports)"
        )
    return found["ipv6"] or found["host"], int(found["port"])
