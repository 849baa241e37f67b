"""Makes the cluster state that a case starts from."""

from collections import Counter
from collections.abc import Container

from kgitops.manifests.policies.policy_test import GivenCluster, GivenVirtualCluster
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import VirtualCluster, virtual_cluster_name_problem
from kgitops.policy.building import numbered, state_of, virtual_cluster
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
    acls = []
    for index, acl in enumerate(described.acls):
        try:
            acls.append(binding_of(acl))
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
