"""Whether anyone listens, asked before Spark is: Spark itself would try for minutes."""

import socket
from collections.abc import Sequence

from kgitops.model.errors import UnreachableError

_ANSWER_S = 10.0


def reach(url: str, hosts: Sequence[str]) -> None:
    """See that one of ``hosts`` (``HOST:PORT``) can be connected to, at most 10 s for each.

    Raises:
        UnreachableError: none can.
    """
    said = ""
    for host in hosts:
        name, _, port = host.rpartition(":")
        try:
            with socket.create_connection((name.strip("[]"), int(port)), timeout=_ANSWER_S):
                return
        except OSError as error:
            said = (error.strerror or str(error) or "no answer").lower()
    if hosts:
        raise UnreachableError(
            f"Spark at {url} can't be reached: {said}; start it, or correct the address"
        )
