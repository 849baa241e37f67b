"""Served clusters for tests of forwarding: their clients, their brokers' Envelopes, and faults."""

import json
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.clusters import NOON, ROOT, admin
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, ClockAndIds, Compat, Options, uuid_text
from kgitops.model.resources.acls import AclBinding
from kgitops.serve.background import serving
from kgitops.serve.forwarding.brokers.login import plain_bytes
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.nodes import Endpoint
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.wire import messages
from kgitops.wire.messages import Message


class ServedBrokers:
    """A server in this process, and how tests reach its nodes."""

    def __init__(self, server: KafkaServer, embedded: EmbeddedCluster, control: Path) -> None:
        self.server = server
        self.embedded = embedded
        self._control = control

    def broker(self, broker: int) -> Endpoint:
        return self.server.cluster.nodes[broker].endpoint

    @contextmanager
    def client(self, node: int = 1, principal: str | None = None) -> Iterator[RawClient]:
        """A connection to a node, with another principal than the one that did not log in."""
        with raw_client(self.broker(node)) as client:
            if principal is not None:
                client.ask("ApiVersions", 3)
                self.set_principal(client, principal)
            yield client

    def set_principal(self, client: RawClient, principal: str) -> None:
        # Both ends: one port of a client may be that of connections to several nodes.
        ends = (client.socket.getsockname()[1], client.socket.getpeername()[1])
        for connection in list(self.server._listeners.open):
            transport = connection._transport
            if ends == tuple(transport.get_extra_info(end)[1] for end in ("peername", "sockname")):
                connection.connection.principal = principal
                return
        raise AssertionError("the connection is not open")

    @contextmanager
    def as_broker(self, controller: int = 3000, client_id: str = "broker-1") -> Iterator[RawClient]:
        """A connection to a controller that has logged in as brokers do."""
        with raw_client(self.broker(controller), client_id) as client:
            shaken = client.ask(
                "SaslHandshake", 1, messages.SaslHandshakeRequest(mechanism="PLAIN")
            )
            assert shaken.error_code == 0
            secret = self.server._dispatcher._secret
            login = messages.SaslAuthenticateRequest(auth_bytes=plain_bytes("kafka", secret))
            assert client.ask("SaslAuthenticate", 2, login).error_code == 0
            yield client

    def tell(self, do: str, **fields: object) -> Mapping[str, object]:
        """Give a command over the control socket; its answer."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self._control))
            control.sendall(json.dumps({"do": do, **fields}).encode() + b"\n")
            found: Mapping[str, object] = json.loads(control.makefile().readline())
            return found

    def done(self, do: str, **fields: object) -> Mapping[str, object]:
        """Give a command that can be done."""
        answer = self.tell(do, **fields)
        assert answer["ok"], answer
        return answer

    def metrics(self, broker: int = 1) -> Mapping[str, float]:
        return self.server.forwarding_metrics[broker].values()

    def redirected(self) -> int:
        """Envelopes that all brokers have sent."""
        return sum(item.redirected for item in self.server.forwarding_metrics.values())

    def topics(self) -> list[str]:
        """The topics that the controller has."""
        return sorted(self.embedded.controller.image().topics.by_name)


@contextmanager
def served(
    embedded: EmbeddedCluster | None = None,
    *,
    compat: Compat = Compat.SEED,
    acls: tuple[AclBinding, ...] | None = None,
    static_configs: Mapping[str, str] | None = None,
    **forwarding: object,
) -> Iterator[ServedBrokers]:
    """A served cluster of three brokers, whose ids and time repeat.

    ``acls`` are enforced; ``User:root`` and the brokers may do everything.
    """
    numbers = count(1)
    cluster = embedded or boot(
        None,
        brokers=3,
        options=Options(
            compat=compat,
            authorizer=AuthorizerKind.NONE if acls is None else AuthorizerKind.ACLS,
            super_users=frozenset({ROOT}),
            static_configs=static_configs or {},
        ),
        clock_and_ids=ClockAndIds(
            now=lambda: NOON, new_id=lambda: uuid_text(uuid.UUID(int=next(numbers) << 64))
        ),
    )
    options = ServeOptions(port=0, forwarding=ForwardingOptions(**forwarding))
    if acls:
        assert all(result.ok for result in admin(cluster, ROOT).create_acls(acls))
    try:
        # The path of a socket is short.
        with TemporaryDirectory() as folder:
            control = Path(folder, "control")
            with serving(cluster, options, control=control) as server:
                yield ServedBrokers(server, cluster, control)
    finally:
        cluster.close()


def new_topic(name: str = "orders", partitions: int = 1, factor: int = 1) -> Message:
    return messages.CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=factor
    )


def creating(*names: str, timeout_ms: int = 60_000, **fields: object) -> Message:
    return messages.CreateTopicsRequest(
        topics=[new_topic(name) for name in names], timeout_ms=timeout_ms, **fields
    )


def create(client: RawClient, *names: str, version: int = 7, **fields: object) -> dict[str, int]:
    """Create topics; their error codes."""
    answer = client.ask("CreateTopics", version, creating(*names, **fields))
    return {row.name: row.error_code for row in answer.topics}


def seen(client: RawClient, name: str) -> int:
    """The error that Metadata has for a topic; nothing is created."""
    topic = messages.MetadataRequest.MetadataRequestTopic(name=name)
    request = messages.MetadataRequest(topics=[topic], allow_auto_topic_creation=False)
    (row,) = client.ask("Metadata", 12, request).topics
    return row.error_code
