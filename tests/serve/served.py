"""Clusters behind listeners in this process, and the connections that tests have to their nodes."""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from cluster.clusters import NOON, ROOT, admin
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import SYSTEM_CLOCK_AND_IDS, boot
from kgitops.cluster.embedded.options import AuthorizerKind, ClockAndIds, Options, uuid_text
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.serve.background import serving
from kgitops.serve.forwarding.brokers.login import plain_bytes
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.serve.nodes import Endpoint
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.wire import messages


def cluster_of(
    store: Path | None = None,
    *,
    brokers: int | Sequence[Broker] = 3,
    rights: Sequence[AclBinding] | None = None,
    clock_and_ids: ClockAndIds = SYSTEM_CLOCK_AND_IDS,
    **options: object,
) -> EmbeddedCluster:
    """A cluster with these options, in memory unless it has a store.

    ``rights`` are enforced if they are given; ``User:root`` may do everything.
    """
    if rights is not None:
        options |= {"authorizer": AuthorizerKind.ACLS, "super_users": frozenset({ROOT})}
    made = Options(**options)  # type: ignore[arg-type] (its fields)
    cluster = boot(store, brokers=brokers, options=made, clock_and_ids=clock_and_ids)
    assert all(result.ok for result in admin(cluster, ROOT).create_acls(rights or ()))
    return cluster


def repeating(first_id: int = 1) -> ClockAndIds:
    """A clock that stands still, and ids that are the same in each cluster."""
    numbers = count(first_id)
    return ClockAndIds(now=lambda: NOON, new_id=lambda: uuid_text(UUID(int=next(numbers) << 64)))


class ServedCluster:
    """A server in this process, and how tests reach its nodes."""

    def __init__(self, server: KafkaServer, embedded: EmbeddedCluster, control: Path) -> None:
        self.server = server
        self.embedded = embedded
        self.control = control

    def endpoint(self, node: int = 1) -> Endpoint:
        return self.server.cluster.nodes[node].endpoint

    @contextmanager
    def client(
        self, node: int = 1, principal: str | None = None, client_id: str | None = "raw"
    ) -> Iterator[RawClient]:
        """A connection to a node, with another principal than the one that did not log in."""
        with raw_client(self.endpoint(node), client_id) as client:
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
        with raw_client(self.endpoint(controller), client_id) as client:
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
        return self.tell_lines(json.dumps({"do": do, **fields}).encode() + b"\n")[0]

    def tell_lines(self, lines: bytes) -> Sequence[Mapping[str, object]]:
        """Write lines to the control socket; the answer to each."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(30)
            control.connect(str(self.control))
            control.sendall(lines)
            answers = control.makefile()
            return [json.loads(answers.readline()) for _ in range(lines.count(b"\n"))]

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
    cluster: EmbeddedCluster | None = None,
    *,
    limits: ConnectionLimits | None = None,
    **how: object,
) -> Iterator[ServedCluster]:
    """Serve a cluster and close it; without one, a cluster that is made as ``cluster_of`` says.

    Options of forwarding may be among those of the cluster.
    """
    names = how.keys() & set(ForwardingOptions.__struct_fields__)
    forwarding = ForwardingOptions(**{name: how.pop(name) for name in names})
    options = ServeOptions(port=0, limits=limits, forwarding=forwarding)
    cluster = cluster or cluster_of(**how)  # type: ignore[arg-type] (its parameters)
    try:
        # The path of a socket is short.
        with TemporaryDirectory() as folder:
            control = Path(folder, "control")
            with serving(cluster, options, control=control) as server:
                yield ServedCluster(server, cluster, control)
    finally:
        cluster.close()


@contextmanager
def client_of(
    cluster: EmbeddedCluster | None = None,
    *,
    broker: int = 0,
    client_id: str | None = "raw",
    **how: object,
) -> Iterator[RawClient]:
    """A connection to a broker of a served cluster, by its number in the order of ids."""
    with (
        served(cluster, **how) as started,  # type: ignore[arg-type] (its parameters)
        raw_client(started.server.endpoints[broker], client_id) as client,
    ):
        yield client
