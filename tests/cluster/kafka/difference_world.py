"""The parts of difference cases, and the two clusters that answer them.

Both have three brokers, and Alice, who has no rights at first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cluster_contract.contract import alteration, creation
from kafka.protocol.admin import DescribeAclsRequest
from kafka.protocol.metadata import MetadataRequest
from msgspec import Struct
from patience import eventually

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.results import RequestResult
from kgitops.sandbox.sandbox import Sandbox

ADMIN, ALICE = "User:admin", "User:alice"
TWO: Assignment = ((1, 2), (2, 3))
NO_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
CONFIGS, PARTITIONS, REPLICAS = (
    req.AlterStep.CONFIGS,
    req.AlterStep.PARTITIONS,
    req.AlterStep.REPLICAS,
)


class Cancellation(Struct, frozen=True, kw_only=True):
    """Not a request of a plan: what an operator who interrupts an apply may ask for."""

    moves: Mapping[str, Sequence[int]]


Ask = req.Request | Cancellation


class Case(Struct, frozen=True):
    """A case of one RPC; ``prepare`` creates what must exist and returns the requests.

    ``only_judged`` is for what would keep brokers busy for half a minute. ``dead`` is asked when
    broker 3 has been killed, which is still alive when it is prepared. ``rights`` makes it one
    that Alice asks for; they are those that she has, given the name that ``prepare`` gets.
    ``apart`` asks for one thing after the other, not for all of them in a batch.
    """

    rpc: str
    name: str
    prepare: Callable[["World", str], Sequence[Ask]]
    only_judged: bool = False
    dead: bool = False
    apart: bool = False
    rights: Callable[[str], Sequence[AclBinding]] | None = None

    @property
    def label(self) -> str:
        """The name of the case in the list of explanations."""
        return f"{self.rpc}: {self.name}"


class Clusters(Protocol):
    """One kind of cluster: its administrator's connection, another's, and ways to treat it."""

    admin: Cluster
    alice: Cluster

    def kill(self, broker: int) -> None:
        """Kill a broker; return when nobody believes that it is alive."""
        ...

    def await_acls(self, acls: frozenset[AclBinding]) -> None:
        """Return when every broker has just these."""
        ...


@dataclass(slots=True, kw_only=True)
class World:
    """One of the two clusters, and what cases have made on it."""

    clusters: Clusters
    internal: dict[str, TopicState] = field(default_factory=dict)

    def send(
        self, *requests: req.Request, validate_only: bool = False, as_alice: bool = False
    ) -> Sequence[RequestResult]:
        cluster, principal = (
            (self.clusters.alice, ALICE) if as_alice else (self.clusters.admin, ADMIN)
        )
        return cluster.execute(requests, validate_only=validate_only, principal=principal)

    def ask(
        self, case: Case, asked: Sequence[Ask], *, validate_only: bool = False
    ) -> Sequence[str]:
        """Return the answers as text, to all requests at once or to one after the other."""
        requests = [item for item in asked if not isinstance(item, Cancellation)]
        if case.apart or len(requests) < len(asked):
            return [self._one(item) for item in asked]
        results = self.send(
            *requests, validate_only=validate_only, as_alice=case.rights is not None
        )
        return [str(result) for result in results]

    def _one(self, item: Ask) -> str:
        if not isinstance(item, Cancellation):
            return str(self.send(item)[0])
        try:
            self.clusters.admin.cancel_moves(item.moves)
        except KgitopsError as error:
            return str(error)
        return "ok"

    def done(self, *requests: req.Request) -> None:
        """Carry out what a case builds on."""
        results = self.send(*requests)
        assert all(result.ok for result in results), results

    def topic(
        self, name: str, assignment: Assignment = TWO, configs: Mapping[str, str] | None = None
    ) -> TopicState:
        """A topic that is there, also for the broker that answers what comes next."""
        (made,) = self.send(creation(name, assignment, configs))
        assert made.ok, made
        topic = TopicState(
            name=name, topic_id=made.topic_id, assignment=assignment, configs=configs or {}
        )
        probe = alteration(topic, CONFIGS, configs={"retention.ms": "1"})
        eventually(
            lambda: self.send(probe, validate_only=True)[0],
            lambda result: result.ok,
            what=f"{name} appears",
        )
        return topic

    def internal_topic(self, name: str) -> TopicState:
        """A topic of Kafka's own, anew."""
        if name in self.internal:
            self.send(delete(self.internal[name]))
        self.internal[name] = self.topic(name)
        return self.internal[name]

    @contextmanager
    def granted(self, acls: Sequence[AclBinding]) -> Iterator[None]:
        """While Alice has these rights."""
        if acls:
            self.done(*(req.CreateAclRequest(binding=acl) for acl in acls))
            self.clusters.await_acls(frozenset(acls))
        yield
        if acls:
            self.done(*(req.DeleteAclRequest(binding=acl) for acl in acls))
            self.clusters.await_acls(frozenset())


def can_be_validated(asked: Ask) -> bool:
    """Return whether Kafka's request has the flag."""
    match asked:
        case req.AlterTopicRequest(step=req.AlterStep.REPLICAS) | Cancellation():
            return False
        case (
            req.DeleteTopicRequest()
            | req.DeleteRecordsRequest()
            | req.CreateAclRequest()
            | req.DeleteAclRequest()
        ):
            return False
        case _:
            return True


def move(topic: TopicState, wanted: Assignment) -> req.AlterTopicRequest:
    """Replicas where they are wanted."""
    return alteration(topic, REPLICAS, assignment=wanted)


def delete(topic: TopicState) -> req.DeleteTopicRequest:
    """A topic's deletion."""
    return req.DeleteTopicRequest(topic=topic.name, topic_id=topic.topic_id or "")


def cut(topic: TopicState, offsets: Mapping[int, int]) -> req.DeleteRecordsRequest:
    """A deletion of what is before some offsets."""
    return req.DeleteRecordsRequest(
        topic=topic.name, topic_id=topic.topic_id or "", deleted_message_offsets=offsets
    )


# The two clusters that are compared.

_ANY = 1  # of ACLs' types
_EMBEDDED = (
    "embedded:?brokers=3&compat=kraft&authorizer=acls&superUsers=User:admin&virtual.clusters=0"
)


class RealClusters(Clusters):
    """A sandbox with SASL, whose users need rights."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._alive = set(sandbox.broker_ids)
        alice = {"sasl.username": "alice", "sasl.password": "alice-secret"}
        self.admin = boot(sandbox.servers, sandbox.configs, Path())
        self.alice = boot(sandbox.servers, {**sandbox.configs, **alice}, Path())
        self._wire = self.admin.wire

    def kill(self, broker: int) -> None:
        self._sandbox.kill(broker)
        self._alive.remove(broker)
        eventually(
            lambda: {id_: self._seen_by(id_) for id_ in self._alive},
            lambda seen: all(ids == self._alive for ids in seen.values()),
            what=f"no broker sees broker {broker}",
        )

    def await_acls(self, acls: frozenset[AclBinding]) -> None:
        eventually(
            lambda: {id_: self._acls_on(id_) for id_ in self._alive},
            lambda seen: set(seen.values()) == {len(acls)},
            what=f"every broker has {len(acls)} ACLs",
        )

    def close(self) -> None:
        self.admin.close()
        self.alice.close()

    def _seen_by(self, broker: int) -> set[int]:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        return {item.node_id for item in self._wire.send(request, to=broker).brokers}

    def _acls_on(self, broker: int) -> int:
        request = DescribeAclsRequest(
            resource_type_filter=_ANY,
            resource_name_filter=None,
            pattern_type_filter=_ANY,
            principal_filter=ALICE,
            host_filter=None,
            operation=_ANY,
            permission_type=_ANY,
            min_version=3,
        )
        answer = self._wire.send(request, to=broker)
        return sum(len(resource.acls) for resource in answer.resources)


class EmbeddedClusters(Clusters):
    """The embedded cluster, which knows principals from the requests."""

    def __init__(self) -> None:
        cluster = connect(_EMBEDDED, base=Path())
        assert isinstance(cluster, EmbeddedCluster)
        self.admin = self.alice = self._cluster = cluster

    def kill(self, broker: int) -> None:
        self._cluster.fence(broker)

    def await_acls(self, acls: frozenset[AclBinding]) -> None:
        """They hold at once."""

    def close(self) -> None:
        self._cluster.close()
