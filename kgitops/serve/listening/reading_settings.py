"""A listener's settings from the configs of brokers, by Kafka's keys.

``listeners`` names one listener for clients; each broker has it. A controller's listener may be
named too, as in the properties of a KRaft node: the address of it is not taken from there.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import ExitCode, Reason
from kgitops.serve.listening.config_keys import BrokerConfigReader
from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.serve.listening.reading_logins import read_sasl, read_tls
from kgitops.serve.listening.settings import LOOPBACK, ListenerSettings, SecurityProtocol

_LISTENER = re.compile(r"([A-Za-z0-9_-]+)://(\[[0-9A-Fa-f:.]*\]|[^:/\[\]]*):([0-9]{1,5})")
_HIGHEST_PORT = 65535
_STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_DEFAULT = f"PLAINTEXT://{LOOPBACK}:9092"


def listener_settings(configs: Mapping[str, str], folder: Path = Path()) -> ListenerSettings:
    """The settings that the configs ask for; files in them are relative to ``folder``.

    Raises:
        KgitopsError: some are not valid; one sentence for each.
    """
    general = BrokerConfigReader(configs, "", folder)
    name, host, port = _address(general)
    reader = BrokerConfigReader(configs, name, folder)
    reader.problems = general.problems
    protocol = _protocol(general, name)
    defaults = ListenerSettings()
    settings = ListenerSettings(
        name=name,
        protocol=protocol,
        host=host,
        port=port,
        advertised_host=_advertised(general, name),
        tls=read_tls(reader) if protocol.tls else None,
        sasl=read_sasl(reader) if protocol.sasl else None,
        limits=_limits(reader),
        failure_delay_ms=reader.number(
            "connection.failed.authentication.delay.ms", defaults.failure_delay_ms, most=10_000
        ),
        super_users=_super_users(general),
        authorizes=_authorizes(general, configs),
    )
    if general.problems:
        sentences = [f"{problem}" for problem in dict.fromkeys(general.problems)]
        reasons = [Reason(exit=ExitCode.ERROR, sentence=sentence) for sentence in sentences]
        raise KgitopsError("; ".join(sentences), reasons=reasons)
    return settings


def _address(reader: BrokerConfigReader) -> tuple[str, str, int]:
    """The name, host and port of the clients' listener."""
    named = _listeners(reader, "listeners")
    controllers = reader.words("controller.listener.names")
    for_clients = [item for item in named if item[0] not in controllers]
    if len(for_clients) > 1:
        names = " and ".join(name for name, _, _ in for_clients)
        reader.refuse(
            "listeners", f"names {names}, but each broker has one listener for clients; keep one"
        )
    if not for_clients:
        name, host, port = _parsed(_DEFAULT) or ("", "", 0)
        return name, host, port
    return for_clients[0]


def _listeners(reader: BrokerConfigReader, key: str) -> list[tuple[str, str, int]]:
    found = []
    for item in reader.words(key):
        parsed = _parsed(item)
        if parsed is None:
            reader.refuse(key, f"has {item!r}, which is not NAME://HOST:PORT; correct it")
        else:
            found.append(parsed)
    return found


def _parsed(text: str) -> tuple[str, str, int] | None:
    match = _LISTENER.fullmatch(text)
    if match is None or int(match[3]) > _HIGHEST_PORT:
        return None
    return match[1].upper(), match[2].strip("[]") or "0.0.0.0", int(match[3])  # noqa: S104


def _advertised(reader: BrokerConfigReader, name: str) -> str | None:
    hosts = {listener: host for listener, host, _ in _listeners(reader, "advertised.listeners")}
    return hosts.get(name)


def _protocol(reader: BrokerConfigReader, name: str) -> SecurityProtocol:
    key = "listener.security.protocol.map"
    names = tuple(SecurityProtocol)
    by_name = {str(item): item for item in SecurityProtocol}
    for item in reader.words(key):
        listener, colon, protocol = item.partition(":")
        if not colon or protocol.strip().upper() not in names:
            reader.refuse(
                key, f"has {item!r}, which is not NAME:PROTOCOL with one of {', '.join(names)}"
            )
        else:
            by_name[listener.strip().upper()] = SecurityProtocol(protocol.strip().upper())
    if name not in by_name:
        if not reader.problems:
            reader.refuse(key, f"does not say the protocol of the listener {name}; add it")
        return SecurityProtocol.PLAINTEXT
    return by_name[name]


def _limits(reader: BrokerConfigReader) -> ConnectionLimits:
    defaults = ConnectionLimits()
    return ConnectionLimits(
        connections=reader.number("max.connections", defaults.connections, least=1),
        connections_per_host=reader.number(
            "max.connections.per.ip", defaults.connections_per_host, least=1
        ),
        frame=reader.number("socket.request.max.bytes", defaults.frame, least=1),
        frame_before_login=reader.number(
            "sasl.server.max.receive.size", defaults.frame_before_login, least=1
        ),
        held=reader.number("queued.max.request.bytes", defaults.held, least=1),
        idle=reader.number("connections.max.idle.ms", int(defaults.idle * 1000), least=1) / 1000,
    )


def _super_users(reader: BrokerConfigReader) -> frozenset[str]:
    key = "super.users"
    users = frozenset(filter(None, (item.strip() for item in (reader.text(key) or "").split(";"))))
    for user in sorted(users):
        if not re.fullmatch("[A-Za-z]+:.+", user):
            reader.refuse(key, f"has {user!r}, which is no principal; write User:NAME;User:NAME")
    return users


def _authorizes(reader: BrokerConfigReader, configs: Mapping[str, str]) -> bool | None:
    key = "authorizer.class.name"
    if key not in configs:
        return None
    text = reader.text(key)
    if text not in (None, _STANDARD):
        reader.refuse(key, f"must be {_STANDARD} or empty, not {text!r}")
    return text is not None
