"""When brokers answer."""

import logging
import socket
import time
from collections.abc import Callable, Mapping

from kgitops.model.errors import UnreachableError

_LOOK_EVERY_S = 0.05
_ANSWER_S = 2.0


def await_ready(
    servers: Mapping[int, str],
    configs: Mapping[str, str],
    *,
    check: Callable[[], None],
    patience_s: float = 90,
) -> None:
    """Wait until each broker answers a Metadata request and names all the others.

    ``check`` is called between looks and raises where waiting is in vain.

    Raises:
        UnreachableError: they don't within ``patience_s`` seconds.
    """
    deadline = time.monotonic() + patience_s
    for broker_id, server in servers.items():
        while not (_listens(server) and _brokers_seen(server, configs) == set(servers)):
            check()
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"broker {broker_id} of the sandbox does not answer within {patience_s:.0f} "
                    "seconds; stop what else keeps this machine busy, and start again"
                )
            time.sleep(_LOOK_EVERY_S)


def _listens(server: str) -> bool:
    host, _, port = server.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_ANSWER_S):
            return True
    except OSError:
        return False


def _brokers_seen(server: str, configs: Mapping[str, str]) -> set[int]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    silent = logging.getLogger("kgitops.sandbox.broker.ready")
    silent.disabled = True  # a line per refused connection is what waiting looks like
    client = AdminClient({**configs, "bootstrap.servers": server}, logger=silent)
    try:
        return set(client.list_topics(timeout=_ANSWER_S).brokers)
    except KafkaException:
        return set()
