"""Makes the cluster state that a case starts from."""

from collections import Counter
from collections.abc import Mapping

from kgitops.manifests.policies.policy_test_cluster import GivenCluster, GivenVirtualCluster
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    TopicLink,
    VirtualCluster,
    as_principal,
    virtual_cluster_name_problem,
)
from kgitops.workflow.policy_tests.case_objects import (
    TOPIC_ID,
    DocumentPath,
    StepError,
    binding_of,
    configs_of,
    entity_of,
    quotas_of,
    topic_assignment,
)


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
    acls = set()
    for index, acl in enumerate(described.acls):
        try:
            acls.add(binding_of(acl))
        except StepError as error:
            raise _below(("acls", index), error) from error
    quotas = {}
    for index, quota in enumerate(described.quotas):
        try:
            entity = entity_of(quota.entity)
            held = ClientQuotaState(entity=entity, quotas=quotas_of(entity, quota.quotas))
        except StepError as error:
            raise _below(("quotas", index), error) from error
        quotas[entity] = held
    return ClusterState(
        cluster_id="policy-test",
        backend="policy-test",
        brokers=brokers,
        topics=topics,
        acls=frozenset(acls),
        quotas=quotas,
        virtual_clusters={
            name: _virtual_cluster(name, one, topics)
            for name, one in described.virtual_clusters.items()
        },
    )


def _virtual_cluster(
    name: str, described: GivenVirtualCluster, topics: Mapping[str, TopicState]
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
    return VirtualCluster(
        name=name,
        users=frozenset(map(as_principal, described.users)),
        client_ids=frozenset(described.client_ids),
        groups=dict.fromkeys(described.groups),
        transactional_ids=frozenset(described.transactional_ids),
        links={link: TopicLink(name=link, topic=topic) for link, topic in described.links.items()},
    )


def _brokers(described: GivenCluster) -> tuple[Broker, ...]:
    if isinstance(described.brokers, int):
        return tuple(Broker(id=id_) for id_ in range(1, described.brokers + 1))
    count = Counter(broker.id for broker in described.brokers)
    for index, broker in enumerate(described.brokers):
        if count[broker.id] > 1:
            raise StepError(
                ("brokers", index), f"two brokers have the id {broker.id}", "number them apart"
            )
    return tuple(Broker(id=broker.id, rack=broker.rack) for broker in described.brokers)


def _below(path: DocumentPath, error: StepError) -> StepError:
    return StepError((*path, *error.path), error.problem, error.advice)
