"""The files of a broker, and a lock on such for work that one process at a time may do."""

import base64
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.certificates import Certificates
from kgitops.sandbox.jvm import Jvm, first_lines
from kgitops.sandbox.layout import ADMIN, CONTROLLER, HOST, Layout, plain_module

META = "meta.properties"
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_FOR_SMALL_MACHINES = {
    # An index has its full size from the start: thousands of topics must fit on a small disk.
    "log.index.size.max.bytes": "4096",
    # The defaults are for production: 50 partitions each, and 128 MB of heap for compaction.
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "log.cleaner.dedupe.buffer.size": "8388608",
    # A group's first member does not wait for others; a dead broker is noticed in 6 s, not in 9.
    "group.initial.rebalance.delay.ms": "0",
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "6000",
}


def broker_properties(broker_id: int, layout: Layout, data: Path) -> dict[str, str]:
    """The properties of a broker that is also a controller; the user's own properties win."""
    ports = layout.ports[broker_id]
    clients = {name: port for name, port in ports.items() if name != CONTROLLER}
    voters = (
        f"{id_}@{HOST}:{broker_ports[CONTROLLER]}" for id_, broker_ports in layout.ports.items()
    )
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
        **_FOR_SMALL_MACHINES,
        **(_sasl(layout.users, tuple(clients)) if layout.users else {}),
        **(_tls(layout.certificates) if layout.certificates else {}),
        **layout.properties,
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
    """Clients may use any mechanism; brokers use PLAIN, as they learn of SCRAM users too late."""
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
    """A client of the listener SSL presents a certificate; its common name is its principal."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    }


def format_data(jvm: Jvm, folders: Mapping[int, Path], users: Mapping[str, str]) -> None:
    """Format the data of all brokers, given the folder of each with its server.properties.

    Kafka's own tool formats the data of the first broker. The others' data differ only in two ids,
    which are text, so they are copied: that saves a JVM per broker.

    Raises:
        KgitopsError: Kafka refuses, most often because of one of the user's properties.
    """
    (first, folder), *others = folders.items()
    scram = [
        argument
        for name, password in users.items()
        for mechanism in _SCRAM
        for argument in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
    ]
    config = str(folder / "server.properties")
    completed = jvm.run("kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", config, *scram)
    if completed.returncode:
        output = completed.stderr + completed.stdout
        raise KgitopsError(f"Kafka can't format its data: {first_lines(output)}")
    for broker_id, other in others:
        shutil.copytree(folder / "data", other / "data")
        meta = other / "data" / META
        text = meta.read_text()
        text = re.sub(rf"(?m)^node\.id={first}$", f"node.id={broker_id}", text)
        meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={_new_id()}", text))


def _new_id() -> str:
    """A UUID in Kafka's spelling that does not begin with a dash, like an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()).startswith("-"):
        pass
    return text.rstrip("=")


def write_properties(file: Path, properties: Mapping[str, str]) -> None:
    """Write a Java properties file; backslashes, line ends and non-ASCII characters are escaped."""
    escaped = {key: value.encode("unicode_escape").decode() for key, value in properties.items()}
    lines = [f"{key}={value}\n" for key, value in escaped.items()]
    file.write_text("".join(lines), encoding="ascii")


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file next to ``path``; it is released even if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
