"""The requests that would make a cluster what it is: policies judge them in an audit."""

from collections.abc import Iterator, Mapping

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    Request,
    request_address,
    with_labels,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, local_topic_address, quota_address
from kgitops.model.resources.config_resources import FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topics import RATES, RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    VirtualCluster,
    generated_parts,
)


def requests_of(current: ClusterState, documents: Mapping[str, DesiredObject]) -> Iterator[Request]:
    """In the order of a plan, with the labels of the documents that declare the objects."""
    for request in _requests(current):
        document = documents.get(request_address(request))
        yield with_labels(request, document.labels if document else {})


def _requests(current: ClusterState) -> Iterator[Request]:
    clusters = [current.virtual_clusters[name] for name in sorted(current.virtual_clusters)]
    for cluster in clusters:
        yield CreateVirtualClusterRequest(virtual_cluster=cluster.name, options=cluster.options)
    made_in = _made_in(current, clusters)
    for name, topic in sorted(current.topics.items()):
        if not is_internal(name):
            wanted = RequestedTopicState(
                name=name,
                topic_id=None,
                assignment=topic.assignment,
                configs=topic.configs,
                requested_configs=dict(topic.configs),
            )
            yield CreateTopicRequest(topic=name, local=made_in.get(name), requested_state=wanted)
    made = frozenset(made_in.values())
    for cluster in clusters:
        for link in cluster.links.values():
            if LocalName(cluster.name, link.name) not in made:
                yield _adding(cluster, EntityType.TOPIC, link.name, topic=link.topic)
    for binding in sorted(current.acls, key=_address_of):
        yield CreateAclRequest(binding=binding)
    for entity, quota in sorted(current.quotas.items(), key=lambda item: quota_address(item[0])):
        yield AlterClientQuotaRequest(entity=entity, quotas=dict(quota.quotas))
    for cluster in clusters:
        for kind in EntityType:
            if kind is not EntityType.TOPIC:
                for name in sorted(cluster.members(kind)):
                    adopts = cluster.groups[name] if kind is EntityType.GROUP else None
                    yield _adding(cluster, kind, name, adopts=adopts)
    for name, held in sorted((current.users or {}).items()):
        for mechanism, iterations in held.items():
            yield AlterUserScramCredentialsRequest(
                user=name, mechanism=mechanism, iterations=iterations
            )
    for _, found in sorted(current.objects.items()):
        if isinstance(found, FoundGroup | FoundConfigs):
            yield from _configured(found)


def _configured(found: FoundGroup | FoundConfigs) -> Iterator[Request]:
    configs = {key: value for key, value in found.configs.items() if key not in RATES}
    if configs:
        yield AlterConfigResourceRequest(
            resource_type=found.type, resource_name=found.name, configs=configs
        )


def _adding(
    cluster: VirtualCluster,
    kind: EntityType,
    name: str,
    *,
    topic: str | None = None,
    adopts: str | None = None,
) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=cluster.name,
        entity_type=kind,
        entity_name=name,
        topic=topic,
        adopts=adopts,
    )


def _made_in(current: ClusterState, clusters: list[VirtualCluster]) -> Mapping[str, LocalName]:
    """The names in virtual clusters of the topics that were created there, by physical name.

    Other links may have the same name; the one that a project manages as a topic comes first.
    """
    owners = current.registry.owners if current.registry else {}
    found: dict[str, LocalName] = {}
    for cluster in clusters:
        for link in cluster.links.values():
            parts = generated_parts(link.topic)
            local = LocalName(cluster.name, link.name)
            if parts is None or parts[1] != link.name:
                continue
            if link.topic not in found or local_topic_address(local) in owners:
                found[link.topic] = local
    return found


def _address_of(binding: AclBinding) -> str:
    return acl_address(binding)
