"""What the brokers and the clients of one sandbox agree on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.sandbox.broker.certificates import Certificates
from kgitops.sandbox.broker.users import ADMIN, login_configs, login_module

HOST = "127.0.0.1"
CONTROLLER = "CONTROLLER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``ports`` by broker, then by listener.

    Without ``users`` and ``certificates`` clients speak PLAINTEXT and are ANONYMOUS. With users
    they log in, with certificates they show one, and there is a listener for both at once too.
    """

    ports: Mapping[int, Mapping[str, int]]
    users: Mapping[str, str] = field(default_factory=dict)
    certificates: Certificates | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def listeners(self) -> tuple[str, ...]:
        """The protocols that clients may speak, each on a port of its own."""
        return listener_names(sasl=bool(self.users), tls=self.certificates is not None)

    @property
    def listener(self) -> str:
        """The one that the administrator and the brokers use."""
        return self.listeners[0]

    def server(self, broker_id: int, listener: str) -> str:
        """``127.0.0.1:PORT`` of one broker."""
        return f"{HOST}:{self.ports[broker_id][listener]}"

    def servers(self, listener: str) -> str:
        """``127.0.0.1:PORT,…`` of all, as clients want it."""
        return ",".join(self.server(broker_id, listener) for broker_id in self.ports)

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
        """The same for the administrator's Java client on the default listener."""
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
    """The protocols that clients may speak; the first is the default."""
    names = (*(["SASL_PLAINTEXT"] if sasl else []), *(["SSL"] if tls else []))
    return (*names, "SASL_SSL") if sasl and tls else names or ("PLAINTEXT",)
