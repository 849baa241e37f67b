"""Tests of policies as values: the cluster that a case starts from, its requests and outcomes."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from kgitops.manifests.policies.policy_test import (
    GivenAcl,
    GivenCluster,
    GivenEntity,
    GivenTopic,
    GivenVirtualCluster,
    RequestStep,
)
from kgitops.manifests.yaml.document import scalar_text
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.placement import PlacementError, place
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding
from kgitops.model.resources.names import is_principal
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    IP,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_keys,
)
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.virtual_clusters import VirtualCluster, virtual_cluster_name_problem
from kgitops.model.source import Source
from kgitops.model.wording import nearest
from kgitops.policy.building import acl, numbered, state_of, virtual_cluster
from kgitops.policy.evaluate.bundle import Outcome


class Expected(Struct, frozen=True, kw_only=True):
    """``policy`` must say ``outcome`` of ``address``; ``message`` is a regular expression."""

    address: str
    policy: str
    outcome: Outcome
    message: str | None
    source: Source


class CaseStep(Struct, frozen=True, kw_only=True):
    """One request of a case, not yet made: what it is depends on what was accepted before."""

    written: RequestStep
    source: Source


class Case(Struct, frozen=True, kw_only=True):
    """Requests that are judged in order on ``state``, for ``principal``."""

    name: str
    source: Source
    principal: str
    state: ClusterState
    steps: tuple[CaseStep, ...]
    expect: tuple[Expected, ...] = ()
    never: tuple[str, ...] = ()


class Suite(Struct, frozen=True, kw_only=True):
    """A test document.

    ``policy`` is the one under test; ``asked`` are all policies whose rulings count: it, and those
    that cases name. Every other policy is ignored.
    """

    name: str
    source: Source
    policy: str
    asked: frozenset[str]
    cases: tuple[Case, ...]


TOPIC_ID = "A" * 22
"""The id of every topic of a case, as no cluster generates ids."""

DocumentPath = tuple[str | int, ...]
Value = TypeVar("Value", float, float | None)


class StepError(Exception):
    """An object or request that can't exist: the path below it, the problem, the advice."""

    def __init__(self, path: DocumentPath, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.path = path
        self.problem = problem
        self.advice = advice


def topic_assignment(
    described: GivenTopic, name: str, brokers: Sequence[Broker]
) -> tuple[Assignment, bool]:
    """The replicas of every partition, and True if they were placed here.

    Raises:
        StepError: the topic's size is missing, given twice, or impossible.
    """
    sized = described.partitions is not None or described.replication_factor is not None
    if described.assignments is not None:
        if sized:
            raise StepError(
                ("assignments",),
                "assignments decide partitions and replicationFactor",
                "write either them or the other two",
            )
        return _as_assigned(described.assignments), False
    if described.partitions is None or described.replication_factor is None:
        raise StepError(
            (), f"the topic {name} has no size", "write partitions and replicationFactor"
        )
    try:
        placed = place(
            brokers,
            partitions=described.partitions,
            replication_factor=described.replication_factor,
            seed=name,
        )
    except PlacementError as error:
        raise StepError(
            ("replicationFactor",), str(error), "give the cluster more brokers"
        ) from error
    return placed, True


def binding_of(described: GivenAcl) -> AclBinding:
    """The ACL binding.

    Raises:
        StepError: its principal is not one.
    """
    if not is_principal(described.principal):
        raise StepError(
            ("principal",),
            f"{described.principal!r} is not a principal",
            "write it as Type:name, such as User:billing",
        )
    return acl(
        described.principal,
        described.operation,
        described.resource.name,
        resource=described.resource.type,
        pattern=described.resource.pattern_type,
        host=described.host,
        permission=described.permission,
        virtual_cluster=described.virtual_cluster or CLUSTER_NAME,
        virtual_cluster_pattern=described.virtual_cluster_pattern_type,
    )


def entity_of(described: GivenEntity) -> ClientQuotaEntity:
    """The entity of a quota.

    Raises:
        StepError: it is empty, or an ip together with others.
    """
    named = {
        VIRTUAL_CLUSTER: described.virtual_cluster,
        USER: described.user,
        CLIENT_ID: described.client_id,
        IP: described.ip,
    }
    parts = {
        kind: name if isinstance(name, str) and name != "<default>" else None
        for kind, name in named.items()
        if name is not None
    }
    if not parts:
        raise StepError(
            ("entity",),
            "the quota names no entity",
            "write user, clientId, ip or virtualCluster below entity",
        )
    if IP in parts and len(parts) > 1:
        raise StepError(("entity", "ip"), "an ip can't be combined with others", "write one")
    return make_entity(parts)


def quotas_of(entity: ClientQuotaEntity, quotas: Mapping[str, Value]) -> dict[str, Value]:
    """The quotas, with keys that Kafka knows for this entity.

    Raises:
        StepError: Kafka does not know a key.
    """
    keys = sorted(quota_keys(entity))
    for key in quotas:
        if key not in keys:
            near = nearest(key, keys)
            advice = f"did you mean {near}?" if near else f"write one of {listed(keys)}"
            raise StepError(("quotas", key), f"{key!r} is not a quota of this entity", advice)
    return dict(quotas)


def configs_of(configs: Mapping[str, object]) -> dict[str, str]:
    """Configs as Kafka has them: text."""
    return {key: config_text(value) for key, value in configs.items()}


def config_text(value: object) -> str:
    """A value of a config as text; a list is joined by commas."""
    if isinstance(value, list):
        return ",".join(map(config_text, value))
    assert isinstance(value, str | int | float)  # noqa: S101 (as the document's model says)
    return scalar_text(value)


def listed(names: Iterable[str]) -> str:
    """``a, b, c``."""
    return ", ".join(names)


def _as_assigned(assignments: Mapping[int, Sequence[int]]) -> Assignment:
    if not assignments:
        raise StepError(("assignments",), "assignments are empty", "assign partition 0")
    for partition in range(len(assignments)):
        replicas = assignments.get(partition)
        if replicas is None:
            raise StepError(
                ("assignments",),
                f"the partition {partition} is missing",
                "number the partitions from 0 without a gap",
            )
        if not replicas or len(set(replicas)) < len(replicas):
            raise StepError(
                ("assignments", partition),
                f"partition {partition} needs at least one broker, and each once",
                "correct its brokers",
            )
    return tuple(tuple(assignments[partition]) for partition in range(len(assignments)))


def cluster_of(described: GivenCluster) -> ClusterState:
    """The state of the cluster.

    Raises:
        StepError: it can't exist; the path begins below the cluster.
    """
    brokers = _brokers(described)
    topics: dict[str, TopicState] = {}
    for name, topic in described.topics.items():
        try:
            assignment, _ = topic_assignment(topic, name, brokers)
        except StepError as error:
            raise _below(("topics", name), error) from error
        topics[name] = TopicState(
            name=name,
            topic_id=TOPIC_ID,
            assignment=assignment,
            configs=configs_of(topic.configs),
        )
    acls = []
    for index, one in enumerate(described.acls):
        try:
            acls.append(binding_of(one))
        except StepError as error:
            raise _below(("acls", index), error) from error
    quotas = {}
    for index, quota in enumerate(described.quotas):
        try:
            entity = entity_of(quota.entity)
            quotas[entity] = quotas_of(entity, quota.quotas)
        except StepError as error:
            raise _below(("quotas", index), error) from error
    return state_of(
        topics.values(),
        brokers=brokers,
        acls=acls,
        quotas=quotas,
        virtual_clusters=[
            _virtual_cluster(name, one, topics) for name, one in described.virtual_clusters.items()
        ],
        users={
            name: {held.mechanism: held.iterations for held in credentials}
            for name, credentials in described.users.items()
        },
    )


def _virtual_cluster(
    name: str, described: GivenVirtualCluster, topics: Container[str]
) -> VirtualCluster:
    if problem := virtual_cluster_name_problem(name):
        raise StepError(("virtualClusters", name), problem, "correct the name")
    for link, topic in described.links.items():
        if topic not in topics:
            raise StepError(
                ("virtualClusters", name, "links", link),
                f"there is no topic {topic} that the link could lead to",
                "add it to the topics",
            )
    return virtual_cluster(
        name,
        users=described.users,
        client_ids=described.client_ids,
        groups=described.groups,
        transactional_ids=described.transactional_ids,
        links=described.links,
    )


def _brokers(described: GivenCluster) -> tuple[Broker, ...]:
    if isinstance(described.brokers, int):
        return numbered(described.brokers)
    count = Counter(broker.id for broker in described.brokers)
    for index, broker in enumerate(described.brokers):
        if count[broker.id] > 1:
            raise StepError(
                ("brokers", index), f"two brokers have the id {broker.id}", "number them apart"
            )
    return tuple(Broker(id=broker.id, rack=broker.rack) for broker in described.brokers)


def _below(path: DocumentPath, error: StepError) -> StepError:
    return StepError((*path, *error.path), error.problem, error.advice)
