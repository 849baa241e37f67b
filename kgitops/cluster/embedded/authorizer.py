"""Authorizes operations: Kafka's StandardAuthorizer over the ACL bindings, and KIP-1134's rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kgitops.cluster.embedded.options import AuthorizerKind, Options
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
from kgitops.virtual_clusters.resolution import Binding, BoundBy
from kgitops.virtual_clusters.rights import (
    ApiKey,
    VirtualClusterScope,
    operations_that_allow,
    operations_that_deny,
    sufficient_operations,
)

WILDCARD = "*"
PHYSICAL = VirtualClusterScope(CLUSTER_NAME)

_ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
_NO_RESOURCE = "hardcode"
"""The name by which Kafka asks whether every resource of a type is allowed."""

_Index = dict[tuple[ResourceType, PatternType, str], list[AclBinding]]


class Authorizer:
    """Answers for one principal on one host, from the bindings at one moment.

    ``binding`` is the virtual cluster that the caller is in. Names are physical unless a method
    says that they are local. ACL bindings of virtual clusters apply to callers in them, and only
    to local names (VC-145); those of the physical cluster apply to all callers, on physical names
    (VC-103); those on the resource CLUSTER apply wherever the principal is (VC-146).
    """

    def __init__(
        self,
        options: Options,
        bindings: Iterable[AclBinding],
        principal: str,
        host: str,
        binding: Binding | None = None,
    ) -> None:
        self.principal = principal
        self.binding = binding
        self._enforces = options.authorizer is AuthorizerKind.ACLS
        self._is_super_user = principal in options.super_users
        self._principals = (principal, EVERYONE)
        self._hosts = (host, WILDCARD)
        self._bindings = bindings
        # A tenant gets no right that its administrators have not given it.
        unlisted = options.static_configs.get(_ALLOW_EVERYONE, "").lower() == "true"
        self._allows_unlisted = unlisted and binding is None
        self._listed: _Index | None = None
        self._indexes: tuple[_Index, _Index] | None = None
        self._clusters: list[tuple[AclBinding, VirtualClusterScope]] | None = None

    def allows_topic(self, operation: Operation, name: str) -> bool:
        return self.allows(operation, ResourceType.TOPIC, name)

    def allows_cluster(self, operation: Operation) -> bool:
        """Return whether the operation on the physical cluster is allowed."""
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Return whether there is an Allow for it, also an implied one, and no Deny.

        With ``allow.everyone.if.no.acl.found`` also whether nobody has an ACL on the resource.
        """
        if self.allows_everything:
            return True
        physical, _ = self._indexed()
        allowed = _decide(operation, _matching(physical, resource_type, name))
        return allowed or (self._allows_unlisted and not self._is_listed(resource_type, name))

    def allows_local(
        self, operation: Operation, resource_type: ResourceType, name: str, physical: str | None
    ) -> bool:
        """Tell the same for a local name of the caller's virtual cluster (VC-148).

        ``physical`` is the name's physical one. None if there is no such link: then only those
        bindings of the physical cluster count that are on every name.
        """
        if self.allows_everything:
            return True
        physical_index, local_index = self._indexed()
        physical_name = WILDCARD if physical is None else physical
        bindings = [
            *_matching(local_index, resource_type, name),
            *_matching(physical_index, resource_type, physical_name),
        ]
        return _decide(operation, bindings)

    def allows_somewhere(self, operation: Operation, resource_type: ResourceType) -> bool:
        """True if the operation is allowed on some resource of the type, and not denied on all.

        As Kafka's authorizeByResourceType, except that a Deny on a prefix does not count.
        """
        if self.allows_everything:
            return True
        if self._allows_unlisted and self.allows(operation, resource_type, _NO_RESOURCE):
            return True
        candidates = [
            (key, binding)
            for index in self._indexed()
            for key, bindings in index.items()
            if key[0] is resource_type
            for binding in bindings
            if binding.operation in (operation, Operation.ALL)
        ]
        everything = resource_type, PatternType.LITERAL, WILDCARD
        denied = any(
            key == everything and binding.permission_type is PermissionType.DENY
            for key, binding in candidates
        )
        return not denied and any(
            binding.permission_type is PermissionType.ALLOW for _, binding in candidates
        )

    def allows_virtual_cluster(self, operation: Operation, name: str) -> bool:
        """True if the operation on a virtual cluster is allowed, in it or not (VC-101, VC-141)."""
        return self.allows_scope(operation, VirtualClusterScope(name))

    def allows_request(self, api_key: ApiKey, scope: VirtualClusterScope) -> bool:
        """True if a right on everything in ``scope`` allows the request there (spec §8.2)."""
        return any(
            self.allows_scope(operation, scope) for operation in sufficient_operations(api_key)
        )

    def allows_scope(self, operation: Operation, scope: VirtualClusterScope) -> bool:
        """True if the operation is allowed on everything in ``scope``, and denied nowhere there.

        On the physical cluster only its own bindings count (VC-108). On virtual clusters theirs
        count, and those of the physical cluster too: it contains all of them (VC-101).
        """
        if self.allows_everything:
            return True
        if scope == PHYSICAL:
            return self.allows_cluster(operation)
        allows, denies = operations_that_allow(operation), operations_that_deny(operation)
        allowed = False
        for binding, pattern in self._on_clusters():
            if binding.permission_type is PermissionType.DENY:
                if binding.operation in denies and (pattern.physical or pattern.meets(scope)):
                    return False
            elif binding.operation in allows and (pattern.physical or pattern.covers(scope)):
                allowed = True
        return allowed

    def allowing_everything(self) -> "Authorizer":
        """An authorizer that allows everything, for requests authorized by local names before."""
        return Authorizer(Options(), (), self.principal, self._hosts[0], self.binding)

    @property
    def allows_everything(self) -> bool:
        """True if no binding is looked at."""
        return not self._enforces or self._is_super_user

    def _on_clusters(self) -> list[tuple[AclBinding, VirtualClusterScope]]:
        if self._clusters is None:
            self._clusters = [
                (binding, VirtualClusterScope.of(binding))
                for (resource_type, _, _), bindings in self._indexed()[0].items()
                if resource_type is ResourceType.CLUSTER
                for binding in bindings
            ]
        return self._clusters

    def _is_listed(self, resource_type: ResourceType, name: str) -> bool:
        """Return whether any principal, on any host, has an ACL on the resource."""
        if self._listed is None:
            listed: _Index = defaultdict(list)
            for binding in self._bindings:
                if VirtualClusterScope.of(binding) == PHYSICAL:
                    key = binding.resource_type, binding.pattern_type, binding.resource_name
                    listed[key].append(binding)
            self._listed = listed
        return any(True for _ in _matching(self._listed, resource_type, name))

    def _indexed(self) -> tuple[_Index, _Index]:
        """One index of bindings of the physical cluster and on clusters, and one of local ones."""
        if self._indexes is None:
            physical: _Index = defaultdict(list)
            local: _Index = defaultdict(list)
            for binding in self._bindings:
                if binding.principal in self._principals and binding.host in self._hosts:
                    key = binding.resource_type, binding.pattern_type, binding.resource_name
                    on_cluster = binding.resource_type is ResourceType.CLUSTER
                    if on_cluster or VirtualClusterScope.of(binding) == PHYSICAL:
                        physical[key].append(binding)
                    elif self._applies_locally(binding):
                        local[key].append(binding)
            self._indexes = physical, local
        return self._indexes

    def _applies_locally(self, binding: AclBinding) -> bool:
        if self.binding is None:
            return False
        if not VirtualClusterScope.of(binding).covers(
            VirtualClusterScope(self.binding.virtual_cluster.name)
        ):
            return False
        # Any caller can claim a client id: only an ACL of its own gives it rights there (VC-085).
        claimed = self.binding.reason is BoundBy.CLIENT_ID
        allow = binding.permission_type is PermissionType.ALLOW
        return not (claimed and allow and binding.principal == EVERYONE)


def _decide(operation: Operation, bindings: Iterable[AclBinding]) -> bool:
    allowed = False
    for binding in bindings:
        if binding.permission_type is PermissionType.DENY:
            if binding.operation in (operation, Operation.ALL):
                return False
        elif binding.operation in (operation, Operation.ALL) or operation in IMPLIED.get(
            binding.operation, ()
        ):
            allowed = True
    return allowed


def _matching(index: _Index, resource_type: ResourceType, name: str) -> Iterator[AclBinding]:
    yield from index.get((resource_type, PatternType.LITERAL, name), ())
    if resource_type is ResourceType.CLUSTER:
        # Patterns are for virtual clusters: none ever matches the physical one (VC-108).
        return
    if name != WILDCARD:
        yield from index.get((resource_type, PatternType.LITERAL, WILDCARD), ())
    for end in range(len(name) + 1):
        yield from index.get((resource_type, PatternType.PREFIXED, name[:end]), ())
