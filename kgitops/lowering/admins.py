"""What an administrator of virtual clusters may ask of kgitops (VC-146, VC-147, VC-214).

Brokers that know no virtual clusters can't check it, so kgitops does, for whoever has rights on
virtual clusters and none on kafka-cluster. Of everybody else brokers decide (L-ACL-CLUSTER).
"""

from collections.abc import Collection, Iterator

from kgitops.lowering.acls import EVERYONE, is_logical
from kgitops.model.acls import CLUSTER_NAME, AclBinding, Operation, PermissionType, ResourceType
from kgitops.model.cluster_state import ClusterState
from kgitops.model.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.virtual_clusters import ChangeType, EntityType
from kgitops.virtual_clusters.operations import allowing, covering
from kgitops.virtual_clusters.scopes import Scope

_PHYSICAL = Scope(CLUSTER_NAME)


class Administrator:
    """One acting principal; ``bound_to_rights`` tells whether there is anything to check."""

    def __init__(
        self, state: ClusterState, principal: str, super_users: Collection[str] = ()
    ) -> None:
        self._state = state
        self._principal = principal
        self._rights = [
            (binding, Scope.of(binding))
            for binding in state.acls
            if binding.resource_type is ResourceType.CLUSTER
            and binding.principal in (principal, EVERYONE)
        ]
        self.bound_to_rights = principal not in super_users and self._only_virtual()

    def refusal(self, request: Request) -> str | None:
        """Why the principal may not ask for it; None: it may, or brokers decide."""
        if not self.bound_to_rights:
            return None
        for operation, scope in self._needs(request):
            if not self._may(operation, scope):
                where = "kafka-cluster" if scope.physical else f"the virtual cluster {scope.name}"
                return f"{self._principal} has no {operation} on {where}"
        return None

    def _needs(self, request: Request) -> Iterator[tuple[Operation, Scope]]:
        match request:
            case CreateVirtualClusterRequest(virtual_cluster=name):
                yield Operation.CREATE_VIRTUAL_CLUSTER, Scope(name)
            case DeleteVirtualClusterRequest(virtual_cluster=name):
                yield Operation.DELETE_VIRTUAL_CLUSTER, Scope(name)
            case AlterVirtualClusterRequest():
                yield from self._alteration(request)
            case CreateTopicRequest(local=local) if local is not None:
                yield Operation.CREATE, Scope(local.virtual_cluster)
            case CreateAclRequest(binding=binding) | DeleteAclRequest(binding=binding):
                if is_logical(binding):
                    yield Operation.ALTER, Scope.of(binding)
            case AlterClientQuotaRequest(entity=entity) if entity[0][0] == VIRTUAL_CLUSTER:
                yield Operation.ALTER_CONFIGS, _scope_of_quota(entity)
            case (
                CopyGroupOffsetsRequest(virtual_cluster=name)
                | DeleteGroupRequest(virtual_cluster=name)
            ):
                yield Operation.ALTER_VIRTUAL_CLUSTER, Scope(name)
            case _:
                pass

    def _alteration(self, request: AlterVirtualClusterRequest) -> Iterator[tuple[Operation, Scope]]:
        yield Operation.ALTER_VIRTUAL_CLUSTER, Scope(request.virtual_cluster)
        if request.moved_from is not None:
            yield Operation.ALTER_VIRTUAL_CLUSTER, Scope(request.moved_from)
        added = request.change is ChangeType.ADD and request.options is None
        if added and request.entity_type is EntityType.TOPIC:
            yield from self._source(request)

    def _source(self, request: AlterVirtualClusterRequest) -> Iterator[tuple[Operation, Scope]]:
        """A topic is linked to by who administers a virtual cluster that has it (VC-040)."""
        if request.target is not None:
            yield Operation.ALTER_VIRTUAL_CLUSTER, Scope(request.target.virtual_cluster)
            return
        sharing = [
            found.name
            for found in self._state.virtual_clusters.values()
            if any(link.topic == request.topic for link in found.links.values())
        ]
        if not any(self._may(Operation.ALTER_VIRTUAL_CLUSTER, Scope(name)) for name in sharing):
            yield Operation.ALTER, _PHYSICAL

    def _only_virtual(self) -> bool:
        """Whether there are rights on virtual clusters, and none on the physical one."""
        granted = [
            (binding, scope)
            for binding, scope in self._rights
            if binding.permission_type is PermissionType.ALLOW
        ]
        own = any(binding.principal == self._principal for binding, _ in granted)
        return own and not any(scope.physical for _, scope in granted)

    def _may(self, operation: Operation, scope: Scope) -> bool:
        allowed = False
        for binding, pattern in self._rights:
            if _denies(binding, operation) and (pattern.physical or pattern.meets(scope)):
                return False
            allowed = allowed or (_allows(binding, operation) and pattern.covers(scope))
        return allowed


def _denies(binding: AclBinding, operation: Operation) -> bool:
    deny = binding.permission_type is PermissionType.DENY
    return deny and binding.operation in covering(operation)


def _allows(binding: AclBinding, operation: Operation) -> bool:
    allow = binding.permission_type is PermissionType.ALLOW
    return allow and binding.operation in allowing(operation)


def _scope_of_quota(entity: ClientQuotaEntity) -> Scope:
    """A cap is what the administrator of a virtual cluster is held to (VC-214)."""
    name = entity[0][1]
    return _PHYSICAL if len(entity) == 1 or name is None else Scope(name)
