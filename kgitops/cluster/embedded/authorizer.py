"""Who may do what: Kafka's StandardAuthorizer over the cluster's ACL bindings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.acls import (
    CLUSTER_NAME,
    IMPLIED,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

WILDCARD = "*"
EVERYONE = "User:*"


class Authorizer:
    """Answers for one principal on one host, from the bindings at one moment."""

    def __init__(
        self, options: Options, bindings: Iterable[AclBinding], principal: str, host: str
    ) -> None:
        self.principal = principal
        self._enforces = options.authorizer is AuthorizerKind.ACLS
        self._is_super_user = principal in options.super_users
        self._principals = (principal, EVERYONE)
        self._hosts = (host, WILDCARD)
        self._bindings = bindings
        self._index: dict[tuple[ResourceType, PatternType, str], list[AclBinding]] | None = None

    def topic(self, operation: Operation, name: str) -> bool:
        """Whether the operation on a topic is allowed."""
        return self.allows(operation, ResourceType.TOPIC, name)

    def cluster(self, operation: Operation) -> bool:
        """Whether the operation on the cluster is allowed."""
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether there is an Allow for it, also an implied one, and no Deny."""
        if not self._enforces or self._is_super_user:
            return True
        allowed = False
        for binding in self._matching(resource_type, name):
            if binding.permission_type is PermissionType.DENY:
                if binding.operation in (operation, Operation.ALL):
                    return False
            elif binding.operation in (operation, Operation.ALL) or operation in IMPLIED.get(
                binding.operation, ()
            ):
                allowed = True
        return allowed

    def _matching(self, resource_type: ResourceType, name: str) -> Iterator[AclBinding]:
        index = self._indexed()
        yield from index.get((resource_type, PatternType.LITERAL, name), ())
        if name != WILDCARD:
            yield from index.get((resource_type, PatternType.LITERAL, WILDCARD), ())
        for end in range(len(name) + 1):
            yield from index.get((resource_type, PatternType.PREFIXED, name[:end]), ())

    def _indexed(self) -> dict[tuple[ResourceType, PatternType, str], list[AclBinding]]:
        if self._index is None:
            self._index = defaultdict(list)
            for binding in self._bindings:
                if binding.principal in self._principals and binding.host in self._hosts:
                    key = binding.resource_type, binding.pattern_type, binding.resource_name
                    self._index[key].append(binding)
        return self._index
