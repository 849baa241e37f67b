"""Makes requests of the steps about virtual clusters that a test describes."""

from collections.abc import Container

from kgitops.manifests.policies.policy_test_requests import (
    AddedMember,
    AlterVirtualClusterStep,
    CreateTopicLinkStep,
    DeleteTopicLinkStep,
    Member,
    RequestStep,
    VirtualClusterStep,
)
from kgitops.manifests.problems import suggestion
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    as_principal,
    virtual_cluster_name_problem,
)
from kgitops.policy.state.virtual_clusters import VirtualClusters
from kgitops.workflow.policy_tests.case_objects import DocumentPath, StepError


def virtual_cluster_request(
    step: RequestStep, known: VirtualClusters, topics: Container[str]
) -> Request:
    """The request that the step is.

    Raises:
        StepError: no such request can be made there.
    """
    match step:
        case RequestStep(create_virtual_cluster=VirtualClusterStep(name=name)):
            return _create(name, known)
        case RequestStep(delete_virtual_cluster=VirtualClusterStep(name=name)):
            found_in(known, name, ("name",))
            return DeleteVirtualClusterRequest(virtual_cluster=name)
        case RequestStep(alter_virtual_cluster=AlterVirtualClusterStep() as alter):
            return _alter(alter, known)
        case RequestStep(create_topic_link=CreateTopicLinkStep() as link):
            return _link(link, known, topics)
        case RequestStep(delete_topic_link=DeleteTopicLinkStep() as link):
            return _unlink(link, known)
        case _:
            raise StepError((), "the request has no kind", "write one of the thirteen")


def found_in(
    known: VirtualClusters, name: str, path: DocumentPath = ("virtualCluster",)
) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        StepError: there is none.
    """
    found = known.get(name)
    if found is None:
        near = suggestion(name, sorted(known.names))
        raise StepError(
            path,
            f"there is no virtual cluster {name} at this point",
            f"did you mean {near}?" if near else "add it to the cluster, or create it before",
        )
    return found


def local_name(virtual_cluster: str | None, name: str, known: VirtualClusters) -> LocalName | None:
    """The name in that virtual cluster; None without one.

    Raises:
        StepError: there is no such virtual cluster.
    """
    if virtual_cluster is None:
        return None
    found_in(known, virtual_cluster)
    return LocalName(virtual_cluster, name)


def _create(name: str, known: VirtualClusters) -> Request:
    if problem := virtual_cluster_name_problem(name):
        raise StepError(("name",), problem, "correct the name")
    if name in known.names:
        raise StepError(
            ("name",),
            f"the virtual cluster {name} is there already",
            "create another one, or alter it with alterVirtualCluster",
        )
    return CreateVirtualClusterRequest(virtual_cluster=name)


def _alter(step: AlterVirtualClusterStep, known: VirtualClusters) -> Request:
    found = found_in(known, step.name, ("name",))
    if (step.add is None) == (step.remove is None):
        raise StepError((), "alterVirtualCluster needs exactly one of add and remove", "write one")
    if step.add is not None:
        return _add(step.add, found.name, known)
    assert step.remove is not None  # noqa: S101 (one of the two is there)
    entity_type, name = _member(step.remove, "remove")
    if name not in found.members(entity_type):
        raise StepError(
            ("remove", str(entity_type)),
            f"{found.name} has no {entity_type} {name}",
            "remove one that it has",
        )
    return AlterVirtualClusterRequest(
        virtual_cluster=found.name,
        change=ChangeType.REMOVE,
        entity_type=entity_type,
        entity_name=name,
    )


def _add(member: AddedMember, virtual_cluster: str, known: VirtualClusters) -> Request:
    entity_type, name = _member(member, "add")
    if member.moved_from is not None:
        found_in(known, member.moved_from, ("add", "movedFrom"))
    return AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        entity_type=entity_type,
        entity_name=name,
        moved_from=member.moved_from,
        adopts=member.adopt,
    )


def _member(member: Member, key: str) -> tuple[EntityType, str]:
    given = [
        (entity_type, name)
        for entity_type, name in (
            (EntityType.USER, as_principal(member.user) if member.user else None),
            (EntityType.CLIENT_ID, member.client_id),
            (EntityType.GROUP, member.group),
            (EntityType.TRANSACTIONAL_ID, member.transactional_id),
        )
        if name
    ]
    if len(given) != 1:
        raise StepError(
            (key,),
            f"{key} needs exactly one of user, clientId, group and transactionalId",
            "write one request for each",
        )
    return given[0]


def _link(step: CreateTopicLinkStep, known: VirtualClusters, topics: Container[str]) -> Request:
    found = found_in(known, step.virtual_cluster)
    if step.topic not in topics:
        raise StepError(
            ("topic",),
            f"there is no topic {step.topic} at this point",
            "add it to the cluster, or create it before",
        )
    before = found.links.get(step.link)
    return AlterVirtualClusterRequest(
        virtual_cluster=found.name,
        entity_type=EntityType.TOPIC,
        entity_name=step.link,
        topic=step.topic,
        replaces=None if before is None else before.topic,
    )


def _unlink(step: DeleteTopicLinkStep, known: VirtualClusters) -> Request:
    found = found_in(known, step.virtual_cluster)
    link = found.links.get(step.link)
    if link is None:
        raise StepError(
            ("link",),
            f"{found.name} has no link {step.link} at this point",
            "add it to the virtual cluster, or create it before",
        )
    return AlterVirtualClusterRequest(
        virtual_cluster=found.name,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=step.link,
        topic=link.topic,
    )
