"""The way into the secured cluster: through a gateway by local names, or without one by physical.

Tests go through the gateway. ``KGITOPS_TESTS_WITHOUT_GATEWAY=1`` lets the same scenarios go to the
brokers with the names that these know, to see whether a failure is the gateway's.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.clients.java_session import Login
from gateway.clients.tenants import ANALYTICS, LISTENER, SALES, USERS, Tenant

from kgitops.sandbox.files import write_properties
from kgitops.sandbox.layout import login_module
from kgitops.sandbox.sandbox import Sandbox


def without_gateway() -> bool:
    """True where the developer asked for it."""
    return bool(os.environ.get("KGITOPS_TESTS_WITHOUT_GATEWAY"))


class Entrance:
    """Where clients connect to, and what they call things there."""

    def __init__(
        self, kafka: Sandbox, tenants: Mapping[str, Tenant], folder: Path, servers: str | None
    ) -> None:
        self._kafka = kafka
        self._tenants = tenants
        self._folder = folder
        self.servers = servers or kafka.layout.servers(LISTENER)
        self.is_gateway = servers is not None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def authority(self) -> Path:
        """The certificate that all servers' are signed with."""
        certificates = self._kafka.layout.certificates
        assert certificates
        return certificates.authority

    def login(self, user: str, mechanism: str = "SCRAM-SHA-512") -> Login:
        """Of a tenant's user, as the tenant calls things."""
        tenant = self._tenants[ANALYTICS if user.startswith("ana") else SALES]
        file = self._write(f"{user}-{mechanism}", self.servers, user, mechanism)
        if self.is_gateway:
            return Login(file, lambda topic: topic, lambda group: group)
        return Login(file, lambda topic: tenant.links.get(topic, topic), tenant.physical_id)

    def direct(self) -> Login:
        """Of the administrator at the brokers themselves, who knows only physical names."""
        servers = self._kafka.layout.servers(LISTENER)
        file = self._write("direct", servers, "admin", "SCRAM-SHA-512")
        return Login(file, lambda topic: topic, lambda group: group)

    def addresses_of_brokers(self) -> set[str]:
        """Their own, which no client of a gateway shall learn."""
        return {*self._kafka.layout.servers(LISTENER).split(",")}

    def configs_of(self, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """Of a tenant's Java client."""
        return self._configs(self.servers, user, mechanism)

    def _configs(self, servers: str, user: str, mechanism: str) -> dict[str, str]:
        """Of a Java client."""
        certificates = self._kafka.layout.certificates
        assert certificates
        return {
            "bootstrap.servers": servers,
            "security.protocol": LISTENER,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": login_module(user, USERS[user], mechanism),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.authority),
            "request.timeout.ms": "15000",
            "default.api.timeout.ms": "30000",
        }

    def _write(self, name: str, servers: str, user: str, mechanism: str) -> Path:
        file = self._folder / f"{name}.properties"
        if not file.exists():
            write_properties(file, self._configs(servers, user, mechanism))
        return file
