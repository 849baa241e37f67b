"""Checks the rights of administrators of virtual clusters (VC-146, VC-147, VC-214).

Brokers without virtual clusters can't check them, so kgitops does, for principals that were granted
rights on virtual clusters (L-ACL-CLUSTER). Other principals are restricted by a Deny only.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from kgitops.lowering.acls.compile import WILDCARD, is_logical
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    IMPLIED,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.virtual_clusters.rights import (
    VirtualClusterScope,
    operations_that_allow,
    operations_that_deny,
)

_PHYSICAL = VirtualClusterScope(CLUSTER_NAME)


RequiredRight = tuple[Operation, VirtualClusterScope | str]
"""An operation on virtual clusters or kafka-cluster, or on the physical topic of this name."""


class Administrator:
    """An acting principal and its rights under the ACLs of a logical state.

    Its host is not known, so an Allow for one host only does not count.
    """

    def __init__(
        self, state: ClusterState, principal: str, super_users: Collection[str] = ()
    ) -> None:
        self._state = state
        self._principal = principal
        self._is_super_user = principal in super_users

    def refusal(self, request: req.Request) -> str | None:
        """The reason why the principal may not send the request; None if it may."""
        if self._is_super_user or not self._own:
            return None
        for operation, where in self._needs(request):
            if not self._may(operation, where):
                return (
                    f"{self._principal} has no {operation} on {_scope_text(where)}; have it "
                    "granted, or act --as a principal that has it"
                )
        return None

    def _needs(self, request: req.Request) -> Iterator[RequiredRight]:
        match request:
            case req.CreateVirtualClusterRequest(virtual_cluster=name):
                yield Operation.CREATE_VIRTUAL_CLUSTER, VirtualClusterScope(name)
            case req.DeleteVirtualClusterRequest(virtual_cluster=name):
                yield Operation.DELETE_VIRTUAL_CLUSTER, VirtualClusterScope(name)
            case req.AlterVirtualClusterRequest():
                yield from self._alteration(request)
            case req.CreateTopicRequest(local=local) if local is not None:
                yield Operation.CREATE, VirtualClusterScope(local.virtual_cluster)
            case req.DeleteTopicRequest(local=local, topic=topic) if local is not None:
                yield Operation.DELETE, topic
            case req.AclRequest(binding=binding):
                if is_logical(binding):
                    yield Operation.ALTER, VirtualClusterScope.of(binding)
            case req.AlterClientQuotaRequest(entity=entity) if entity[0][0] == VIRTUAL_CLUSTER:
                yield Operation.ALTER_CONFIGS, _scope_of_quota(entity)
            case req.AlterUserScramCredentialsRequest(user=user):
                # Users are known to the whole cluster: only members are an administrator's own.
                home = self._member_of.get(user_principal(user), CLUSTER_NAME)
                yield Operation.ALTER, VirtualClusterScope(home)
            case req.GroupRequest(virtual_cluster=name):
                yield Operation.ALTER_VIRTUAL_CLUSTER, VirtualClusterScope(name)
            case _:
                pass

    @cached_property
    def _member_of(self) -> Mapping[str, str]:
        """The virtual cluster of each user that is a member of one."""
        return {
            user: virtual_cluster.name
            for virtual_cluster in self._state.virtual_clusters.values()
            for user in virtual_cluster.users
        }

    def _alteration(self, request: req.AlterVirtualClusterRequest) -> Iterator[RequiredRight]:
        yield Operation.ALTER_VIRTUAL_CLUSTER, VirtualClusterScope(request.virtual_cluster)
        if request.moved_from is not None:
            yield Operation.ALTER_VIRTUAL_CLUSTER, VirtualClusterScope(request.moved_from)
        added = request.change is ChangeType.ADD and request.options is None
        if added and request.entity_type is EntityType.TOPIC:
            yield from self._source(request)

    def _source(self, request: req.AlterVirtualClusterRequest) -> Iterator[RequiredRight]:
        """Linking to a topic needs rights on it, or on a virtual cluster that has it (VC-040)."""
        topic = request.topic
        if request.target is not None:
            link = self._state.link(request.target)
            if link is None:  # its topic is created earlier, in the same virtual cluster
                yield (
                    Operation.ALTER_VIRTUAL_CLUSTER,
                    VirtualClusterScope(request.target.virtual_cluster),
                )
                return
            topic = link.topic
        sharing = self._sharing.get(topic or "", ())
        may_share = any(
            self._may(Operation.ALTER_VIRTUAL_CLUSTER, VirtualClusterScope(name))
            for name in sharing
        )
        if topic is not None and not may_share:
            yield Operation.ALTER, topic
            yield Operation.DESCRIBE, topic

    @cached_property
    def _sharing(self) -> Mapping[str, Sequence[str]]:
        """For each physical topic the virtual clusters with a link to it."""
        sharing: defaultdict[str, list[str]] = defaultdict(list)
        for virtual_cluster in self._state.virtual_clusters.values():
            for topic in {link.topic for link in virtual_cluster.links.values()}:
                sharing[topic].append(virtual_cluster.name)
        return sharing

    @cached_property
    def _own(self) -> tuple[AclBinding, ...]:
        """The bindings that apply to the principal, by name or through ``User:*``."""
        principals = (self._principal, EVERYONE)
        return tuple(b for b in self._state.acls if b.principal in principals)

    @cached_property
    def _rights(self) -> tuple[tuple[AclBinding, VirtualClusterScope], ...]:
        return tuple(
            (binding, VirtualClusterScope.of(binding))
            for binding in self._own
            if binding.resource_type is ResourceType.CLUSTER
        )

    @cached_property
    def _is_held_to_rights(self) -> bool:
        """True if the principal itself was granted rights on virtual clusters."""
        return any(
            binding.principal == self._principal
            and binding.permission_type is PermissionType.ALLOW
            and not scope.physical
            for binding, scope in self._rights
        )

    def _may(self, operation: Operation, where: VirtualClusterScope | str) -> bool:
        if isinstance(where, str):
            decision = self._topic(operation, where)
        else:
            decision = self._scope(operation, where)
        return not self._is_held_to_rights if decision is None else decision

    def _scope(self, operation: Operation, scope: VirtualClusterScope) -> bool | None:
        """False if denied, True if allowed, else None; kafka-cluster covers all scopes (VC-101)."""
        allowed = None
        for binding, pattern in self._rights:
            if _denies(binding, operation) and (pattern.physical or pattern.meets(scope)):
                return False
            if _allows(binding, operation) and (pattern.physical or pattern.covers(scope)):
                allowed = True
        return allowed

    def _topic(self, operation: Operation, topic: str) -> bool | None:
        allowed = None
        for binding in self._own:
            if not _is_about(binding, topic):
                continue
            named = binding.operation in (operation, Operation.ALL)
            if named and binding.permission_type is PermissionType.DENY:
                return False
            implied = operation in IMPLIED.get(binding.operation, ())
            if (named or implied) and _counts(binding):
                allowed = True
        return allowed


def _denies(binding: AclBinding, operation: Operation) -> bool:
    deny = binding.permission_type is PermissionType.DENY
    return deny and binding.operation in operations_that_deny(operation)


def _allows(binding: AclBinding, operation: Operation) -> bool:
    return _counts(binding) and binding.operation in operations_that_allow(operation)


def _counts(binding: AclBinding) -> bool:
    return binding.permission_type is PermissionType.ALLOW and binding.host == WILDCARD


def _is_about(binding: AclBinding, topic: str) -> bool:
    if binding.resource_type is not ResourceType.TOPIC or binding.scoped:
        return False
    if binding.pattern_type is PatternType.PREFIXED:
        return topic.startswith(binding.resource_name)
    return binding.resource_name in (topic, WILDCARD)


def _scope_text(where: VirtualClusterScope | str) -> str:
    if isinstance(where, str):
        return f"the topic {where}"
    return CLUSTER_NAME if where.physical else f"the virtual cluster {where.name}"


def _scope_of_quota(entity: ClientQuotaEntity) -> VirtualClusterScope:
    """The scope to have rights on; for a cap kafka-cluster, as it binds administrators (VC-214)."""
    name = entity[0][1]
    return _PHYSICAL if len(entity) == 1 or name is None else VirtualClusterScope(name)
