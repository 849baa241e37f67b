"""ACL filters of DescribeAcls and DeleteAcls; None in a field stands for any value."""

from enum import StrEnum

from msgspec import Struct

from kgitops.cluster.embedded.authorizer import WILDCARD
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)


class PatternFilter(StrEnum):
    """The pattern type of a filter (org.apache.kafka.common.resource.PatternType)."""

    ANY = "any"
    MATCH = "match"
    LITERAL = "literal"
    PREFIXED = "prefixed"


class AclFilter(Struct, frozen=True, kw_only=True):
    """Matches every binding that agrees with each field that is not None.

    By default it matches no binding of virtual clusters, so that a client that does not know them
    deletes nothing in them (VC-248). ``virtual_cluster`` None stands for every scope and none.
    """

    resource_type: ResourceType | None = None
    resource_name: str | None = None
    pattern: PatternFilter = PatternFilter.LITERAL
    principal: str | None = None
    host: str | None = None
    operation: Operation | None = None
    permission_type: PermissionType | None = None
    virtual_cluster: str | None = CLUSTER_NAME
    virtual_cluster_pattern: PatternType = PatternType.LITERAL

    def matches(self, binding: AclBinding) -> bool:
        return (
            self.resource_type in (None, binding.resource_type)
            and self.principal in (None, binding.principal)
            and self.host in (None, binding.host)
            and self.operation in (None, binding.operation)
            and self.permission_type in (None, binding.permission_type)
            and self._matches_scope(binding)
            and self._matches_name(binding)
        )

    def binding(self) -> AclBinding | None:
        """The one binding that the filter can match, if it leaves nothing open."""
        if (
            self.resource_type is None
            or self.resource_name is None
            or self.pattern in (PatternFilter.ANY, PatternFilter.MATCH)
            or self.principal is None
            or self.host is None
            or self.operation is None
            or self.permission_type is None
            or self.virtual_cluster is None
        ):
            return None
        return AclBinding(
            resource_type=self.resource_type,
            resource_name=self.resource_name,
            pattern_type=PatternType(self.pattern),
            principal=self.principal,
            host=self.host,
            operation=self.operation,
            permission_type=self.permission_type,
            virtual_cluster=self.virtual_cluster,
            virtual_cluster_pattern_type=self.virtual_cluster_pattern,
        )

    def _matches_scope(self, binding: AclBinding) -> bool:
        return self.virtual_cluster is None or (
            self.virtual_cluster == binding.virtual_cluster
            and self.virtual_cluster_pattern is binding.virtual_cluster_pattern_type
        )

    def _matches_name(self, binding: AclBinding) -> bool:
        name, pattern = binding.resource_name, binding.pattern_type
        if self.pattern in (PatternFilter.LITERAL, PatternFilter.PREFIXED):
            return pattern == str(self.pattern) and self.resource_name in (None, name)
        if self.resource_name is None:
            return True
        if self.pattern is PatternFilter.ANY:
            return self.resource_name == name
        # MATCH: every binding that would apply to a resource of that name.
        if pattern is PatternType.PREFIXED:
            return self.resource_name.startswith(name)
        return name in (self.resource_name, WILDCARD)


def exact_filter(binding: AclBinding) -> AclFilter:
    """The filter that matches this binding and no other."""
    return AclFilter(
        resource_type=binding.resource_type,
        resource_name=binding.resource_name,
        pattern=PatternFilter(binding.pattern_type),
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation,
        permission_type=binding.permission_type,
        virtual_cluster=binding.virtual_cluster,
        virtual_cluster_pattern=binding.virtual_cluster_pattern_type,
    )
