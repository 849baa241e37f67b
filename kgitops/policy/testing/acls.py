"""ACLs and the requests for them."""

from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.policy.api.principal import ANONYMOUS, Principal
from kgitops.policy.api.requests import CreateAclRequest, DeleteAclRequest


def acl(
    principal: str = "User:app",
    operation: str = "Read",
    name: str = "orders",
    *,
    resource: str = "topic",
    pattern: str = "literal",
    host: str = "*",
    permission: str = "Allow",
    virtual_cluster: str = CLUSTER_NAME,
) -> AclBinding:
    """``Allow User:app to Read the topic orders from anywhere``, but for what is given."""
    return AclBinding(
        resource_type=ResourceType(resource),
        resource_name=name,
        pattern_type=PatternType(pattern),
        principal=principal,
        host=host,
        operation=Operation(operation),
        permission_type=PermissionType(permission),
        virtual_cluster=virtual_cluster,
    )


def create_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> CreateAclRequest:
    """A binding is to be added; ``principal`` asks."""
    return CreateAclRequest(principal=Principal.parse(principal), binding=binding)


def delete_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> DeleteAclRequest:
    """A binding is to be removed; ``principal`` asks."""
    return DeleteAclRequest(principal=Principal.parse(principal), binding=binding)
