"""Makes requests of the steps about virtual clusters that a test describes."""

from collections.abc import Container

from kgitops.manifests.policies.policy_test import (
    AlterVirtualClusterStep,
    CreateTopicLinkStep,
    DeleteTopicLinkStep,
    Member,
    RequestStep,
    VirtualClusterStep,
)
from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    virtual_cluster_name_problem,
)
from kgitops.model.wording import nearest
from kgitops.policy.building import link_request, only_member
from kgitops.policy.state import VirtualClusters
from kgitops.workflow.policy_tests.cases import DocumentPath, StepError


def virtual_cluster_request(
    step: RequestStep, virtual_clusters: VirtualClusters, topics: Container[str]
) -> req.Request:
    """The request that the step is.

    Raises:
        StepError: no such request can be made there.
    """
    match step:
        case RequestStep(create_virtual_cluster=VirtualClusterStep(name=name)):
            return _create(name, virtual_clusters)
        case RequestStep(delete_virtual_cluster=VirtualClusterStep(name=name)):
            require_virtual_cluster(virtual_clusters, name, ("name",))
            return req.DeleteVirtualClusterRequest(virtual_cluster=name)
        case RequestStep(alter_virtual_cluster=AlterVirtualClusterStep() as alter):
            return _alter(alter, virtual_clusters)
        case RequestStep(create_topic_link=CreateTopicLinkStep() as link):
            return _link(link, virtual_clusters, topics)
        case RequestStep(delete_topic_link=DeleteTopicLinkStep() as link):
            return _unlink(link, virtual_clusters)
        case _:
            raise StepError((), "the request has no kind", "write one of the thirteen")


def require_virtual_cluster(
    virtual_clusters: VirtualClusters, name: str, path: DocumentPath = ("virtualCluster",)
) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        StepError: there is none.
    """
    virtual_cluster = virtual_clusters.get(name)
    if virtual_cluster is None:
        near = nearest(name, sorted(virtual_clusters.names))
        raise StepError(
            path,
            f"there is no virtual cluster {name} at this point",
            f"did you mean {near}?" if near else "add it to the cluster, or create it before",
        )
    return virtual_cluster


def local_name(
    virtual_cluster: str | None, name: str, virtual_clusters: VirtualClusters
) -> LocalName | None:
    """The name in that virtual cluster; None without one.

    Raises:
        StepError: there is no such virtual cluster.
    """
    if virtual_cluster is None:
        return None
    require_virtual_cluster(virtual_clusters, virtual_cluster)
    return LocalName(virtual_cluster, name)


def _create(name: str, virtual_clusters: VirtualClusters) -> req.Request:
    if problem := virtual_cluster_name_problem(name):
        raise StepError(("name",), problem, "correct the name")
    if name in virtual_clusters.names:
        raise StepError(
            ("name",),
            f"the virtual cluster {name} is there already",
            "create another one, or alter it with alterVirtualCluster",
        )
    return req.CreateVirtualClusterRequest(virtual_cluster=name)


def _alter(step: AlterVirtualClusterStep, virtual_clusters: VirtualClusters) -> req.Request:
    virtual_cluster = require_virtual_cluster(virtual_clusters, step.name, ("name",))
    if (step.add is None) == (step.remove is None):
        raise StepError((), "alterVirtualCluster needs exactly one of add and remove", "write one")
    given = step.add or step.remove
    assert given is not None  # noqa: S101 (one of the two is there)
    key = "add" if step.add else "remove"
    entity_type, name = _member(given, key)
    if step.remove and name not in virtual_cluster.members(entity_type):
        raise StepError(
            (key, str(entity_type)),
            f"{virtual_cluster.name} has no {entity_type} {name}",
            "remove one that it has",
        )
    if step.add and step.add.moved_from is not None:
        require_virtual_cluster(virtual_clusters, step.add.moved_from, (key, "movedFrom"))
    return req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster.name,
        change=ChangeType.ADD if step.add else ChangeType.REMOVE,
        entity_type=entity_type,
        entity_name=name,
        moved_from=step.add.moved_from if step.add else None,
        adopts=step.add.adopt if step.add else None,
    )


def _member(member: Member, key: str) -> tuple[EntityType, str]:
    only = only_member(member.user, member.client_id, member.group, member.transactional_id)
    if only is None:
        raise StepError(
            (key,),
            f"{key} needs exactly one of user, clientId, group and transactionalId",
            "write one request for each",
        )
    return only


def _link(
    step: CreateTopicLinkStep, virtual_clusters: VirtualClusters, topics: Container[str]
) -> req.Request:
    virtual_cluster = require_virtual_cluster(virtual_clusters, step.virtual_cluster)
    if step.topic not in topics:
        raise StepError(
            ("topic",),
            f"there is no topic {step.topic} at this point",
            "add it to the cluster, or create it before",
        )
    before = virtual_cluster.links.get(step.link)
    replaces = None if before is None else before.topic
    return link_request(virtual_cluster.name, step.link, step.topic, replaces=replaces)


def _unlink(step: DeleteTopicLinkStep, virtual_clusters: VirtualClusters) -> req.Request:
    virtual_cluster = require_virtual_cluster(virtual_clusters, step.virtual_cluster)
    link = virtual_cluster.links.get(step.link)
    if link is None:
        raise StepError(
            ("link",),
            f"{virtual_cluster.name} has no link {step.link} at this point",
            "add it to the virtual cluster, or create it before",
        )
    return link_request(virtual_cluster.name, step.link, link.topic, change=ChangeType.REMOVE)
