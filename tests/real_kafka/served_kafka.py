"""A served cluster in the place of a sandbox: an administrator's login, and Kafka's own tools."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options
from kgitops.sandbox.files import write_properties
from kgitops.sandbox.jvm import LOG4J2, Jvm
from kgitops.sandbox.layout import ADMIN, USERS, login_configs, login_module, plain_module
from kgitops.sandbox.sandbox import prepare_jvm
from kgitops.serve.background import serving
from kgitops.serve.server import KafkaServer


class ServedKafka:
    """What tests use of a sandbox."""

    def __init__(self, server: KafkaServer, jvm: Jvm, folder: Path) -> None:
        self.servers = ",".join(map(str, server.endpoints))
        protocol = {"security.protocol": "SASL_PLAINTEXT"}
        self.configs = {**protocol, **login_configs(ADMIN, USERS[ADMIN], "PLAIN")}
        self._jvm = jvm
        self._login = folder / "admin.properties"
        jaas = login_module(ADMIN, USERS[ADMIN], "PLAIN")
        login = {**protocol, "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
        write_properties(self._login, login)

    def tool(self, main: str, *arguments: str) -> str:
        """What one of Kafka's Java tools prints."""
        connection = ["--bootstrap-server", self.servers, "--command-config", str(self._login)]
        completed = self._jvm.run(main, *connection, *arguments, timeout_s=60)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout


def options_with_logins(static_configs: Mapping[str, str] = MappingProxyType({})) -> Options:
    """As near to a sandbox with SASL as an embedded cluster comes: its users log in by PLAIN."""
    return Options(
        compat=Compat.KRAFT,
        authorizer=AuthorizerKind.ACLS,
        super_users=frozenset({f"User:{ADMIN}"}),
        virtual_clusters=False,
        static_configs={
            "listeners": "APP://127.0.0.1:0",
            "listener.security.protocol.map": "APP:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.app.plain.sasl.jaas.config": plain_module(USERS),
            **static_configs,
        },
    )


@contextmanager
def served_kafka(folder: Path) -> Iterator[ServedKafka]:
    """Three brokers that let nobody but the administrator do anything without an ACL."""
    options = replace(options_with_logins(), registry_topic=True)
    jvm = prepare_jvm(folder / "jvm", (), lambda _: None)
    jvm.log4j2.write_text(LOG4J2)
    cluster = boot(folder / "store.db", brokers=3, options=options)
    try:
        with serving(cluster) as server:
            yield ServedKafka(server, jvm, folder)
    finally:
        cluster.close()
