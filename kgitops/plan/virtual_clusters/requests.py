"""What a request is to a virtual cluster: about it, letting someone in, breaking something."""

from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.model.resources.addresses import inside
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType


def virtual_cluster_of(request: Request) -> str | None:
    """The one virtual cluster that a request is about."""
    match request:
        case (
            CreateTopicRequest(local=local)
            | AlterTopicRequest(local=local)
            | DeleteTopicRequest(local=local)
            | DeleteRecordsRequest(local=local)
        ):
            return local.virtual_cluster if local else None
        case DeleteAclRequest(migrated_to=member) if member:
            found = inside(member)
            return found.virtual_cluster if found else None
        case CreateAclRequest(binding=binding) | DeleteAclRequest(binding=binding):
            return _of_binding(binding)
        case AlterClientQuotaRequest(entity=entity):
            return dict(entity).get(VIRTUAL_CLUSTER)
        case (
            CreateVirtualClusterRequest()
            | AlterVirtualClusterRequest()
            | DeleteVirtualClusterRequest()
            | CopyGroupOffsetsRequest()
            | DeleteGroupRequest()
        ):
            return request.virtual_cluster
        case _:
            return None


def _of_binding(binding: AclBinding) -> str | None:
    if binding.scoped:
        exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
        return binding.virtual_cluster if exact and binding.virtual_cluster != "*" else None
    exact = binding.pattern_type is PatternType.LITERAL and binding.resource_name != "*"
    cluster = binding.resource_type is ResourceType.CLUSTER
    named = cluster and exact and binding.resource_name != CLUSTER_NAME
    return binding.resource_name if named else None


def lets_in(request: Request) -> bool:
    """Whether a user or client id is bound by it."""
    return (
        isinstance(request, AlterVirtualClusterRequest)
        and request.change is ChangeType.ADD
        and request.entity_type in EXCLUSIVE
    )


def is_late(request: Request) -> bool:
    """Whether it takes away old rights, after everyone is in (``removeOldAclsFrom``)."""
    return isinstance(request, DeleteAclRequest) and request.migrated_to is not None


def breaks(request: Request) -> bool:
    """Whether something may stop working by it."""
    match request:
        case AlterClientQuotaRequest(quotas=quotas):
            return all(value is None for value in quotas.values())
        case AlterVirtualClusterRequest(change=change):
            return change is ChangeType.REMOVE
        case (
            DeleteAclRequest()
            | DeleteTopicRequest()
            | DeleteVirtualClusterRequest()
            | DeleteGroupRequest()
        ):
            return True
        case _:
            return False
