"""One secured cluster with two tenants and a gateway before it, for all tests of this folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance, without_gateway
from gateway.clients.gateway_process import gateway
from gateway.clients.java_session import JavaSession
from gateway.clients.tenants import PROPERTIES, USERS, Tenant, declare, read_tenants

from kgitops.sandbox.sandbox import Sandbox, start


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Three brokers with SASL_SSL that let nobody do anything without an ACL."""
    home = tmp_path_factory.mktemp("secured")
    with start(home, brokers=3, sasl=True, tls=True, users=USERS, properties=PROPERTIES) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def project(secured: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project whose manifests declare both tenants; it was applied."""
    return declare(secured, tmp_path_factory.mktemp("tenants"))


@pytest.fixture(scope="session")
def tenants(secured: Sandbox, project: Path) -> Mapping[str, Tenant]:
    """Both, with the names that brokers know."""
    return read_tenants(secured)


@pytest.fixture(scope="session")
def entrance(
    secured: Sandbox,
    project: Path,
    tenants: Mapping[str, Tenant],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Entrance]:
    """The gateway's."""
    logins = tmp_path_factory.mktemp("logins")
    if without_gateway():
        yield Entrance(secured, tenants, logins, None)
        return
    certificates = secured.layout.certificates
    assert certificates
    with gateway(project, certificates.broker, tmp_path_factory.mktemp("gateway")) as servers:
        yield Entrance(secured, tenants, logins, servers)


@pytest.fixture(scope="session")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, JavaSession]]:
    """By version, started when a test first asks for it."""

    class Started(dict[str, JavaSession]):
        def __missing__(self, version: str) -> JavaSession:
            folder = tmp_path_factory.mktemp("java") / version
            self[version] = JavaSession(version, folder)
            return self[version]

    started = Started()
    yield started
    for session in started.values():
        session.__exit__()
