"""The ``server.properties`` of each broker of a sandbox."""

from collections.abc import Mapping
from pathlib import Path

from kgitops.sandbox.broker.certificates import Certificates
from kgitops.sandbox.broker.layout import CONTROLLER, HOST, Layout
from kgitops.sandbox.broker.users import ADMIN, plain_module


def broker_properties(broker_id: int, layout: Layout, data: Path) -> dict[str, str]:
    """A broker that is a controller too; what the user gave wins."""
    ports = layout.ports[broker_id]
    clients = {name: port for name, port in ports.items() if name != CONTROLLER}
    voters = (f"{id_}@{HOST}:{every[CONTROLLER]}" for id_, every in layout.ports.items())
    protocols = {name: name for name in clients}
    protocols[CONTROLLER] = "SASL_PLAINTEXT" if layout.users else "PLAINTEXT"
    return {
        "process.roles": "broker,controller",
        "node.id": str(broker_id),
        "controller.quorum.voters": ",".join(voters),
        "listeners": _listeners(ports),
        "advertised.listeners": _listeners(clients),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        "controller.listener.names": CONTROLLER,
        "inter.broker.listener.name": next(iter(clients)),
        "log.dirs": str(data),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}" if layout.users else f"User:{ADMIN};User:ANONYMOUS",
        "auto.create.topics.enable": "false",
        **_replication(len(layout.ports)),
        **_QUICK,
        **(_sasl(layout.users, tuple(clients)) if layout.users else {}),
        **(_tls(layout.certificates) if layout.certificates else {}),
        **layout.properties,
    }


_QUICK = {
    # Thousands of topics fit on a small disk: an index has its full size from the start.
    "log.index.size.max.bytes": "4096",
    # 50 partitions each are for production, and 128 MB of heap for compaction too.
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "log.cleaner.dedupe.buffer.size": "8388608",
    # A group's first member needs nobody else; a dead broker is noticed in 6 s, not in 9.
    "group.initial.rebalance.delay.ms": "0",
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "6000",
}


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _replication(brokers: int) -> dict[str, str]:
    factor, in_sync = str(min(3, brokers)), "2" if brokers > 2 else "1"
    return {
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _sasl(users: Mapping[str, str], listeners: tuple[str, ...]) -> dict[str, str]:
    """Clients may use any mechanism; brokers use PLAIN: SCRAM users are known too late."""
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    settings = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain_module(users),
    }
    for name in listeners:
        if name.startswith("SASL"):
            prefix = f"listener.name.{name.lower()}"
            settings[f"{prefix}.plain.sasl.jaas.config"] = plain_module(users)
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                settings[f"{prefix}.{mechanism}.sasl.jaas.config"] = scram
    return settings


def _tls(certificates: Certificates) -> dict[str, str]:
    """A client of the listener SSL shows a certificate; its common name is its principal."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    }
