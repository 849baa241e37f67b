"""The ports, users and client configs that the brokers and clients of a sandbox share."""

import random
import re
import socket
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from kgitops.model.errors import UsageError
from kgitops.sandbox.certificates import Certificates

HOST = "127.0.0.1"
CONTROLLER = "CONTROLLER"
LOWEST, HIGHEST = 20_000, 29_999
"""Below the ports of outgoing connections, so that a stopped broker finds its port still free."""
_PLAIN = "[A-Za-z0-9._-]+"
ADMIN = "admin"
USERS: Mapping[str, str] = {
    ADMIN: "admin-secret",
    "alice": "alice-secret",
    "bob": "bob-secret",
}
"""Passwords by name, for PLAIN and both SCRAMs; no secrets, as brokers listen on loopback only."""


class Layout(Struct, frozen=True, kw_only=True):
    """The ports (by broker, then by listener), users and certificates of a sandbox.

    Without ``users`` and ``certificates`` clients use PLAINTEXT and are ANONYMOUS. With users they
    log in, with certificates they present one, and with both there is a third listener that
    requires both.
    """

    ports: Mapping[int, Mapping[str, int]]
    users: Mapping[str, str] = field(default_factory=dict)
    certificates: Certificates | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def listeners(self) -> tuple[str, ...]:
        """The protocols that clients may use, each on a port of its own."""
        return listener_names(sasl=bool(self.users), tls=self.certificates is not None)

    @property
    def listener(self) -> str:
        """The listener that the administrator and the brokers use."""
        return self.listeners[0]

    def server(self, broker_id: int, listener: str) -> str:
        """``127.0.0.1:PORT`` of one broker."""
        return f"{HOST}:{self.ports[broker_id][listener]}"

    def servers(self, listener: str, broker_ids: Collection[int] | None = None) -> str:
        """``127.0.0.1:PORT,…`` of these brokers, or of all, as a client's bootstrap servers."""
        ids = self.ports if broker_ids is None else broker_ids
        return ",".join(self.server(broker_id, listener) for broker_id in ids)

    @property
    def all_ports(self) -> tuple[int, ...]:
        """The ports of every listener, in the order in which :func:`choose_ports` chose them."""
        names = next(iter(self.ports.values()))
        return tuple(ports[name] for name in names for ports in self.ports.values())

    def client_configs(
        self, listener: str = "", user: str = ADMIN, mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, str]:
        """The configs (librdkafka's names) of one user on a listener; empty for PLAINTEXT."""
        listener = listener or self.listener
        if listener == "PLAINTEXT":
            return {}
        configs = {"security.protocol": listener}
        if listener.startswith("SASL"):
            configs |= login_configs(user, self.users[user], mechanism)
        if listener.endswith("SSL") and self.certificates:
            configs["ssl.ca.location"] = str(self.certificates.authority)
        if listener == "SSL" and self.certificates:
            client = self.certificates.clients[user]
            configs |= {"ssl.certificate.location": str(client), "ssl.key.location": str(client)}
        return configs

    def java_client_configs(self) -> dict[str, str]:
        """The configs of the administrator's Java client on the default listener."""
        if self.listener == "PLAINTEXT":
            return {}
        configs = {"security.protocol": self.listener}
        if self.users:
            configs["sasl.mechanism"] = "SCRAM-SHA-512"
            configs["sasl.jaas.config"] = login_module(ADMIN, self.users[ADMIN])
        elif self.certificates:
            configs |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.certificates.authority),
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.certificates.clients[ADMIN]),
            }
        return configs


def listener_names(*, sasl: bool, tls: bool) -> tuple[str, ...]:
    """The protocols that clients may use; the first is the default."""
    names = (*(["SASL_PLAINTEXT"] if sasl else []), *(["SSL"] if tls else []))
    return (*names, "SASL_SSL") if sasl and tls else names or ("PLAINTEXT",)


def check_users(users: Mapping[str, str]) -> None:
    """Refuse names and passwords that Kafka's options and properties would have to quote.

    Raises:
        UsageError: a name or a password has other characters, or there is no administrator.
    """
    for name, password in users.items():
        if not (re.fullmatch(_PLAIN, name) and re.fullmatch(_PLAIN, password)):
            raise UsageError(
                f"the sandbox's user {name!r} or its password has characters that Kafka would have "
                "to quote; use letters, digits, '.', '_' and '-'"
            )
    if ADMIN not in users:
        raise UsageError(f"the sandbox needs the user {ADMIN!r}, which its brokers log in as")


def login_configs(name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    """The configs that librdkafka needs to log in."""
    return {"sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}


def login_module(name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> str:
    """The value of ``sasl.jaas.config`` for a Java client."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return (
        f"org.apache.kafka.common.security.{kind}LoginModule required "
        f'username="{name}" password="{password}";'
    )


def plain_module(users: Mapping[str, str]) -> str:
    """``sasl.jaas.config`` of a broker: the users that PLAIN accepts, and the broker's login."""
    accepted = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return f"{login_module(ADMIN, users[ADMIN], 'PLAIN')[:-1]} {accepted};"


def choose_ports(
    brokers: int, listeners: Sequence[str], wanted: Sequence[int] = ()
) -> dict[int, dict[str, int]]:
    """Free ports by broker and listener; ``wanted`` are tried first, listener by listener."""
    ports = iter(free_ports(brokers * len(listeners), wanted))
    ids = range(1, brokers + 1)
    by_listener = {name: {id_: next(ports) for id_ in ids} for name in listeners}
    return {id_: {name: by_listener[name][id_] for name in listeners} for id_ in ids}


def free_ports(count: int, wanted: Sequence[int] = ()) -> list[int]:
    """Ports on loopback with no listener; another process may still take one before it is used.

    The ``wanted`` ones are tried before any others, and those that are free stay in their places.

    Raises:
        OSError: too few are free.
    """
    free = [port if is_free(port) else None for port in wanted[:count]]
    others = iter(random.sample(range(LOWEST, HIGHEST + 1), HIGHEST + 1 - LOWEST))
    ports: list[int] = []
    for port in (*free, *[None] * (count - len(free))):
        other = port or next((o for o in others if o not in wanted and is_free(o)), None)
        if other is None:
            raise OSError(f"no {count} ports between {LOWEST} and {HIGHEST} are free")
        ports.append(other)
    return ports


def is_free(port: int) -> bool:
    """True if a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as a broker does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
